// The few functions of CUDA's run time that tools such as Polygraphy call by name, for machines
// without a GPU: memory of the "device" is the host's, where plans for the CPU want it, and streams
// are in order because each call has ended when it returns. Built as libcudart.so in a folder of
// its own, and used only where someone puts that folder on LD_LIBRARY_PATH.
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#define TENON_HOST_CUDART extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0;
constexpr int kNoMemory = 2;
constexpr int kNoDevice = 100;
constexpr int kInvalidDevice = 101;
constexpr size_t kAlignment = 256;  // cudaMalloc's.

int stream_object;  // Something for handles of streams to point to.

int allocate(void** memory, size_t bytes) {
  *memory = std::aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment);
  return *memory == nullptr ? kNoMemory : kSuccess;
}

int copy(void* to, const void* from, size_t bytes) {
  if (bytes != 0) std::memmove(to, from, bytes);
  return kSuccess;
}

}  // namespace

TENON_HOST_CUDART int cudaMalloc(void** memory, size_t bytes) {
  return allocate(memory, bytes);
}
TENON_HOST_CUDART int cudaMallocHost(void** memory, size_t bytes) {
  return allocate(memory, bytes);
}
TENON_HOST_CUDART int cudaHostAlloc(void** memory, size_t bytes, unsigned /*flags*/) {
  return allocate(memory, bytes);
}
TENON_HOST_CUDART int cudaMallocAsync(void** memory, size_t bytes, void* /*stream*/) {
  return allocate(memory, bytes);
}
TENON_HOST_CUDART int cudaFree(void* memory) {
  std::free(memory);
  return kSuccess;
}
TENON_HOST_CUDART int cudaFreeHost(void* memory) {
  return cudaFree(memory);
}
TENON_HOST_CUDART int cudaFreeAsync(void* memory, void* /*stream*/) {
  return cudaFree(memory);
}
TENON_HOST_CUDART int cudaMemset(void* memory, int value, size_t bytes) {
  if (bytes != 0) std::memset(memory, value, bytes);
  return kSuccess;
}
TENON_HOST_CUDART int cudaMemsetAsync(void* memory, int value, size_t bytes, void* /*stream*/) {
  return cudaMemset(memory, value, bytes);
}
TENON_HOST_CUDART int cudaMemcpy(void* to, const void* from, size_t bytes, int /*kind*/) {
  return copy(to, from, bytes);
}
TENON_HOST_CUDART int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int /*kind*/,
                                      void* /*stream*/) {
  return copy(to, from, bytes);
}
TENON_HOST_CUDART int cudaStreamCreate(void** stream) {
  *stream = &stream_object;
  return kSuccess;
}
TENON_HOST_CUDART int cudaStreamCreateWithFlags(void** stream, unsigned /*flags*/) {
  return cudaStreamCreate(stream);
}
TENON_HOST_CUDART int cudaStreamDestroy(void* /*stream*/) {
  return kSuccess;
}
TENON_HOST_CUDART int cudaStreamSynchronize(void* /*stream*/) {
  return kSuccess;
}
TENON_HOST_CUDART int cudaDeviceSynchronize() {
  return kSuccess;
}
/// The CPU is the one device. PyTorch, which finds this library under its name, would launch
/// kernels of its own on it: for PyTorch there is none.
TENON_HOST_CUDART int cudaGetDeviceCount(int* count) {
  Dl_info caller{};
  const bool is_known = dladdr(__builtin_return_address(0), &caller) != 0;
  const bool is_pytorch = is_known && (std::strstr(caller.dli_fname, "libc10_cuda") != nullptr ||
                                       std::strstr(caller.dli_fname, "libtorch") != nullptr);
  *count = is_pytorch ? 0 : 1;
  return is_pytorch ? kNoDevice : kSuccess;
}
TENON_HOST_CUDART int cudaGetDevice(int* device) {
  *device = 0;
  return kSuccess;
}
TENON_HOST_CUDART int cudaSetDevice(int device) {
  return device == 0 ? kSuccess : kInvalidDevice;
}
TENON_HOST_CUDART int cudaPeekAtLastError() {
  return kSuccess;
}
TENON_HOST_CUDART int cudaGetLastError() {
  return kSuccess;
}
TENON_HOST_CUDART const char* cudaGetErrorString(int error) {
  switch (error) {
    case kSuccess: return "no error";
    case kInvalidDevice: return "invalid device ordinal";
    default: return "out of memory";
  }
}
