// Zeros around an image go into the convolution behind them. Pads must not be negative and concern
// spatial axes only. Must run after fold_constants, before fuse_epilogue.
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

}  // namespace

bool fold_padding(Graph& graph, PassContext& context) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (!context.allows_fusion(*node) || node->inputs().empty() || !fold(*node)) continue;
    context.applied(node->name + " pads its input itself");
    changed = true;
  }
  return changed;
}

}  // namespace tenon
