#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace tenon {

/// Text of a device source of src/kernels ("rows/softmax.cu"), which the library carries: it lives
/// as long as the process.
Result<std::string_view> device_file(std::string_view path);
/// A copy of it.
Result<std::string> device_source(std::string_view path);

}  // namespace tenon
