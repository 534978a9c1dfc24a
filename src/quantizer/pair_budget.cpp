#include "quantizer/pair_budget.h"

#include <functional>
#include <optional>
#include <set>

#include "check/processor_reference.h"
#include "ops/math.h"
#include "ops/table.h"
#include "quantizer/budget_search.h"

namespace tenon {
namespace {

using Names = std::set<std::string, std::less<>>;

/// The value ahead of Quantize and Dequantize that give `value`; null where they do not.
Value* ahead_of_pair(const Value* value) {
  const Node* dequantize = value == nullptr ? nullptr : value->producer();
  if (dequantize == nullptr || !dequantize->is<Dequantize>()) return nullptr;
  const Node* quantize = dequantize->input(0)->producer();
  if (quantize == nullptr || !quantize->is<Quantize>()) return nullptr;
  Value* ahead = quantize->input(0);
  return ahead->type.type == value->type.type ? ahead : nullptr;
}

/// The type of the pairs that it reads; nothing where it reads none.
std::optional<DataType> read_type(const Node& node) {
  if (node.is<Quantize>() || node.is<Dequantize>() || !node.bodies.empty()) return {};
  for (const Value* input : node.inputs())
    if (ahead_of_pair(input) != nullptr) return input->producer()->input(0)->type.type;
  return {};
}

void bypass(Graph& graph, const std::function<bool(const Node&)>& reads_all) {
  for (const auto& node : graph.nodes()) {
    if (!read_type(*node).has_value() || !reads_all(*node)) continue;
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i)
      if (Value* ahead = ahead_of_pair(node->input(i)); ahead != nullptr) node->set_input(i, ahead);
  }
}

class PairBudget {
 public:
  explicit PairBudget(SampledNetwork network) : network_(std::move(network)) {}

  Result<std::vector<KeptNode>> run(double budget, Logger& logger) {
    std::vector<SensitiveNode> readers = all_readers();
    if (readers.empty()) return std::vector<KeptNode>();
    TENON_ASSIGN(expected_, outputs([](const Node&) { return true; }));
    TENON_ASSIGN(double error, error_where([](const Node&) { return false; }));
    logger.verbose("pairs: rounding moves the outputs by {:.2e}, {:.2e} are allowed", error,
                   budget);
    if (error <= budget) return std::vector<KeptNode>();
    for (SensitiveNode& reader : readers) {
      TENON_ASSIGN(reader.error,
                   error_where([&](const Node& node) { return node.name != reader.node->name; }));
    }
    sort_by_error(readers);
    TENON_ASSIGN(const Fewest fewest, fewest_within(readers.size(), budget, [&](size_t count) {
                   return error_with_worst(readers, count);
                 }));
    readers.resize(fewest.count);
    logger.verbose("pairs: {} layers read numbers as they are, which moves the outputs by {:.2e}",
                   readers.size(), fewest.error);
    return named(readers);
  }

 private:
  std::vector<SensitiveNode> all_readers() const {
    std::vector<SensitiveNode> readers;
    for (const auto& node : network_.graph->nodes())
      if (read_type(*node).has_value()) readers.push_back({0, node.get()});
    return readers;
  }

  static std::vector<KeptNode> named(const std::vector<SensitiveNode>& readers) {
    std::vector<KeptNode> kept;
    for (const SensitiveNode& reader : readers)
      kept.push_back({reader.node->name,
                      fmt::format("rounding its operands to {} alone moves the outputs by {:.2e}",
                                  name_of(*read_type(*reader.node)), reader.error),
                      true});
    return kept;
  }

  Result<std::vector<Tensor>> outputs(const std::function<bool(const Node&)>& reads_all) const {
    const std::unique_ptr<Graph> graph = network_.graph->clone();
    bypass(*graph, reads_all);
    graph->remove_dead();
    return evaluate_on_processor(*graph, network_.profiles, network_.inputs);
  }

  Result<double> error_where(const std::function<bool(const Node&)>& reads_all) const {
    TENON_ASSIGN(const auto actual, outputs(reads_all));
    return relative_error(actual, expected_);
  }

  Result<double> error_with_worst(const std::vector<SensitiveNode>& readers, size_t count) const {
    Names exact;
    for (size_t i = 0; i < count; ++i) exact.insert(readers[i].node->name);
    return error_where([&](const Node& node) { return exact.contains(node.name); });
  }

  SampledNetwork network_;
  std::vector<Tensor> expected_;
};

}  // namespace

Result<std::vector<KeptNode>> readers_to_keep(const Graph& network,
                                              const std::vector<Profile>& profiles, double budget,
                                              Logger& logger) {
  TENON_ASSIGN(SampledNetwork sampled, sampled_network(network, profiles));
  return PairBudget(std::move(sampled)).run(budget, logger);
}

void leave_pairs_out(Graph& graph, const std::vector<KeptNode>& readers) {
  Names names;
  for (const KeptNode& reader : readers) names.insert(reader.name);
  bypass(graph, [&](const Node& node) { return names.contains(node.name); });
}

}  // namespace tenon
