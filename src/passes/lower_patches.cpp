// Convolutions of images of few channels whose windows do not overlap, as vision transformers
// begin, are products of patches with the weights: one copy gathers the patches, and the product
// ends in the form that the tokens behind it have. Tensor cores want more channels than such images
// have, so that a convolution has to copy them as well. Must run after fold_into_weights, which
// takes the nodes behind the convolution, and before sink_dequantize, which leaves the moving to
// bytes where the convolution is quantized.
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// More of them fill the tensor cores without being gathered.
constexpr int64_t kFewChannels = 7;

/// Extents of a convolution's image: patches along each axis, and pixels of each.
struct Patches {
  std::vector<int64_t> counts, extents;
};

/// The convolution's weights, which may be dequantized, by channels of the result or with one
/// number; null where they are not known.
const Tensor* weights_of(const Node& conv) {
  const Tensor* weights = conv.input(1)->constant();
  if (weights != nullptr) return is_real(weights->type()) ? weights : nullptr;
  const auto* dequantize = produced_by<Dequantize>(conv.input(1));
  if (dequantize == nullptr) return nullptr;
  const Node& node = *conv.input(1)->producer();
  const bool by_channels = is_per_tensor(node) || dequantize->axis == 0;
  return has_known_scaling(node) && by_channels ? node.input(0)->constant() : nullptr;
}

/// Nothing where windows overlap, leave pixels out or reach over the border.
std::optional<Patches> patches_of(const Node& node) {
  const auto* conv = node.as<Conv>();
  if (conv == nullptr || conv->groups != 1 || conv->pad_mode != PadMode::kExplicit) return {};
  const Tensor* weights = weights_of(node);
  const Shape& image = node.input(0)->type.shape;
  if (weights == nullptr || weights->extents()[1] > kFewChannels) return {};
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  if (!std::ranges::all_of(conv->pads_begin, is_zero) ||
      !std::ranges::all_of(conv->pads_end, is_zero))
    return {};
  Patches patches;
  for (size_t i = 2; i < image.size(); ++i) {
    const int64_t window = weights->extents()[i];
    if (!image[i].is_constant() || i - 2 >= conv->strides.size() ||
        conv->strides[i - 2] != window ||
        (i - 2 < conv->dilations.size() && conv->dilations[i - 2] != 1) ||
        image[i].constant() % window != 0)
      return {};
    patches.counts.push_back(image[i].constant() / window);
    patches.extents.push_back(window);
  }
  const bool of_pixels = std::ranges::all_of(patches.extents, [](int64_t n) { return n == 1; });
  return of_pixels ? std::nullopt : std::optional(patches);
}

class Lowering {
 public:
  Lowering(Graph& graph, Node& node, Patches patches)
      : graph_(graph), node_(node), patches_(std::move(patches)) {}

  Value* run() {
    Value* product = add(std::make_unique<MatMul>(), {gathered(), turned_weights()});
    if (node_.inputs().size() > 2 && node_.input(2) != nullptr)
      product = add_pointwise(graph_, k_add, {product, node_.input(2)}, node_);
    // Channels lie last here, and behind the batch in the convolution's result.
    const Shape& result = node_.output()->type.shape;
    Shape pixels{result[0]};
    pixels.insert(pixels.end(), result.begin() + 2, result.end());
    pixels.push_back(result[1]);
    const auto rank = static_cast<int64_t>(result.size());
    std::vector<int64_t> order{0, rank - 1};
    for (int64_t axis = 1; axis + 1 < rank; ++axis) order.push_back(axis);
    return transposed(add_reshape(graph_, product, pixels, node_), std::move(order));
  }

 private:
  Value* add(std::unique_ptr<Op> op, std::vector<Value*> inputs) {
    return add_op(graph_, std::move(op), std::move(inputs), node_);
  }
  Value* transposed(Value* value, std::vector<int64_t> permutation) {
    return tenon::transposed(graph_, value, std::move(permutation), node_);
  }

  /// [batch, patches, channels * pixels of a patch]
  Value* gathered() {
    const Shape& image = node_.input(0)->type.shape;
    const size_t axes = patches_.counts.size();
    Shape cut{image[0], image[1]}, joined{image[0], 1, image[1]};
    std::vector<int64_t> order{0}, inner{1};
    for (size_t i = 0; i < axes; ++i) {
      cut.push_back(patches_.counts[i]);
      cut.push_back(patches_.extents[i]);
      joined[1] = joined[1] * Dim(patches_.counts[i]);
      joined[2] = joined[2] * Dim(patches_.extents[i]);
      order.push_back(static_cast<int64_t>(2 + 2 * i));
      inner.push_back(static_cast<int64_t>(3 + 2 * i));
    }
    order.insert(order.end(), inner.begin(), inner.end());
    Value* parts = add_reshape(graph_, node_.input(0), cut, node_);
    return add_reshape(graph_, transposed(parts, std::move(order)), joined, node_);
  }

  /// [channels * pixels of a patch, features], which constants fold to.
  Value* turned_weights() {
    const Shape& shape = node_.input(1)->type.shape;
    Dim inner = 1;
    for (size_t i = 1; i < shape.size(); ++i) inner = inner * shape[i];
    const auto turned = [&](Value* weights) {
      return transposed(add_reshape(graph_, weights, {shape[0], inner}, node_), {1, 0});
    };
    if (node_.input(1)->constant() != nullptr) return turned(node_.input(1));
    const Node& before = *node_.input(1)->producer();
    auto dequantize = std::make_unique<Dequantize>(*before.as<Dequantize>());
    dequantize->axis = 1;
    std::vector<Value*> inputs = before.inputs();
    inputs[0] = turned(inputs[0]);
    return add(std::move(dequantize), std::move(inputs));
  }

  Graph& graph_;
  Node& node_;
  Patches patches_;
};

}  // namespace

bool lower_patches(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    std::optional<Patches> patches = patches_of(node);
    if (!patches) return false;
    stand_in(graph, node, Lowering(graph, node, std::move(*patches)).run());
    return context.applied(fmt::format("{} by patches", node.name));
  });
}

}  // namespace tenon
