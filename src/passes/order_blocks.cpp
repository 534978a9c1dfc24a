// Blocks of pixels (depth to space) whose channels lie together are copied in long runs. Where each
// channel's block lies together instead (pixel shuffle of PyTorch, mode CRD), the convolution in
// front gets its filters in the other order. Must run after fold_into_weights and before
// fuse_epilogue.
#include <algorithm>
#include <cstring>

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

bool is_constant_or_absent(const Node& node, int input) {
  if (!node.has_input(input)) return true;
  const Tensor* tensor = node.input(input)->constant();
  return tensor != nullptr && tensor->defined() && is_real(tensor->type());
}

/// The convolution whose filters become the channels of blocks, else null.
Node* filters_of(const Graph& graph, const Node& blocks) {
  const Node* user = &blocks;
  Value* value = blocks.input(0);
  while (value->producer() != nullptr && only_user(graph, value) == user) {
    Node* node = value->producer();
    if (const auto* conv = node->as<Conv>()) {
      const bool fits = conv->groups == 1 && node->input(1)->constant() != nullptr &&
                        is_constant_or_absent(*node, 1) && is_constant_or_absent(*node, 2);
      return fits ? node : nullptr;
    }
    user = node;
    value = operand_beside_numbers(*node);
    if (value == nullptr) return nullptr;
  }
  return nullptr;
}

/// Rows c * pixels + p go to p * channels + c.
Tensor reordered(const Tensor& from, int64_t pixels) {
  Tensor to(from.type(), from.extents());
  const int64_t rows = from.extents()[0], channels = rows / pixels;
  const auto bytes = static_cast<size_t>(from.byte_count() / std::max<int64_t>(rows, 1));
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(to.mutable_bytes() + ((row % pixels) * channels + row / pixels) * bytes,
                from.bytes() + row * bytes, bytes);
  return to;
}

/// Values on the way have their channels in another order than before.
void forget_names(Node& conv, const Node& blocks) {
  for (Node* node = &conv; node != &blocks; node = node->output()->uses()[0].node)
    node->output()->name.clear();
}

}  // namespace

bool order_blocks(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    auto* blocks = node.as<DepthToSpace>();
    if (blocks == nullptr || !blocks->column_row_depth) return false;
    Node* conv = filters_of(graph, node);
    if (conv == nullptr || !context.allows(*conv)) return false;
    for (int i = 1; i < static_cast<int>(conv->inputs().size()); ++i)
      if (conv->has_input(i))
        conv->set_input(i, graph.add_constant(reordered(*conv->input(i)->constant(),
                                                        blocks->block * blocks->block)));
    forget_names(*conv, node);
    blocks->column_row_depth = false;
    return context.applied(
        fmt::format("{} gives the channels of {} together", conv->name, node.name));
  });
}

}  // namespace tenon
