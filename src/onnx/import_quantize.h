#pragma once

#include "onnx/node_importer.h"

namespace tenon::importer {

/// `bytes` as reals. Scale and zero point are one for all or one for each position along `axis`,
/// each for itself, as operators on bytes have them; the zero point may be null.
Value* dequantized(NodeImporter& node, Value* bytes, Value* scale, Value* zero_point, int64_t axis);

/// Rows of bytes that hold several numbers each, as numbers of one byte each, [rows, depth].
Result<Tensor> unpacked_numbers(const Tensor& packed, int64_t rows, int64_t depth, int64_t bits,
                                DataType type);
/// Packed as the weights are, each row in whole bytes; the middle of the range where there are
/// none.
Result<Tensor> packed_zero_points(const Tensor* packed, int64_t rows, int64_t blocks, int64_t bits);

}  // namespace tenon::importer
