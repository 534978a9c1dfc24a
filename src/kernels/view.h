#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/tactic.h"

namespace tenon {

/// Where an output of a data-moving node lies inside its first input.
struct View {
  int64_t offset = 0;            ///< In elements, from the input's first element.
  std::vector<int64_t> strides;  ///< Empty: dense in row-major order.
};

/// Fails, with the reason, when the output is no strided view of the input. `contents` are the
/// known contents of all operands. Handles identity, reshape and its kin, transpose, slice, split
/// and expand.
Result<View> make_view(const Node& node, int output, const Operand& input, const Extents& extents,
                       std::span<const Tensor* const> contents);

/// The same with the strides always given: where each element of the output lies in the input,
/// whatever its own layout.
Result<View> input_view(const Operation& operation, int output, const Operand& input,
                        const Extents& extents, std::span<const Tensor* const> contents);

/// Empty when the strides are those of a dense tensor in that layout, else the strides. Strides of
/// axes of extent 1 do not matter.
std::vector<int64_t> normalized_strides(const Extents& extents, const std::vector<int64_t>& strides,
                                        Layout layout);

}  // namespace tenon
