#pragma once

#include <string>

#include "base/status.h"

namespace onnx {
class ModelProto;
}

namespace tenon::importer {

/// Where the contents of initializers of a KiB and more go.
enum class WeightPlace {
  kWhereThereIsRoom,  ///< Into the model; beside it where protobuf's 2 GiB could end.
  kBeside,            ///< To the file `path`.data: external data, aligned to pages.
};

/// Writes the model to `path`. Weights that go beside it leave the message.
Status write_model(::onnx::ModelProto& model, const std::string& path, WeightPlace place);

}  // namespace tenon::importer
