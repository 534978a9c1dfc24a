#pragma once

#include "kernels/sized.h"

namespace tenon {

/// Of a plugin that declares size tensors: it runs into memory for the upper bounds, and the filled
/// part is copied. Unsupported for every other node.
Result<std::unique_ptr<SizedKernel>> make_plugin_sized_kernel(const Problem& problem);

}  // namespace tenon
