#pragma once

#include <string>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon::importer {

/// Writes a graph, at whatever level before kernels are chosen, as an ONNX model to `path`. Fused
/// regions become local functions of the domain "tenon", named after the region, of standard
/// operators; attention, rotary embedding and RMS normalization become such functions too. Weights
/// that protobuf has no room for (from 1 GiB together) go to a file `path`.data beside it. Fails
/// where nodes have no form in ONNX, naming all of them, and where files cannot be written.
Status export_model(const Graph& graph, const std::string& path);

}  // namespace tenon::importer
