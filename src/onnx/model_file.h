#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/status.h"

namespace onnx {
class ModelProto;
}

namespace tenon::importer {

/// The messages of a serialized model; refuses damaged, empty and absurdly deeply nested ones.
Result<std::shared_ptr<::onnx::ModelProto>> parse_model(std::span<const std::byte> bytes);

}  // namespace tenon::importer
