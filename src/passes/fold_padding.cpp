// Zeros around an image go into the convolution behind them, or out of the cropping of a transposed
// one. Pads must not be negative and concern spatial axes only. Must run after fold_constants,
// before fuse_epilogue.
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Pads before and behind each axis of an image, when they are known, zero-filled and spatial.
std::optional<std::vector<int64_t>> spatial_pads(const Node& node) {
  const auto* pad = node.as<Pad>();
  if (pad == nullptr || pad->fill != PadFill::kConstant || node.input(1)->constant() == nullptr)
    return std::nullopt;
  if (node.has_input(2) && scalar_of(node.input(2)) != 0) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  const std::vector<int64_t> given = node.input(1)->constant()->to_int64s();
  std::vector<int64_t> axes(rank), all(2 * rank, 0);
  for (int64_t i = 0; i < rank; ++i) axes[i] = i;
  if (node.has_input(3)) {
    if (node.input(3)->constant() == nullptr) return std::nullopt;
    axes = node.input(3)->constant()->to_int64s();
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    all[axis] = given[i];
    all[rank + axis] = given[axes.size() + i];
  }
  const bool channels = all[0] != 0 || all[1] != 0 || all[rank] != 0 || all[rank + 1] != 0;
  if (channels || std::any_of(all.begin(), all.end(), [](int64_t n) { return n < 0; }))
    return std::nullopt;
  return all;
}

/// Pads of zeros stand for 0 each.
void add_pads(std::vector<int64_t>& to, const int64_t* from, size_t count) {
  to.resize(count, 0);
  for (size_t i = 0; i < count; ++i) to[i] += from[i];
}

bool fold(Node& node) {
  auto* conv = node.as<Conv>();
  if (conv == nullptr || conv->pad_mode != PadMode::kExplicit) return false;
  Node* before = node.input(0)->producer();
  const auto pads = before == nullptr ? std::nullopt : spatial_pads(*before);
  if (!pads.has_value()) return false;
  const size_t rank = pads->size() / 2;
  add_pads(conv->pads_begin, pads->data() + 2, rank - 2);
  add_pads(conv->pads_end, pads->data() + rank + 2, rank - 2);
  node.set_input(0, before->input(0));
  add_origins(node, *before);
  return true;
}

/// The elements by which a transposed convolution crops less on one side, or false where it would
/// crop none.
bool crop_less(const Deconv& deconv, std::vector<int64_t>& crops, const int64_t* pads,
               size_t count) {
  crops.resize(count, 0);
  for (size_t i = 0; i < count; ++i) {
    crops[i] -= pads[i] * (i < deconv.strides.size() ? deconv.strides[i] : 1);
    if (crops[i] < 0) return false;
  }
  return true;
}

/// A zero in front adds a stride of zeros to the result, which is cropped.
bool fold_transposed(Node& node) {
  auto* deconv = node.as<Deconv>();
  if (deconv == nullptr || deconv->pad_mode != PadMode::kExplicit || !deconv->output_shape.empty())
    return false;
  Node* before = node.input(0)->producer();
  const auto pads = before == nullptr ? std::nullopt : spatial_pads(*before);
  if (!pads.has_value()) return false;
  const size_t rank = pads->size() / 2;
  std::vector<int64_t> begin = deconv->pads_begin, end = deconv->pads_end;
  if (!crop_less(*deconv, begin, pads->data() + 2, rank - 2) ||
      !crop_less(*deconv, end, pads->data() + rank + 2, rank - 2))
    return false;
  deconv->pads_begin = std::move(begin);
  deconv->pads_end = std::move(end);
  node.set_input(0, before->input(0));
  add_origins(node, *before);
  return true;
}

}  // namespace

bool fold_padding(Graph& graph, PassContext& context) {
  return for_each_fusible(graph, context, [&](Node& node) {
    return !node.inputs().empty() && (fold(node) || fold_transposed(node)) &&
           context.applied(node.name + " pads its input itself");
  });
}

}  // namespace tenon
