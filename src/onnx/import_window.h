#pragma once

#include <cstdint>
#include <vector>

#include "onnx/node_importer.h"
#include "ops/nn.h"

namespace tenon::importer {

/// Attribute auto_pad; VALID is explicit padding of zero.
PadMode pad_mode(NodeImporter& node);
/// Attribute pads, halved; empty where auto_pad overrules it.
void split_pads(NodeImporter& node, std::vector<int64_t>& begin, std::vector<int64_t>& end);
/// An image of any rank from channels last to channels first, or back.
Value* channels_moved(NodeImporter& node, Value* x, bool to_the_front);
/// By the attributes of Conv.
Conv convolution(NodeImporter& node);

}  // namespace tenon::importer
