#include "select/choices.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "ops/control_flow.h"
#include "plan/concrete_graph.h"
#include "plan/points.h"
#include "select/sequence_runner.h"

namespace tenon {
namespace {

std::string to_string(const SymbolValues& symbols) {
  std::string text;
  for (const auto& [name, value] : symbols)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text;
}

class Chooser {
 public:
  Chooser(Plan& plan, const Backend& backend, const SelectOptions& options, TimingCache& cache)
      : plan_(plan), backend_(backend), options_(options), watch_(options.watch), cache_(cache) {
    options_.progress = nullptr;
    options_.watch = nullptr;
    options_.editable_cache = false;
    options_.warm = true;
  }

  Status run(const std::vector<SymbolValues>& points) {
    TENON_TRY(choose(plan_ends(plan_)));
    options_.offered = std::move(near_);
    return choose(points);
  }

 private:
  Status choose(const std::vector<SymbolValues>& points) {
    for (const SymbolValues& point : points) {
      const auto is_same = [&](const Choice& choice) { return choice.symbols == point; };
      if (std::ranges::any_of(plan_.choices, is_same)) continue;
      if (watch_ != nullptr && watch_->tuning_is_over()) return {};
      Status chosen = choose_under(point);
      // What does not run under these shapes is told to who runs it.
      if (!chosen.ok() && chosen.error().kind != ErrorKind::kUnsupported) return chosen;
    }
    return {};
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
    for (size_t i = 0; i < places.size(); ++i) {
      const Node& node = *layers.nodes[i];
      keep_near(near_[node.name], tactics.near[i]);
      if (tactics.best[i] != node.tactic) choice.tactics[places[i]] = std::move(tactics.best[i]);
    }
    if (options_.logger != nullptr)
      options_.logger->verbose("Kernels under {}: {} others than under the usual shapes",
                               to_string(point), choice.tactics.size());
    plan_.choices.push_back(std::move(choice));
    return {};
  }

  /// Between the ends only what was good at one of them is looked at.
  static void keep_near(std::vector<std::string>& kept, const std::vector<std::string>& near) {
    for (const std::string& tactic : near)
      if (std::ranges::find(kept, tactic) == kept.end()) kept.push_back(tactic);
  }

  Plan& plan_;
  const Backend& backend_;
  SelectOptions options_;
  BuildWatch* const watch_;
  std::map<std::string, std::vector<std::string>> near_;  ///< By node name.
  TimingCache& cache_;
};

}  // namespace

Status choose_by_shape(Plan& plan, const Backend& backend, const SelectOptions& options,
                       TimingCache& cache, Logger& logger) {
  if (!backend.device->capabilities().compiles_kernels || options.level == 0) return {};
  const std::vector<SymbolValues> points = plan_points(plan);
  Stopwatch watch;
  TENON_TRY(Chooser(plan, backend, options, cache).run(points));
  logger.verbose("Build times: kernels for {} shapes chosen in {:.2f} s", points.size(),
                 watch.lap());
  return {};
}

}  // namespace tenon
