#include "kernels/cublaslt/tail.h"

#include "ops/math.h"
#include "ops/region.h"
#include "ops/table.h"

namespace tenon {

TENON_DECLARE_TACTIC(cuda_pointwise)

namespace cublaslt {
namespace {

constexpr size_t kMaxInputs = 16;

Value* value_of(Graph& graph, const Operand& operand) {
  if (operand.constant != nullptr) return graph.add_constant(*operand.constant);
  Shape shape;
  for (const int64_t extent : operand.extents) shape.push_back(Dim(extent));
  return graph.add_input("", {operand.type, shape, operand.layout});
}

}  // namespace

Result<std::unique_ptr<TailProblem>> tail_problem(const Problem& problem,
                                                  const AnchoredRegion& region, size_t first) {
  auto tail = std::make_unique<TailProblem>();
  Graph& graph = tail->graph;
  std::vector<std::pair<const Value*, int>> origins;
  const auto add = [&](const Operand& operand, int input) {
    Value* value = value_of(graph, operand);
    origins.emplace_back(value, input);
    return value;
  };
  std::vector<Value*> values = {add(problem.output(), -1)};
  std::vector<Node*> nodes;
  for (size_t i = first; i < region.steps.size(); ++i) {
    const RegionStep& step = region.steps[i];
    const auto value = [&](int steps_ago) { return values[values.size() - 1 - steps_ago]; };
    std::vector<Value*> operands = {value(step.from)};
    if (step.earlier >= 0) operands.push_back(value(step.earlier));
    if (step.operand >= 0) operands.push_back(add(problem.input(step.operand), step.operand));
    if (step.value_is_second) std::swap(operands[0], operands[1]);
    Node* node =
        graph.add_node(std::make_unique<Pointwise>(step.function, step.alpha, step.beta), operands);
    TENON_TRY(infer_node(*node));
    node->output()->type.layout = problem.output().layout;
    nodes.push_back(node);
    values.push_back(node->output());
  }
  graph.add_output(values.back());
  Problem& made = tail->problem;
  made = problem;
  const Node& node = nodes.size() == 1 ? *nodes[0] : *make_region(graph, nodes);
  made.operation = node;
  made.inputs.clear();
  for (const Value* value : node.inputs())
    for (const auto& [known, input] : origins)
      if (known == value) {
        made.inputs.push_back(input < 0 ? problem.output() : problem.input(input));
        tail->inputs.push_back(input);
      }
  if (tail->inputs.size() > kMaxInputs)
    return unsupported("{} operands in the epilogue; takes {}", tail->inputs.size(), kMaxInputs);
  return tail;
}

Status Tail::supports(const Problem& problem, size_t first) {
  TENON_ASSIGN(const AnchoredRegion region, anchored_region(problem, {.branches = true}));
  if (first >= region.steps.size()) return {};
  TENON_ASSIGN(const auto tail, tail_problem(problem, region, first));
  const Support support = tactics::cuda_pointwise::supports(tail->problem);
  return support ? Status{} : Status(unsupported("{}", support.reason));
}

Result<std::unique_ptr<Tail>> Tail::create(const Problem& problem, const AnchoredRegion& region,
                                           size_t first) {
  TENON_ASSIGN(const auto made, tail_problem(problem, region, first));
  auto tail = std::make_unique<Tail>();
  tail->inputs_ = made->inputs;
  const auto configs = tactics::cuda_pointwise::configs(made->problem);
  TENON_ASSIGN(tail->kernel_, tactics::cuda_pointwise::create(made->problem, configs.front()));
  for (size_t i = 0; i < tail->inputs_.size(); ++i)
    if (tail->inputs_[i] < 0 && !tail->kernel_->may_alias(static_cast<int>(i), 0))
      return unsupported("an epilogue that cannot work in place");
  return tail;
}

Status Tail::run(const LaunchArguments& arguments, void* workspace) const {
  const void* inputs[kMaxInputs];
  for (size_t i = 0; i < inputs_.size(); ++i) {
    inputs[i] = inputs_[i] < 0 ? arguments.outputs[0] : arguments.inputs[inputs_[i]];
    if (!kernel_->uses_input(static_cast<int>(i))) inputs[i] = nullptr;
  }
  return kernel_->run({{inputs, inputs_.size()}, arguments.outputs, workspace, arguments.queue});
}

bool Tail::uses_input(int input) const {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] == input && kernel_->uses_input(static_cast<int>(i))) return true;
  return false;
}

}  // namespace cublaslt
}  // namespace tenon
