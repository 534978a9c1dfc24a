#pragma once

#include <vector>

#include "base/status.h"

namespace google::protobuf {
template <class T> class RepeatedPtrField;
}
namespace onnx {
class NodeProto;
}

namespace tenon::importer {

/// Positions of the nodes so that each comes after the nodes whose results it (or a graph nested in
/// it) reads; independent nodes keep their order. Fails when two nodes give a value of one name, or
/// on a cycle, naming nodes of it.
Result<std::vector<int>> node_order(
    const ::google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes);

}  // namespace tenon::importer
