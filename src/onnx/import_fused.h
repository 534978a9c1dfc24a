#pragma once

#include "onnx/node_importer.h"

namespace tenon::importer {

/// By the attributes and operands of Gemm.
Value* gemm(NodeImporter& node);

}  // namespace tenon::importer
