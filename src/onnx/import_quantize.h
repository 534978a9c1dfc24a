#pragma once

#include "onnx/node_importer.h"

namespace tenon::importer {

/// `bytes` as reals. Scale and zero point are one for all or one for each position along `axis`,
/// each for itself, as operators on bytes have them; the zero point may be null.
Value* dequantized(NodeImporter& node, Value* bytes, Value* scale, Value* zero_point, int64_t axis);

}  // namespace tenon::importer
