#include "api/memory_source.h"

#include <algorithm>
#include <memory>
#include <mutex>

namespace tenon::api {
namespace {

/// What the device's own memory is aligned to.
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
  // Kernels are made, and their weights copied, by several threads. An allocator that has no memory
  // left may end a context for it, which gives its memory back in the middle of the call.
  return [allocator,
          mutex = std::make_shared<std::recursive_mutex>()](size_t bytes) -> Result<DeviceBuffer> {
    const std::lock_guard lock(*mutex);
    TENON_ASSIGN(DeviceBuffer given, temporary_memory(*allocator, bytes, nullptr));
    void* const memory = given.release();
    return DeviceBuffer(memory, [mutex, give_back = given.get_deleter()](void* p) {
      const std::lock_guard lock(*mutex);
      give_back(p);
    });
  };
}

}  // namespace tenon::api
