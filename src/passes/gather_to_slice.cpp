// A gather of one constant index is a slice, which costs nothing where its users read strided
// tensors.
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

bool rewrite(Graph& graph, Node& node) {
  const auto* gather = node.as<Gather>();
  const Tensor* indices = gather == nullptr ? nullptr : node.input(1)->constant();
  if (indices == nullptr || indices->count() != 1 || indices->rank() > 1) return false;
  const Shape& shape = node.input(0)->type.shape;
  const int64_t axis =
      gather->axis < 0 ? gather->axis + static_cast<int64_t>(shape.size()) : gather->axis;
  int64_t index = indices->as_int64(0);
  if (!shape[axis].is_constant()) return false;
  if (index < 0) index += shape[axis].constant();
  if (index < 0 || index >= shape[axis].constant())
    return false;  // Stays, and reports the index when it runs.
  Value* slice = add_op(graph, std::make_unique<Slice>(),
                        {node.input(0), add_integers(graph, {index}),
                         add_integers(graph, {index + 1}), add_integers(graph, {axis})},
                        node);
  if (indices->rank() == 0)
    slice = add_op(graph, std::make_unique<Squeeze>(), {slice, add_integers(graph, {axis})}, node);
  stand_in(graph, node, slice);
  return true;
}

}  // namespace

bool gather_to_slice(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) { return rewrite(graph, node); });
}

}  // namespace tenon
