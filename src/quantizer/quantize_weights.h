#pragma once

#include "ir/tensor.h"

namespace tenon {

struct QuantizedWeights {
  Tensor numbers, scales;
};

/// Puts the scale into a tensor of some real type, and gives it as it is there: not 0.
float set_scale(Tensor& scales, int64_t index, float scale);

/// Real weights (f32, f16, bf16) as `type` (i8, f8e4m3, i4), with scales of the weights' own type.
/// One scale for all (axis < 0), or one for each index of `axis`, of the largest absolute value.
QuantizedWeights quantize_weights(const Tensor& weights, DataType type, int64_t axis);

/// Real weights of two axes as i4: each `block` along `axis` has a scale, of those up to the
/// largest absolute value the one with the least squared error. The last block may be shorter.
QuantizedWeights quantize_blocks(const Tensor& weights, int64_t axis, int64_t block);

}  // namespace tenon
