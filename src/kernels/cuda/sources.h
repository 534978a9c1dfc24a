#pragma once

#include <span>

#include "device/cuda/compiler.h"

namespace tenon::cuda {

/// Every .cu and .cuh file below src/kernels, by its path below src: "kernels/rows/softmax.cu".
std::span<const SourceFile> device_sources();

}  // namespace tenon::cuda
