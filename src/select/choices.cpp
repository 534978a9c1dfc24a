#include "select/choices.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "ops/control_flow.h"
#include "plan/concrete_graph.h"
#include "plan/points.h"
#include "select/collect_code.h"
#include "select/sequence_runner.h"

namespace tenon {
namespace {

std::string to_string(const SymbolValues& symbols) {
  std::string text;
  for (const auto& [name, value] : symbols)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text;
}

/// Shapes that have kernels, and by node name the kernels near the best there, the best first.
struct Known {
  SymbolValues symbols;
  std::map<std::string, std::vector<std::string>> near;
};

/// Kernels of one layer at one of the shapes around another that are looked at there.
constexpr size_t kMostNear = 3;

class Chooser {
 public:
  Chooser(Plan& plan, const Backend& backend, const SelectOptions& options, TimingCache& cache)
      : plan_(plan),
        backend_(backend),
        options_(options),
        watch_(options.watch),
        cache_(cache),
        code_(plan, backend) {
    options_.progress = nullptr;
    options_.watch = nullptr;
    options_.editable_cache = false;
    options_.warm = true;
  }

  Status run(const std::vector<SymbolValues>& points) {
    TENON_TRY(choose(plan_ends(plan_), false));
    TENON_TRY(choose(points, true));
    plan_.code = code_.finish();
    return {};
  }

 private:
  Status choose(const std::vector<SymbolValues>& points, bool are_between) {
    for (const SymbolValues& point : points) {
      const auto is_same = [&](const Choice& choice) { return choice.symbols == point; };
      if (std::ranges::any_of(plan_.choices, is_same)) continue;
      if (watch_ != nullptr && watch_->tuning_is_over()) return {};
      if (are_between) options_.offered = near_around(point);
      Status chosen = choose_under(point);
      // What does not run under these shapes is told to who runs it.
      if (!chosen.ok() && chosen.error().kind != ErrorKind::kUnsupported) return chosen;
    }
    return {};
  }

  /// The kernels that were near the best under the nearest smaller and the nearest larger shapes,
  /// those of the nearer ones first.
  std::map<std::string, std::vector<std::string>> near_around(const SymbolValues& point) const {
    std::vector<const Known*> nearest = {nearest_known(point, false), nearest_known(point, true)};
    std::erase(nearest, nullptr);
    std::ranges::stable_sort(
        nearest, {}, [&](const Known* known) { return shape_distance(known->symbols, point); });
    std::map<std::string, std::vector<std::string>> around;
    for (const Known* known : nearest)
      for (const auto& [node, near] : known->near)
        for (const std::string& tactic : near) add(around[node], tactic);
    return around;
  }

  const Known* nearest_known(const SymbolValues& point, bool larger) const {
    const Known* nearest = nullptr;
    for (const Known& known : known_) {
      if ((size_of(known.symbols) > size_of(point)) != larger) continue;
      if (nearest == nullptr ||
          shape_distance(known.symbols, point) < shape_distance(nearest->symbols, point))
        nearest = &known;
    }
    return nearest;
  }

  static double size_of(const SymbolValues& symbols) {
    double size = 1;
    for (const auto& [name, value] : symbols) size *= static_cast<double>(value + 1);
    return size;
  }

  static void add(std::vector<std::string>& tactics, const std::string& tactic) {
    if (std::ranges::find(tactics, tactic) == tactics.end()) tactics.push_back(tactic);
  }

  /// Bodies keep the kernels that they have.
  Status choose_under(const SymbolValues& point) {
    TENON_ASSIGN(const ConcreteGraph concrete, ConcreteGraph::create(*plan_.graph, point));
    Layers layers{concrete, {}, {}};
    std::vector<int> places;
    bool in_sequence = true;
    int place = -1;
    for (const auto& node : plan_.graph->nodes()) {
      ++place;
      in_sequence &= !is_control_flow(*node);
      if (node->tactic.empty() || node->tactic == kViewTactic || is_control_flow(*node) ||
          !concrete.resolved(*node))
        continue;
      layers.nodes.push_back(node.get());
      layers.problems.push_back(concrete.problem(*node, backend_, options_.threads));
      places.push_back(place);
    }
    TENON_ASSIGN(Tactics tactics, choose_tactics(layers, backend_, options_, cache_, in_sequence));
    Choice choice{point};
    Known& known = known_.emplace_back();
    known.symbols = point;
    for (size_t i = 0; i < places.size(); ++i) {
      const Node& node = *layers.nodes[i];
      std::vector<std::string>& near = known.near[node.name];
      add(near, tactics.best[i]);
      for (const std::string& tactic : tactics.near[i])
        if (near.size() < kMostNear) add(near, tactic);
      if (tactics.best[i] != node.tactic) choice.tactics[places[i]] = std::move(tactics.best[i]);
    }
    if (options_.logger != nullptr)
      options_.logger->verbose("Kernels under {}: {} others than under the usual shapes",
                               to_string(point), choice.tactics.size());
    plan_.choices.push_back(std::move(choice));
    code_.begin(plan_.choices.back());
    return {};
  }

  Plan& plan_;
  const Backend& backend_;
  SelectOptions options_;
  BuildWatch* const watch_;
  std::vector<Known> known_;
  TimingCache& cache_;
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
