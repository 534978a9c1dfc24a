#pragma once

#include "quantizer/onnx_layers.h"
#include "quantizer/onnx_model.h"

namespace tenon {

/// Makes the opset at least `version`, with the spelling of operators since then, in bodies of
/// loops and branches too. Numbers of nodes change.
Status raise_opset(OnnxModel& model, int64_t version, const OnnxTypes& types);

}  // namespace tenon
