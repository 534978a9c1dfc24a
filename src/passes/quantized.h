#pragma once

#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {

/// Rows of a product that are few: kernels multiply them while a weight is in registers.
inline constexpr int64_t kFewRows = 8;

/// Questions about quantization and its reverse that several passes ask.

/// The Quantize or Dequantize has known numbers: one scale and zero point, or one each along one
/// axis.
bool has_known_scaling(const Node& node);
/// Likewise, and they are the same for the whole tensor.
bool is_per_tensor(const Node& node);
/// Any type of 8 bits that values are quantized to: moving elements keeps each of them.
bool is_byte(DataType type);
/// The type on the quantized side of a Quantize or Dequantize.
DataType quantized_type(const Node& node);
/// The Quantize or Dequantize has known numbers and no zero point but 0.
bool is_symmetric(const Node& node);
/// Scale, zero point and quantized type are the same: quantize(dequantize(x)) is x.
bool same_scaling(const Node& a, const Node& b);
/// The zero point of a per-tensor node.
int64_t zero_point_of(const Node& node);

/// Types of 8 bits that the device's kernels multiply.
bool is_multiplied(DataType type, const PassOptions& options);
/// Types that such a region may have between its quantizations.
bool is_region_real(DataType type, const PassOptions& options);

/// The Dequantize of such bytes with one known scale that gives `value`, else null. Its own operand
/// may be anything.
Node* per_tensor_bytes(const Value* value, const PassOptions& options);
/// Whether each extent is 1: a number of any rank.
bool is_single(const Value& value);
/// The Dequantize of byte integers with one scale and zero point, either of which may be computed,
/// that gives `value`; null for others, and where the device's kernels want them known.
Node* computed_bytes(const Value* value, const PassOptions& options);
/// The Dequantize of such constant bytes that gives `value`, else null.
Node* constant_bytes(const Value* value, const PassOptions& options);

/// The Dequantize of a constant matrix of 4 or 8 bits with known numbers that gives `value`, else
/// null.
Node* small_weights(const Value* value);

/// A convolution or matmul of dequantized bytes with dequantized constant bytes that the device's
/// kernels compute: one group, one scale for the activations, one scale or one per output channel
/// for the weights; of integers, weights that fit i8 once their zero point is taken off, and sums
/// that fit i32.
bool can_anchor_quantized(const Node& node, const PassOptions& options);
/// A product of real rows, of 16 bits at most kFewRows of them, with constant weights of 4 or 8
/// bits: kernels read them as they are.
bool multiplies_small_weights(const Graph& graph, const Node& node, const PassOptions& options);
/// The same of a product of f32 whose rows lower_precision makes of that type.
bool multiplies_small_weights_in(DataType rows, const Graph& graph, const Node& node,
                                 const PassOptions& options);
/// The Dequantize gives nothing but the weights of such products, or of products that become such
/// by lower_precision.
bool gives_small_weights(const Graph& graph, const Node& node, const PassOptions& options);

/// The Dequantize gives the weights of such an anchor, and of nothing else.
bool gives_quantized_weights(const Node& node, const PassOptions& options);

/// Inside of a region, the Dequantize that gives a convolution its image of few channels, which
/// kernels of first convolutions take; null for other regions.
const Node* dequantized_image(const Node& region);

/// The Dequantize that gives the user's operand, or a copy of it where others use it too, for a
/// region of its own.
Node* own_copy(Graph& graph, Node& user, int index);

}  // namespace tenon
