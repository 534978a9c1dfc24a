#pragma once

#include "tools/report/json.h"

namespace tenon::tools {

/// Whether a file is one that --exportProfile or --exportLayerInfo writes, TensorRT's or ours.
bool is_exported_profile(const Json& json);
bool is_exported_layers(const Json& json);

/// The report that such files are enough for: layers in the order of the profile, with times, and,
/// where `layers` was given (else null), operands, tactics and the ONNX nodes that its metadata or
/// the layers' names tell of. `title` is for people.
Json foreign_report(std::string_view title, const Json& profile, const Json& layers);

/// The ONNX nodes in a layer's name as TensorRT composes them: "conv1 + relu1", "PWN(mul, add)",
/// "Reformatting CopyNode for Input Tensor 0 to conv1".
std::vector<std::string> origins_in_name(std::string_view name);

}  // namespace tenon::tools
