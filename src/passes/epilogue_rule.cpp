#include "passes/epilogue_rule.h"

#include "ops/ops.h"
#include "passes/residual.h"

namespace tenon {

bool takes_epilogue(const Node& node) {
  return node.is<Conv>() || node.is<Deconv>() || node.is<MatMul>() || node.is<Normalization>();
}

std::string epilogue_refusal(const Graph& graph, const Node& anchor, const Value& running,
                             const Node& next, const PassContext& context) {
  if (!next.is<Pointwise>()) return "it is no scalar function of single elements";
  if (next.inputs().size() > 2) return "it has more than two operands";
  if (!context.allows_fusion(next)) return "a setting of this build keeps it apart";
  const TensorType &type = next.output()->type, &wanted = running.type;
  if (type.type != wanted.type)
    return fmt::format("its result is {}, and the value before it {}", name_of(type.type),
                       name_of(wanted.type));
  if (type.shape != wanted.shape)
    return fmt::format("its result has the shape {}, and the value before it {}",
                       to_string(type.shape), to_string(wanted.shape));
  if (anchor.is<MatMul>() && waits_for_normalization(graph, next, context))
    return "the normalization behind it takes it instead";
  return {};
}

Node* widening_step(const Graph& graph, const Value* running, const PassContext& context) {
  if (!context.options().widened_products) return nullptr;
  if (running->uses().size() != 1 || graph.is_output(running)) return nullptr;
  Node* next = running->uses()[0].node;
  const DataType from = running->type.type;
  const bool widens =
      next->is<Cast>() && next->output()->type.type == DataType::kFloat32 && is_half(from);
  return widens && graph.is_output(next->output()) && context.allows_fusion(*next) ? next : nullptr;
}

}  // namespace tenon
