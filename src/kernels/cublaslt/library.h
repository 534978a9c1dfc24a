#pragma once

#include <memory>

#include "device/cuda/cublaslt.h"
#include "device/device.h"

namespace tenon::cublaslt {

/// cuBLASLt on one device. Its handle may be used by several threads at a time.
struct Library {
  const cuda::CublasLt* api = nullptr;
  cublasLtHandle_t handle = nullptr;

  Library() = default;
  Library(const Library&) = delete;
  ~Library();
};

/// The device's own, made on first use. The device must be an NVIDIA GPU.
Result<std::shared_ptr<const Library>> library_of(Device& device);

/// Makes it, and has it set up what its first product would wait for.
Status start(Device& device);

}  // namespace tenon::cublaslt
