#pragma once

#include "NvInferRuntime.h"
#include "kernels/constant_store.h"

namespace tenon::api {

/// Device memory by the application's allocator, one call at a time, whatever thread asks. Null
/// gives an empty source: the device's own memory.
MemorySource memory_of(nvinfer1::IGpuAllocator* allocator);

/// Memory of one run, which an asynchronous allocator gives and takes in the stream's order.
Result<DeviceBuffer> temporary_memory(nvinfer1::IGpuAllocator& allocator, size_t bytes,
                                      cudaStream_t stream);

}  // namespace tenon::api
