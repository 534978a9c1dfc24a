#pragma once

#include <array>
#include <limits>

#include "network/emitter.h"
#include "ops/nn.h"

namespace tenon::network {

/// Layers that are several nodes, for the API's classes and for operators of that name in ONNX
/// files.

/// Softmax along the last axis over so many first elements as `bounds` says; 0 behind them.
Value* ragged_softmax(Emitter& e, Value* x, Value* bounds);

/// Axis and block of a scale that has as many axes as the input; an error where several axes
/// differ. No axis differs: -1.
struct Blocks {
  int64_t axis = -1, size = 0;
};
Blocks blocks_of(Emitter& e, const Value* x, const Value* scale);
/// The one axis that a block shape for the last axes divides; -1 there stands for the whole axis.
Blocks blocks_of_shape(Emitter& e, const Value* x, std::span<const int64_t> shape);

/// Quantization by blocks with scales from the data: scale = largest magnitude / largest number of
/// `to`. `second` scales the scales themselves; it may be null.
struct DynamicScales {
  Value* quantized = nullptr;
  Value* scale = nullptr;
};
DynamicScales dynamic_quantize(Emitter& e, Value* x, Value* second, const Blocks& blocks,
                               DataType to, DataType scale_type);
/// The same by blocks of that shape along one of the last axes, or several whose extents are
/// constant.
DynamicScales dynamic_quantize(Emitter& e, Value* x, Value* second, std::span<const int64_t> shape,
                               DataType to, DataType scale_type);
/// A scale of blocks along several axes, as one of a number for each element of x; any other as it
/// is.
Value* whole_scale(Emitter& e, const Value* x, Value* scale);

/// Attention over [batch, heads, sequence, size] whose products are not scaled. Mask and the scale
/// by which probabilities are quantized may be null.
struct AttentionParts {
  Value *query = nullptr, *key = nullptr, *value = nullptr, *mask = nullptr, *scale = nullptr;
  CausalMask causal = CausalMask::kNone;
  bool normalizes = true;  ///< By softmax.
  DataType quantized = DataType::kInt8;
};
Value* attention(Emitter& e, const AttentionParts& parts);

/// Experts of a mixture. Operands: tokens [..., hidden], chosen experts and their scores [..., k],
/// then weights: gate and up [experts, hidden, inner], down [experts, inner, hidden], and biases
/// [experts, inner or hidden] or null. Every expert computes every token; scores weight the
/// results.
struct ExpertParts {
  Value *tokens = nullptr, *chosen = nullptr, *scores = nullptr;
  std::array<Value*, 3> weights = {}, biases = {};
  bool gates = true;  ///< By SiLU; else the gate is a factor as it is.
  float limit = std::numeric_limits<float>::infinity(), alpha = 1, beta = 0;
};
Value* experts(Emitter& e, const ExpertParts& parts);

}  // namespace tenon::network
