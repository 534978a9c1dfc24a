// The average of products of pixels is the product of their average: averages behind a 1x1
// convolution are taken in front of it, which has fewer pixels to do then. Must run after
// fold_into_weights, which takes the nodes between the two into the convolution.
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Reading a wider image to average it costs less than computing the pixels that are averaged, up
/// to this ratio of channels.
constexpr int64_t kMostWiden = 8;

/// An average over fewer places than there were, of pixels of the image alone.
bool averages(const Node& node) {
  const auto* pool = node.as<Pool>();
  if (pool == nullptr || pool->function != PoolFunction::kAverage ||
      pool->pad_mode != PadMode::kExplicit || node.outputs().size() != 1)
    return false;
  const bool inside = all_are(pool->pads_begin, 0) && all_are(pool->pads_end, 0);
  // Windows that leave the image at its end count the elements they see, unless padding counts.
  if (!inside || (pool->ceil_mode && pool->count_include_pad)) return false;
  return std::any_of(pool->strides.begin(), pool->strides.end(), [](int64_t x) { return x > 1; });
}

/// A convolution of single pixels with constant weights.
bool is_of_pixels(const Node& node) {
  const auto* conv = node.as<Conv>();
  const Tensor* weights = conv == nullptr ? nullptr : node.input(1)->constant();
  if (weights == nullptr || conv->groups != 1 || conv->pad_mode != PadMode::kExplicit ||
      !is_real(weights->type()))
    return false;
  const Extents& extents = weights->extents();
  return std::all_of(extents.begin() + 2, extents.end(), [](int64_t x) { return x == 1; }) &&
         extents[1] <= kMostWiden * extents[0] && all_are(conv->strides, 1) &&
         all_are(conv->pads_begin, 0) && all_are(conv->pads_end, 0);
}

}  // namespace

bool lift_pooling(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    if (!averages(node)) return false;
    const Node* conv = node.input(0)->producer();
    if (conv == nullptr || !is_of_pixels(*conv) || !context.allows(*conv) ||
        only_user(graph, conv->output()) != &node)
      return false;
    Value* averaged = add_op(graph, node.op->clone(), {conv->input(0)}, node);
    std::vector<Value*> operands = conv->inputs();
    operands[0] = averaged;
    Value* result = add_op(graph, conv->op->clone(), std::move(operands), *conv);
    stand_in(graph, node, result);
    return context.applied(fmt::format("{} before {}", node.name, conv->name));
  });
}

}  // namespace tenon
