// The first convolution of an image in 8-bit numbers quantizes the image itself, as it reads it.
// Only where the device has a kernel for it. Must run after fuse_quantized, and after
// fuse_quantized_casts, by which the image may have 16 bits.
#include "ops/ops.h"
#include "ops/region.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

/// The number that an operand inside of the region has, which is the region's; 0 where there is
/// none.
std::optional<double> number_of(const Node& region, const Value* inside) {
  if (inside == nullptr) return 0;
  if (inside->producer() != nullptr) return scalar_of(inside);
  return scalar_of(region.input(inside->index()));
}

bool has_scaling(const Node& quantize, const Node& region, const Node& dequantize) {
  if (!is_per_tensor(quantize)) return false;
  const double zero = quantize.has_input(2) ? quantize.input(2)->constant()->as_double(0) : 0;
  return number_of(region, dequantize.input(1)) == quantize.input(1)->constant()->as_double(0) &&
         number_of(region, dequantize.input(2)) == zero;
}

/// The quantization that the region takes, which nothing else reads; null where there is none.
Node* quantization_ahead(const Graph& graph, const Node& region, const PassContext& context) {
  const Node* dequantize = dequantized_image(region);
  if (dequantize == nullptr || dequantize->input(0)->producer() != nullptr) return nullptr;
  const Value* image = region.input(static_cast<int>(dequantize->input(0)->index()));
  if (image == nullptr || only_user(graph, image) != &region ||
      produced_by<Quantize>(image) == nullptr)
    return nullptr;
  Node* quantize = image->producer();
  const bool fits = has_scaling(*quantize, region, *dequantize) &&
                    is_multiplied(quantized_type(*quantize), context.options()) &&
                    context.allows_fusion(*quantize);
  return fits ? quantize : nullptr;
}

}  // namespace

bool fuse_quantized_images(Graph& graph, PassContext& context) {
  if (!context.options().rounding_groups) return false;
  return for_each_of(fusible_nodes(graph, context, is_region), [&](Node& region) {
    Node* quantize = quantization_ahead(graph, region, context);
    if (quantize == nullptr) return false;
    const std::string name = region.name;
    std::vector<Node*> members = inline_region(graph, &region);
    members.insert(members.begin(), quantize);
    make_region(graph, members, name);
    return context.applied(name + " quantizes its image");
  });
}

}  // namespace tenon
