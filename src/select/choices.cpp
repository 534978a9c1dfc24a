#include "select/choices.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "plan/points.h"
#include "select/collect_code.h"
#include "select/refine_choices.h"

namespace tenon {
namespace {

std::string to_string(const SymbolValues& symbols) {
  std::string text;
  for (const auto& [name, value] : symbols)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text;
}

/// Kernels of one layer that are tried between the ends of a profile: kernels near the best on each
/// side, and the tactics' proposals.
constexpr size_t kNearEach = 2;
constexpr int kProposedBetween = 3;

class Chooser {
 public:
  Chooser(Plan& plan, const Backend& backend, const SelectOptions& options, TimingCache& cache)
      : plan_(plan),
        backend_(backend),
        options_(options),
        watch_(options.watch),
        cache_(cache),
        measurer_(backend, options.threads, true),
        code_(plan, backend) {
    options_.progress = nullptr;
    options_.watch = nullptr;
    options_.editable_cache = false;
    options_.warm = true;
  }

  Status run(const std::vector<SymbolValues>& points) {
    TENON_TRY(choose(plan_ends(plan_), false));
    TENON_TRY(choose(points, true));
    ChoiceMaking making{plan_, backend_, options_, cache_, measurer_, known_, watch_};
    TENON_TRY(refine_choices(making, [this](const Choice& choice) { take_code(choice, false); }));
    plan_.code = code_.finish();
    return {};
  }

 private:
  Status choose(const std::vector<SymbolValues>& points, bool are_between) {
    for (const SymbolValues& point : points) {
      const auto is_same = [&](const Choice& choice) { return choice.symbols == point; };
      if (std::ranges::any_of(plan_.choices, is_same)) continue;
      if (watch_ != nullptr && watch_->tuning_is_over()) return {};
      if (are_between) options_.offered = known_.around(point, kNearEach);
      options_.proposals = are_between ? kProposedBetween : -1;
      Status chosen = choose_under(point, are_between);
      // What does not run under these shapes is told to who runs it.
      if (!chosen.ok() && chosen.error().kind != ErrorKind::kUnsupported) return chosen;
    }
    return {};
  }

  /// Bodies keep the kernels that they have.
  Status choose_under(const SymbolValues& point, bool is_between) {
    TENON_ASSIGN(const auto all, LayersUnder::make(plan_, backend_, options_.threads, point));
    TENON_ASSIGN(Tactics tactics, choose_tactics(all->layers, backend_, options_, cache_,
                                                 all->in_sequence, &measurer_));
    Choice choice{point};
    KnownShape& known = known_.add(point);
    for (size_t i = 0; i < all->places.size(); ++i) {
      const Node& node = *all->layers.nodes[i];
      known_.take(known, node.name, tactics, i);
      if (tactics.best[i] != node.tactic) choice.tactics[all->places[i]] = tactics.best[i];
    }
    plan_.choices.push_back(std::move(choice));
    take_code(plan_.choices.back(), !is_between);
    return {};
  }

  void take_code(const Choice& choice, bool is_exact) {
    if (options_.logger != nullptr)
      options_.logger->verbose("Kernels under {}: {} others than under the usual shapes",
                               to_string(choice.symbols), choice.tactics.size());
    code_.begin(choice, is_exact);
  }

  Plan& plan_;
  const Backend& backend_;
  SelectOptions options_;
  BuildWatch* const watch_;
  KnownShapes known_;
  TimingCache& cache_;
  Measurer measurer_;
  CodeAhead code_;
};

}  // namespace

Status choose_by_shape(Plan& plan, const Backend& backend, const SelectOptions& options,
                       TimingCache& cache, Logger& logger) {
  if (!backend.device->capabilities().compiles_kernels || options.level == 0) return {};
  const std::vector<SymbolValues> points = plan_points(plan);
  Stopwatch watch;
  TENON_TRY(Chooser(plan, backend, options, cache).run(points));
  logger.verbose(
      "Build times: kernels for {} shapes chosen in {:.2f} s, the code of {} compiled meanwhile",
      points.size(), watch.lap(), plan.code->size());
  return {};
}

}  // namespace tenon
