// CUDA's run time without a GPU, for programs that run over plans of the CPU: memory is the host's,
// copies copy at once, streams and events are in order by themselves. Graphs can be captured and
// hold nothing, so that a program that replays one runs nothing; kernels of the program's own do
// nothing either. tests/clients/run_all.py builds and uses it; nothing else does.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace {

using Clock = std::chrono::steady_clock;

struct Event {
  Clock::time_point time;
};

template <class Handle> Handle fresh() {
  return reinterpret_cast<Handle>(std::calloc(1, 64));
}

cudaError_t allocate(void** memory, size_t bytes) {
  *memory = std::aligned_alloc(256, (bytes + 256) / 256 * 256);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t release(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

}  // namespace

#define STAND_IN(name, parameters, ...)                                           \
  extern "C" __attribute__((visibility("default"))) cudaError_t name parameters { \
    __VA_ARGS__;                                                                  \
    return cudaSuccess;                                                           \
  }

STAND_IN(cudaMalloc, (void** memory, size_t bytes), return allocate(memory, bytes))
STAND_IN(cudaMallocHost, (void** memory, size_t bytes), return allocate(memory, bytes))
STAND_IN(cudaMallocManaged, (void** memory, size_t bytes, unsigned), return allocate(memory, bytes))
STAND_IN(cudaFree, (void* memory), return release(memory))
STAND_IN(cudaFreeHost, (void* memory), return release(memory))
STAND_IN(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind),
         if (bytes > 0) std::memmove(to, from, bytes))
STAND_IN(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t),
         if (bytes > 0) std::memmove(to, from, bytes))
STAND_IN(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t),
         std::memset(to, value, bytes))
STAND_IN(cudaMemset, (void* to, int value, size_t bytes), std::memset(to, value, bytes))
STAND_IN(cudaMemGetInfo, (size_t * free, size_t* total), *free = *total = size_t{1} << 33)
STAND_IN(cudaPointerGetAttributes, (cudaPointerAttributes * attributes, const void* memory),
         *attributes = {};
         attributes->type = cudaMemoryTypeUnregistered;
         attributes->hostPointer = const_cast<void*>(memory))

STAND_IN(cudaStreamCreate, (cudaStream_t * stream), *stream = fresh<cudaStream_t>())
STAND_IN(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned),
         *stream = fresh<cudaStream_t>())
STAND_IN(cudaStreamDestroy, (cudaStream_t stream), std::free(stream))
STAND_IN(cudaStreamSynchronize, (cudaStream_t))
STAND_IN(cudaDeviceSynchronize, (void))
STAND_IN(cudaStreamWaitEvent, (cudaStream_t, cudaEvent_t, unsigned))
STAND_IN(cudaLaunchHostFunc, (cudaStream_t, cudaHostFn_t function, void* data), function(data))
STAND_IN(cudaStreamIsCapturing, (cudaStream_t, cudaStreamCaptureStatus* status),
         *status = cudaStreamCaptureStatusNone)
STAND_IN(cudaStreamBeginCapture, (cudaStream_t, cudaStreamCaptureMode))
STAND_IN(cudaStreamEndCapture, (cudaStream_t, cudaGraph_t* graph), *graph = fresh<cudaGraph_t>())
STAND_IN(cudaGraphInstantiate, (cudaGraphExec_t * graph, cudaGraph_t, unsigned long long),
         *graph = fresh<cudaGraphExec_t>())
STAND_IN(cudaGraphLaunch, (cudaGraphExec_t, cudaStream_t))
STAND_IN(cudaGraphExecDestroy, (cudaGraphExec_t graph), std::free(graph))
STAND_IN(cudaGraphDestroy, (cudaGraph_t graph), std::free(graph))

STAND_IN(cudaEventCreate, (cudaEvent_t * event), *event = reinterpret_cast<cudaEvent_t>(new Event))
STAND_IN(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned),
         *event = reinterpret_cast<cudaEvent_t>(new Event))
STAND_IN(cudaEventDestroy, (cudaEvent_t event), delete reinterpret_cast<Event*>(event))
STAND_IN(cudaEventRecord, (cudaEvent_t event, cudaStream_t),
         reinterpret_cast<Event*>(event)->time = Clock::now())
STAND_IN(cudaEventSynchronize, (cudaEvent_t))
STAND_IN(cudaEventElapsedTime, (float* time, cudaEvent_t from, cudaEvent_t to),
         *time = std::chrono::duration<float, std::milli>(reinterpret_cast<Event*>(to)->time -
                                                          reinterpret_cast<Event*>(from)->time)
                     .count())

STAND_IN(cudaGetDeviceCount, (int* count), *count = 1)
STAND_IN(cudaGetDevice, (int* device), *device = 0)
STAND_IN(cudaSetDevice, (int device), if (device != 0) return cudaErrorInvalidDevice)
STAND_IN(cudaSetDeviceFlags, (unsigned))
STAND_IN(cudaDeviceSetLimit, (cudaLimit, size_t))
STAND_IN(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr, int), *value = 1)
STAND_IN(cudaGetDeviceProperties, (cudaDeviceProp * properties, int),
         std::memset(properties, 0, sizeof *properties);
         std::strcpy(properties->name, "the processor"); properties->major = 8;
         properties->multiProcessorCount = 1; properties->totalGlobalMem = size_t{1} << 33)
STAND_IN(cudaDriverGetVersion, (int* version), *version = CUDART_VERSION)
STAND_IN(cudaRuntimeGetVersion, (int* version), *version = CUDART_VERSION)
STAND_IN(cudaProfilerStart, (void))
STAND_IN(cudaProfilerStop, (void))
STAND_IN(cudaGetLastError, (void))
STAND_IN(cudaPeekAtLastError, (void))
extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaSuccess ? "no error" : "an error";
}

// Kernels that nvcc compiled into the program are never launched.
extern "C" __attribute__((visibility("default"))) void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
extern "C" __attribute__((visibility("default"))) void __cudaRegisterFatBinaryEnd(void**) {}
extern "C" __attribute__((visibility("default"))) void __cudaUnregisterFatBinary(void**) {}
extern "C" __attribute__((visibility("default"))) void __cudaRegisterFunction(void**, const char*,
                                                                              char*, const char*,
                                                                              int, void*, void*,
                                                                              void*, void*, int*) {}
extern "C" __attribute__((visibility("default"))) unsigned __cudaPushCallConfiguration(dim3, dim3,
                                                                                       size_t,
                                                                                       void*) {
  return 0;
}
STAND_IN(__cudaPopCallConfiguration, (dim3*, dim3*, size_t*, void*))
STAND_IN(__cudaLaunchKernel, (const void*, dim3, dim3, void**, size_t, cudaStream_t))
STAND_IN(__cudaGetKernel, (cudaKernel_t * kernel, const void*), *kernel = nullptr)
