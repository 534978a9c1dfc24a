#pragma once

#include <NvOnnxParser.h>

#include <string>

namespace reliability {

/// y = relu(x w) of two rows and columns, as a file of ONNX has it.
std::string small_model();

}  // namespace reliability
