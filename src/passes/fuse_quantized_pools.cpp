// The first convolution of an image in 8-bit numbers and the max pooling behind it are one region,
// whose kernel pools sums before it rounds them. Only where the device has such a kernel. Must run
// after fuse_quantized_images, and before the pooling joins others.
#include <algorithm>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

constexpr int64_t kPoolStride = 2, kMostRowTaps = 8, kMostStride = 4;

bool all_are(const std::vector<int64_t>& numbers, size_t count, int64_t number) {
  return numbers.size() == count &&
         std::ranges::all_of(numbers, [number](int64_t n) { return n == number; });
}

/// Max pooling of an image in windows of two or three places, two apart.
bool is_pooling(const Node& node) {
  const auto* pool = node.as<Pool>();
  if (pool == nullptr || pool->function != PoolFunction::kMax || node.outputs().size() != 1 ||
      pool->pad_mode != PadMode::kExplicit || pool->kernel.size() != 2)
    return false;
  const bool is_dense = pool->dilations.empty() || all_are(pool->dilations, 2, 1);
  const bool is_padded_well =
      pool->pads_begin.empty() ||
      (pool->pads_begin[0] >= 0 && pool->pads_begin[1] >= 0 &&
       pool->pads_begin[0] < pool->kernel[0] && pool->pads_begin[1] < pool->kernel[1]);
  return is_dense && is_padded_well && all_are(pool->strides, 2, kPoolStride) &&
         std::ranges::all_of(pool->kernel, [](int64_t n) { return n == 2 || n == 3; });
}

/// The tensor is known, and all of its numbers are above 0.
bool is_positive(const Tensor* numbers) {
  if (numbers == nullptr) return false;
  for (int64_t i = 0; i < numbers->count(); ++i)
    if (!(numbers->as_double(i) > 0)) return false;
  return true;
}
const Tensor* constant_of(const Node& region, const Value* inside) {
  return inside->producer() != nullptr
             ? inside->constant()
             : region.input(static_cast<int>(inside->index()))->constant();
}

/// The convolution's windows are such as the kernel takes.
bool fits_windows(const Node& node, const Conv& conv) {
  const auto fits = [](const std::vector<int64_t>& numbers, int64_t least, int64_t most) {
    return std::ranges::all_of(numbers, [=](int64_t n) { return n >= least && n <= most; });
  };
  return conv.pad_mode == PadMode::kExplicit && fits(conv.dilations, 1, 1) &&
         fits(conv.strides, 1, kMostStride) && fits(conv.pads_begin, 0, INT32_MAX) &&
         node.input(1)->type.shape[3].constant() <= kMostRowTaps;
}

/// Whether each result in the region grows with its sum: positive scales, clamps and a rounding to
/// integers are all there is behind the convolution.
bool keeps_order(const Node& region) {
  const auto is_clamp = [](const Node& node) {
    return node.inputs().size() == 1 && (is_function(node, PointwiseFunction::k_relu) ||
                                         is_function(node, PointwiseFunction::k_clip));
  };
  for (const auto& node : region.bodies[0]->nodes()) {
    if (node->is<Quantize>() || node->is<Dequantize>()) {
      const DataType type = quantized_type(*node);
      if (!is_byte_integer(type) || !is_positive(constant_of(region, node->input(1)))) return false;
    } else if (const auto* conv = node->as<Conv>()) {
      if (!fits_windows(*node, *conv)) return false;
    } else if (!is_clamp(*node)) {
      return false;
    }
  }
  return region.bodies[0]->outputs().size() == 1 &&
         produced_by<Quantize>(region.bodies[0]->outputs()[0]) != nullptr;
}

}  // namespace

bool fuse_quantized_pools(Graph& graph, PassContext& context) {
  return for_each_of(fusible_nodes(graph, context, is_region), [&](Node& region) {
    if (region.outputs().size() != 1 || dequantized_image(region) == nullptr) return false;
    Node* pool = only_user(graph, region.output());
    if (pool == nullptr || !is_pooling(*pool) || !context.allows_fusion(*pool) ||
        !keeps_order(region))
      return false;
    const std::string name = region.name + " + " + pool->name;
    std::vector<Node*> members = inline_region(graph, &region);
    members.push_back(pool);
    make_region(graph, members, name);
    return context.applied(name);
  });
}

}  // namespace tenon
