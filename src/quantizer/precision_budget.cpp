#include "quantizer/precision_budget.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "check/processor_reference.h"
#include "check/sample.h"
#include "ir/value_name.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "quantizer/activation_ranges.h"
#include "quantizer/lowered_network.h"
#include "select/compile.h"

namespace tenon {
namespace {

constexpr double kLargestHalf = 65504;

bool is_lowered(const Node& node) {
  return !node.is<Constant>() && node.bodies.empty() &&
         std::ranges::any_of(node.outputs(), [](const Value* value) {
           return value->type.type == DataType::kFloat32;
         });
}

double relative_error(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    for (int64_t k = 0; is_real(expected[i].type()) && k < expected[i].count(); ++k) {
      const double e = expected[i].as_double(k), d = actual[i].as_double(k) - e;
      difference += d * d;
      size += e * e;
    }
  const double error = size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
  return std::isfinite(error) ? error : HUGE_VAL;
}

class Budget {
 public:
  Budget(std::unique_ptr<Graph> graph, std::vector<Profile> profiles, DataType type)
      : graph_(std::move(graph)), profiles_(std::move(profiles)), type_(type) {}

  Result<std::vector<KeptNode>> run(double budget, Logger& logger) {
    TENON_ASSIGN(inputs_, sample_inputs(*graph_, profiles_[0]));
    TENON_TRY(keep_overflows());
    TENON_ASSIGN(expected_, evaluate_on_processor(*graph_, profiles_, inputs_));
    TENON_ASSIGN(double error, error_without(kept_));
    logger.verbose("{}: rounding moves the outputs by {:.2e}, {:.2e} are allowed", name_of(type_),
                   error, budget);
    if (error > budget) TENON_TRY(keep_sensitive(budget, error));
    logger.verbose("{}: {} of {} layers stay in f32, which moves the outputs by {:.2e}",
                   name_of(type_), nodes_.size(),
                   std::ranges::count_if(graph_->nodes(), [](auto& n) { return is_lowered(*n); }),
                   error);
    return std::move(nodes_);
  }

 private:
  void keep(const Node& node, std::string reason) {
    if (!is_lowered(node) || !kept_.insert(&node).second) return;
    nodes_.push_back({node.name, std::move(reason)});
  }

  /// The nodes that make such numbers, and their readers.
  Status keep_overflows() {
    if (type_ != DataType::kFloat16) return {};
    const Backend backend = cpu_backend();
    TENON_ASSIGN(ActivationRanges ranges,
                 ActivationRanges::create(*graph_, profiles_, backend,
                                          backend.device->properties().compute_units));
    TENON_TRY(ranges.add(inputs_));
    const auto found = ranges.histograms();
    for (const auto& node : graph_->nodes())
      for (const Value* output : node->outputs()) {
        const auto numbers = found.find(output->name);
        if (numbers == found.end() || numbers->second.largest() <= kLargestHalf) continue;
        const std::string reason =
            fmt::format("{} reaches {:.3g}, and f16 ends at {}", quoted_name(*output),
                        numbers->second.largest(), kLargestHalf);
        keep(*node, reason);
        for (const Use& use : output->uses()) keep(*use.node, reason);
      }
    return {};
  }

  /// Of the outputs, where all nodes but these compute in the type.
  Result<double> error_without(const std::set<const Node*>& exact) {
    return error_where([&](const Node& node) { return !exact.contains(&node); });
  }

  template <class Rounds>
  Result<double> error_where(const Rounds& rounds) {
    std::vector<std::string> others;
    for (const auto& node : graph_->nodes())
      if (is_lowered(*node) && !rounds(*node)) others.push_back(node->name);
    TENON_ASSIGN(const auto lowered, lowered_network(*graph_, type_, others));
    TENON_ASSIGN(const auto outputs, evaluate_on_processor(*lowered, profiles_, inputs_));
    return relative_error(outputs, expected_);
  }

  Status keep_sensitive(double budget, double& error) {
    std::vector<std::pair<double, const Node*>> alone;
    for (const auto& node : graph_->nodes()) {
      if (!is_lowered(*node) || kept_.contains(node.get())) continue;
      TENON_ASSIGN(const double own, error_where([&](const Node& n) { return &n == node.get(); }));
      alone.emplace_back(own, node.get());
    }
    std::ranges::stable_sort(alone, [](const auto& a, const auto& b) { return a.first > b.first; });
    size_t too_few = 0, enough = alone.size();
    const auto with_worst = [&](size_t count) {
      std::set<const Node*> exact = kept_;
      for (size_t i = 0; i < count; ++i) exact.insert(alone[i].second);
      return exact;
    };
    error = 0;
    while (enough - too_few > 1) {
      const size_t middle = (too_few + enough) / 2;
      TENON_ASSIGN(const double found, error_without(with_worst(middle)));
      (found <= budget ? enough : too_few) = middle;
      if (found <= budget) error = found;
    }
    for (size_t i = 0; i < enough; ++i)
      keep(*alone[i].second, fmt::format("rounding it to {} alone moves the outputs by {:.2e}",
                                         name_of(type_), alone[i].first));
    return {};
  }

  std::unique_ptr<Graph> graph_;
  std::vector<Profile> profiles_;
  DataType type_;
  std::vector<Tensor> inputs_, expected_;
  std::set<const Node*> kept_;
  std::vector<KeptNode> nodes_;
};

/// The first profile's usual extents alone.
std::vector<Profile> usual_of(const std::vector<Profile>& profiles) {
  if (profiles.empty()) return {};
  Profile usual = profiles[0];
  for (auto& [name, range] : usual) {
    range.min = range.max = range.opt;
    range.min_values = range.max_values = range.opt_values;
  }
  return {usual};
}

/// Values are told apart by name.
void name_values(Graph& graph) {
  int number = 0;
  for (const auto& node : graph.nodes())
    for (Value* output : node->outputs())
      if (output->name.empty()) output->name = fmt::format("{}.{}", node->name, number++);
}

}  // namespace

Result<std::vector<KeptNode>> nodes_to_keep(const Graph& network,
                                            const std::vector<Profile>& profiles, DataType type,
                                            double budget, Logger& logger) {
  std::unique_ptr<Graph> graph = network.clone();
  std::vector<Profile> usual = usual_of(profiles);
  TENON_TRY(apply_profiles(*graph, usual));
  TENON_TRY(infer_graph(*graph));
  name_values(*graph);
  return Budget(std::move(graph), std::move(usual), type).run(budget, logger);
}

}  // namespace tenon
