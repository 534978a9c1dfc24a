#include "kernels/plugin/format_move.h"

#include <algorithm>
#include <unordered_map>

#include "base/arithmetic.h"
#include "kernels/backend.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) {
  return round_up(bytes, kAlignment);
}

size_t bytes_of(const Value& value) {
  return static_cast<size_t>(element_count(constants(value.type.shape)) *
                             byte_size(value.type.type));
}

Operand operand_of(const Value& value) {
  Operand operand;
  operand.present = true;
  operand.type = value.type.type;
  operand.extents = constants(value.type.shape);
  operand.constant = value.constant();
  return operand;
}

Problem problem_of(const Problem& around, const Node& node, std::shared_ptr<const Graph> owner) {
  Problem problem = around;
  problem.operation = Operation(node, std::move(owner));
  problem.packed = {};
  problem.attachments = nullptr;
  problem.inputs.clear();
  problem.outputs.clear();
  for (const Value* input : node.inputs()) problem.inputs.push_back(operand_of(*input));
  for (const Value* output : node.outputs()) problem.outputs.push_back(operand_of(*output));
  return problem;
}

/// By the first tactic that takes the problem: movements of data differ little.
Result<std::unique_ptr<Kernel>> first_kernel(const Problem& problem) {
  for (const Tactic& tactic : problem.tactics) {
    if (!fits(tactic, problem)) continue;
    auto kernel = create_kernel(tactic, problem, tactic.configs(problem).front());
    if (kernel.ok()) return kernel;
  }
  return unsupported("no kernel for '{}'", problem.operation.name());
}

}  // namespace

Result<FormatMove> FormatMove::make(const Problem& around, const Operand& tensor,
                                    nvinfer1::TensorFormat format, Direction direction) {
  TensorType type{tensor.type, to_shape(tensor.extents)};
  TENON_ASSIGN(const network::IoFormat io, network::format_of(format, type));
  FormatMove move;
  move.graph_ = std::make_shared<Graph>();
  Graph& graph = *move.graph_;
  const bool packs = direction == Direction::kToBuffer;
  if (!packs) type.shape = io.to_buffer(type.shape);
  Value* const from = graph.add_input("from", type);
  const std::string name(around.layer);
  graph.add_output(packs ? network::to_buffer(graph, io, from, name)
                         : network::from_buffer(graph, io, from, name));
  TENON_TRY(graph.sort());
  TENON_TRY(infer_graph(graph));
  move.buffer_bytes_ = aligned(bytes_of(packs ? *graph.outputs()[0] : *from));
  TENON_TRY(move.plan(around));
  return move;
}

FormatMove::Place FormatMove::take(size_t bytes) {
  const Place place{Place::Base::kWorkspace, workspace_bytes_};
  workspace_bytes_ += aligned(bytes);
  return place;
}

Status FormatMove::plan(const Problem& around) {
  const Value* const last = graph_->outputs()[0];
  const bool on_host = around.device->capabilities().host_addresses;
  // Reshapes are none: their results lie where their operands do.
  const auto source_of = [](const Value* value) {
    while (value->producer() != nullptr && value->producer()->is<Reshape>())
      value = value->producer()->input(0);
    return value;
  };
  std::unordered_map<const Value*, Place> places = {{graph_->inputs()[0], {Place::Base::kFrom}}};
  for (const auto& node : graph_->nodes()) {
    if (node->is<Constant>() || node->is<Reshape>()) continue;
    std::vector<Place> here;
    for (const Value* input : node->inputs()) {
      const auto found = places.find(source_of(input));
      const Tensor* const constant = on_host ? input->constant() : nullptr;
      here.push_back(found != places.end()
                         ? found->second
                         : Place{.fixed = constant == nullptr ? nullptr : constant->bytes()});
    }
    const Place to = source_of(last) == node->output() ? Place{Place::Base::kTo}
                                                       : take(bytes_of(*node->output()));
    places[node->output()] = to;
    here.push_back(to);
    TENON_TRY(add_step(around, *node, here));
  }
  if (steps_.empty()) return unsupported("the format is linear under these extents");
  workspace_bytes_ += kernel_bytes_;
  return {};
}

/// `places`: of the inputs, then of the output.
Status FormatMove::add_step(const Problem& around, const Node& node,
                            std::span<const Place> places) {
  const Problem problem = problem_of(around, node, graph_);
  Step step;
  TENON_ASSIGN(step.kernel, first_kernel(problem));
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    const bool missing = places[i].base == Place::Base::kFixed && places[i].fixed == nullptr;
    if (missing && step.kernel->uses_input(static_cast<int>(i)))
      return unsupported("a kernel of '{}' reads a constant", node.op->name());
    step.inputs.push_back(places[i]);
  }
  step.output = places.back();
  kernel_bytes_ = std::max(kernel_bytes_, aligned(step.kernel->workspace_bytes()));
  steps_.push_back(std::move(step));
  return {};
}

Status FormatMove::run(const void* from, void* to, void* workspace, Queue queue) const {
  auto* const base = static_cast<std::byte*>(workspace);
  const auto address = [&](const Place& place) -> const void* {
    switch (place.base) {
      case Place::Base::kFrom: return from;
      case Place::Base::kTo: return to;
      case Place::Base::kWorkspace: return base + place.bytes;
      case Place::Base::kFixed: break;
    }
    return place.fixed;
  };
  for (const Step& step : steps_) {
    std::array<const void*, kMostInputs> inputs{};
    for (size_t i = 0; i < step.inputs.size(); ++i) inputs[i] = address(step.inputs[i]);
    void* const output = const_cast<void*>(address(step.output));
    TENON_TRY(step.kernel->run({std::span(inputs).first(step.inputs.size()),
                                std::span(&output, 1),
                                base + workspace_bytes_ - kernel_bytes_,
                                queue,
                                {}}));
  }
  return {};
}

}  // namespace tenon
