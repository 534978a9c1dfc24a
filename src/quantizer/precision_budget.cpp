#include "quantizer/precision_budget.h"

#include <algorithm>
#include <set>

#include "check/processor_reference.h"
#include "ir/value_name.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "quantizer/activation_ranges.h"
#include "quantizer/budget_search.h"
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

class Budget {
 public:
  Budget(SampledNetwork sampled, DataType type)
      : graph_(std::move(sampled.graph)),
        profiles_(std::move(sampled.profiles)),
        type_(type),
        inputs_(std::move(sampled.inputs)) {}

  Result<std::vector<KeptNode>> run(double budget, Logger& logger) {
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

  template <class Rounds> Result<double> error_where(const Rounds& rounds) {
    std::vector<std::string> others;
    for (const auto& node : graph_->nodes())
      if (is_lowered(*node) && !rounds(*node)) others.push_back(node->name);
    TENON_ASSIGN(const auto lowered, lowered_network(*graph_, type_, others));
    TENON_ASSIGN(const auto outputs, evaluate_on_processor(*lowered, profiles_, inputs_));
    return relative_error(outputs, expected_);
  }

  Status keep_sensitive(double budget, double& error) {
    std::vector<SensitiveNode> alone;
    for (const auto& node : graph_->nodes()) {
      if (!is_lowered(*node) || kept_.contains(node.get())) continue;
      TENON_ASSIGN(const double own, error_where([&](const Node& n) { return &n == node.get(); }));
      alone.push_back({own, node.get()});
    }
    sort_by_error(alone);
    TENON_ASSIGN(const Fewest fewest, fewest_within(alone.size(), budget, [&](size_t count) {
                   std::set<const Node*> exact = kept_;
                   for (size_t i = 0; i < count; ++i) exact.insert(alone[i].node);
                   return error_without(exact);
                 }));
    error = fewest.error;
    for (size_t i = 0; i < fewest.count; ++i)
      keep(*alone[i].node, fmt::format("rounding it to {} alone moves the outputs by {:.2e}",
                                       name_of(type_), alone[i].error));
    return {};
  }

  std::unique_ptr<Graph> graph_;
  std::vector<Profile> profiles_;
  DataType type_;
  std::vector<Tensor> inputs_, expected_;
  std::set<const Node*> kept_;
  std::vector<KeptNode> nodes_;
};

}  // namespace

Result<std::vector<KeptNode>> nodes_to_keep(const Graph& network,
                                            const std::vector<Profile>& profiles, DataType type,
                                            double budget, Logger& logger) {
  TENON_ASSIGN(SampledNetwork sampled, sampled_network(network, profiles));
  return Budget(std::move(sampled), type).run(budget, logger);
}

}  // namespace tenon
