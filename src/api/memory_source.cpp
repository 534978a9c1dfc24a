#include "api/memory_source.h"

#include <algorithm>

namespace tenon::api {
namespace {

/// Alignment of the device's own memory.
constexpr uint64_t kAlignment = 256;

}  // namespace

Result<DeviceBuffer> temporary_memory(nvinfer1::IGpuAllocator& allocator, size_t bytes,
                                      cudaStream_t stream) {
  void* memory = allocator.allocateAsync(std::max<size_t>(bytes, 1), kAlignment, 0, stream);
  if (memory == nullptr)
    return resource_error("the application's allocator gave no {} bytes", bytes);
  DeviceBuffer buffer(memory,
                      [&allocator, stream](void* p) { allocator.deallocateAsync(p, stream); });
  if (reinterpret_cast<uintptr_t>(memory) % kAlignment == 0) return buffer;
  return user_error("the application's allocator gave memory that is not aligned to {} bytes",
                    kAlignment);
}

MemorySource memory_of(nvinfer1::IGpuAllocator* allocator) {
  if (allocator == nullptr) return {};
  return [allocator](size_t bytes) { return temporary_memory(*allocator, bytes, nullptr); };
}

}  // namespace tenon::api
