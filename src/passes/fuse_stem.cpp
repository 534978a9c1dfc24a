// The first convolution of an image network and the max pooling or the depthwise convolution behind
// it are one region. Only where the device has a kernel for it. Must run before fuse_epilogue.
#include "ops/ops.h"
#include "ops/region.h"
#include "passes/depthwise.h"

namespace tenon {
namespace {

constexpr int64_t kMostChannels = 4;

/// A convolution of a model's own image (maybe cast) of few channels, with constant weights.
bool is_stem(const Node& node) {
  const auto* conv = node.as<Conv>();
  if (conv == nullptr || conv->groups != 1 || node.input(1)->constant() == nullptr) return false;
  if (node.has_input(2) && node.input(2)->constant() == nullptr) return false;
  const Value* image = node.input(0);
  const Shape& shape = image->type.shape;
  if (image->producer() != nullptr && image->producer()->is<Cast>())
    image = image->producer()->input(0);
  return image->producer() == nullptr && shape.size() == 4 && shape[1].is_constant() &&
         shape[1].constant() <= kMostChannels;
}

bool is_max_pooling(const Node& node) {
  const auto* pool = node.as<Pool>();
  return pool != nullptr && pool->function == PoolFunction::kMax && node.outputs().size() == 1 &&
         pool->pad_mode == PadMode::kExplicit;
}

std::vector<Node*> region_of(const Graph& graph, const PassContext& context, Node& stem) {
  std::vector<Node*> members = {&stem};
  const Value* value = stem.output();
  take_functions(graph, context, value, members);
  Node* next = only_user(graph, value);
  if (next != nullptr && is_max_pooling(*next) && context.allows_fusion(*next)) {
    members.push_back(next);
    return members;
  }
  const bool is_float = image_weights(stem) != nullptr;
  return is_float && take_depthwise(graph, context, value, members) ? members
                                                                    : std::vector<Node*>{};
}

}  // namespace

bool fuse_stem(Graph& graph, PassContext& context) {
  return join_around(graph, context, is_stem,
                     [&](Node& node) { return region_of(graph, context, node); });
}

}  // namespace tenon
