#include "network/conditional.h"
#include "network/loop_node.h"
#include "network/region.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon::network {
namespace {

class ConditionalAssembly {
 public:
  ConditionalAssembly(Graph& graph, const ConditionalHandle& conditional, ValueMap& map)
      : graph_(graph), conditional_(conditional), map_(map) {}

  Status run() {
    if (conditional_.condition == nullptr)
      return user_error("conditional '{}' has no condition", conditional_.getName());
    if (conditional_.outputs.empty()) return {};
    for (const auto* input : conditional_.inputs) entries_.push_back(at(input->results()[0]));
    // Both bodies take the captures of either: a first construction finds them.
    for (size_t branch = 0; branch < 2; ++branch) {
      BodyBuilder body;
      fill(body, branch);
      captures_.insert(captures_.end(), body.captures().begin(), body.captures().end());
    }
    std::vector<Value*> inputs = {at(conditional_.condition->operands()[0])};
    std::vector<std::unique_ptr<Graph>> bodies;
    for (size_t branch = 0; branch < 2; ++branch) {
      BodyBuilder body;
      body.capture_all(captures_);
      fill(body, branch);
      if (branch == 0) inputs.insert(inputs.end(), body.captures().begin(), body.captures().end());
      bodies.push_back(body.finish());
    }
    return add_node(std::move(inputs), std::move(bodies));
  }

 private:
  Value* at(const TensorHandle* handle) const { return map_.at(handle->value()); }

  /// The gates' stand-ins are their inputs.
  void fill(BodyBuilder& body, size_t branch) {
    for (const auto* input : conditional_.inputs)
      body.bind(at(input->results()[0]), body.inner(at(input->operands()[0])));
    std::vector<Value*> exits;
    for (const auto* output : conditional_.outputs) exits.push_back(at(output->operands()[branch]));
    body.copy(nodes_between(graph_, entries_, exits, false));
    for (Value* exit : exits) body.add_output(body.inner(exit));
  }

  Status add_node(std::vector<Value*> inputs, std::vector<std::unique_ptr<Graph>> bodies) {
    Node* node = graph_.add_node(std::make_unique<If>(), std::move(inputs),
                                 static_cast<int>(conditional_.outputs.size()));
    node->name =
        *conditional_.getName() == '\0' ? conditional_.condition->name() : conditional_.getName();
    node->origins = {node->name};
    node->bodies = std::move(bodies);
    TENON_TRY(infer_node(*node));
    for (size_t i = 0; i < conditional_.outputs.size(); ++i)
      take_place(graph_, map_, at(conditional_.outputs[i]->results()[0]),
                 node->output(static_cast<int>(i)));
    return {};
  }

  Graph& graph_;
  const ConditionalHandle& conditional_;
  ValueMap& map_;
  std::vector<Value*> entries_, captures_;
};

}  // namespace

Status assemble_conditional(Graph& graph, const ConditionalHandle& conditional, ValueMap& map) {
  return ConditionalAssembly(graph, conditional, map).run();
}

}  // namespace tenon::network
