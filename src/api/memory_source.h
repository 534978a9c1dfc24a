#pragma once

#include "NvInferRuntime.h"
#include "kernels/constant_store.h"

namespace tenon::api {

/// Device memory by the application's allocator, which several threads ask at once: no lock is held
/// around it, since it may wait for locks of its own, or end a context to have memory again. Null
/// gives an empty source: the device's own memory.
MemorySource memory_of(nvinfer1::IGpuAllocator* allocator);

/// Memory of one run, which an asynchronous allocator gives and takes in the stream's order.
Result<DeviceBuffer> temporary_memory(nvinfer1::IGpuAllocator& allocator, size_t bytes,
                                      cudaStream_t stream);

}  // namespace tenon::api
