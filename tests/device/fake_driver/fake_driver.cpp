// libcuda.so.1 of a GPU that does not exist, for tests of everything around kernels: memory is the
// host's, copies copy, only kernels that tests/device/host_gpu has compiled do something, and
// any call can be made to fail. Counts live objects.
#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

/// The handle of a stream of high priority.
constexpr uintptr_t kUrgent = 0x99;

struct State {
  std::mutex mutex;
  std::map<std::string, int, std::less<>> calls;
  std::string failing;  ///< Function whose call number `at` fails with `code`.
  int at = -1;
  CUresult code = CUDA_SUCCESS;
  bool failed = false;
  std::map<void*, const char*> living;  ///< Handles and memory, with their kinds.
  int retained = 0;
  bool capturing = false, busy = false;
  bool invalidated = false;                          ///< The capture that is under way.
  std::map<void*, int> launches;                     ///< Of kernels, by stream.
  std::vector<std::pair<const char*, void*>> order;  ///< The work put on each stream.
  unsigned noise = 0;                                ///< In times; 0: none.
  int static_shared = 0;                             ///< Bytes of shared memory of each kernel.
  int capability = 80;
  size_t free = 0;           ///< Bytes of memory; 0: all.
  unsigned most_shared = 0;  ///< Dynamic, of the launches.
};

/// Calls of kinds that came before take no memory: tests count what the library takes.
State& state() {
  static State& the_state = [&]() -> State& {
    static State made;
    made.order.reserve(size_t{1} << 16);
    return made;
  }();
  return the_state;
}

thread_local CUcontext current = nullptr;

int& count_of(std::string_view what) {
  const auto known = state().calls.find(what);
  return known != state().calls.end() ? known->second : state().calls[std::string(what)];
}

/// Notes a call; the error that it is to give.
CUresult called(const char* function) {
  const std::lock_guard lock(state().mutex);
  const int number = count_of(function)++;
  if (state().failing != function || number != state().at) return CUDA_SUCCESS;
  state().failed = true;
  return state().code;
}

void put(const char* what, void* stream) {
  const std::lock_guard lock(state().mutex);
  state().order.emplace_back(what, stream);
}

template <class Handle> void make(Handle* handle, const char* what, size_t bytes = 16) {
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0, bytes);
  const std::lock_guard lock(state().mutex);
  state().living[memory] = what;
  *handle = reinterpret_cast<Handle>(memory);
}

/// As the driver does: nothing without a context, or behind its end.
template <class Handle> void destroy(Handle handle) {
  if (current == nullptr || state().retained == 0) return;
  void* memory = reinterpret_cast<void*>(handle);
  const std::lock_guard lock(state().mutex);
  if (state().living.erase(memory) > 0) std::free(memory);
}

/// The library waits for work on streams of its own.
bool is_captured(CUstream stream) {
  const std::lock_guard lock(state().mutex);
  return state().capturing && stream != nullptr && !state().living.contains(stream);
}

void* host(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

/// The more streams there are, the faster everything goes; with noise, how long it takes is chance.
float elapsed() {
  const std::lock_guard lock(state().mutex);
  if (unsigned& noise = state().noise; noise != 0) {
    noise = noise * 1664525U + 1013904223U;
    return 0.02F + static_cast<float>(noise >> 16) * 1e-6F;
  }
  int streams = 0;
  for (const auto& [handle, what] : state().living)
    streams += std::strcmp(what, "a stream") == 0 ? 1 : 0;
  return 0.1F / static_cast<float>(1 + streams);
}

/// What some GPUs have: a T4, A100, A10, Orin, L40, H100, B200 and RTX 5090.
struct Model {
  int capability, multiprocessors, shared;
};
constexpr Model kModels[] = {{75, 40, 65536},    {80, 108, 166912}, {86, 72, 101376},
                             {87, 16, 166912},   {89, 142, 101376}, {90, 132, 232448},
                             {100, 148, 232448}, {120, 170, 101376}};

const Model& model() {
  return *std::ranges::find(kModels, state().capability, &Model::capability);
}

int attribute_value(CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return state().capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return state().capability % 10;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return model().multiprocessors;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return model().shared;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return 50 << 20;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return 5120;
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED: return 1;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1410000;
    default: return 0;
  }
}

/// Modules whose code is the host's (tests/device/host_gpu/host_nvrtc.cpp), one launch at a time.
class HostModules {
 public:
  /// Null where it is not.
  static void* open(const char* image) {
    constexpr char kX86 = 62;
    if (std::memcmp(image, "\177ELF", 4) != 0 || image[18] != kX86) return nullptr;
    static int number = 0;
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() /
        ("host_module." + std::to_string(getpid()) + "." + std::to_string(number++));
    std::ofstream(file, std::ios::binary).write(image, size_of(image));
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::filesystem::remove(file);
    return library;
  }
  void add(void* module, void* library) {
    const std::lock_guard lock(mutex_);
    modules_[module] = {library, nullptr};
  }
  bool contains(void* module) const {
    const std::lock_guard lock(mutex_);
    return modules_.contains(module);
  }
  void* symbol(void* module, const std::string& name) {
    const std::lock_guard lock(mutex_);
    return dlsym(modules_[module].library, name.c_str());
  }
  /// A module has one kernel, whose handle is the module's.
  bool take_kernel(void* module, const char* name) {
    const auto launch =
        reinterpret_cast<Launch>(symbol(module, std::string("host_launch_") + name));
    const std::lock_guard lock(mutex_);
    modules_[module].launch = launch;
    return launch != nullptr;
  }
  /// True where the kernel has nothing to do or did it.
  bool run(void* module, const CUlaunchConfig& c, void** parameters) {
    const std::lock_guard lock(mutex_);
    const auto found = modules_.find(module);
    if (found == modules_.end()) return true;
    const Grid grid{{c.gridDimX, c.gridDimY, c.gridDimZ},
                    {c.blockDimX, c.blockDimY, c.blockDimZ},
                    c.sharedMemBytes};
    const char* what =
        has_clusters(c) ? "clusters of blocks" : found->second.launch(grid, parameters);
    if (what != nullptr) std::fprintf(stderr, "not on the host: %s\n", what);
    return what == nullptr;
  }

 private:
  struct Grid {
    unsigned grid[3], block[3], shared;
  };
  using Launch = const char* (*)(const Grid&, void**);
  struct Module {
    void* library;
    Launch launch;
  };
  /// Tables of sections end the file.
  static std::streamsize size_of(const char* image) {
    uint64_t sections = 0;
    uint16_t size = 0, count = 0;
    std::memcpy(&sections, image + 40, sizeof sections);
    std::memcpy(&size, image + 58, sizeof size);
    std::memcpy(&count, image + 60, sizeof count);
    return static_cast<std::streamsize>(sections + uint64_t{size} * count);
  }
  static bool has_clusters(const CUlaunchConfig& config) {
    return std::any_of(config.attrs, config.attrs + config.numAttrs, [](const auto& attribute) {
      return attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
             attribute.value.clusterDim.x > 1;
    });
  }
  mutable std::mutex mutex_;
  std::map<void*, Module> modules_;
};
HostModules& host_modules() {
  static HostModules modules;
  return modules;
}

/// As drivers do: machine code runs on GPUs of its generation that are not older, assembly on any
/// that is not older. Tests also load bytes that are neither.
bool runs_here(const unsigned char* image) {
  const std::string_view text(reinterpret_cast<const char*>(image), 4);
  const int here = state().capability;
  if (text == "\177ELF") {
    uint32_t flags = 0;
    std::memcpy(&flags, image + 48, sizeof flags);
    const bool is_new = image[8] >= 8;  // The version of the format moved the number.
    const int code = static_cast<int>(is_new ? flags >> 8 & 0xff : flags & 0xff);
    return code / 10 == here / 10 && code <= here;
  }
  const char* const target = std::strstr(reinterpret_cast<const char*>(image), ".target sm_");
  return target == nullptr || std::atoi(target + std::strlen(".target sm_")) <= here;
}

}  // namespace

#define FAKE(name, parameters, ...)                                            \
  extern "C" __attribute__((visibility("default"))) CUresult name parameters { \
    const CUresult fake_code = called(__func__);                               \
    __VA_ARGS__                                                                \
    return fake_code;                                                          \
  }
/// Makes nothing where the call is to fail.
#define UNLESS_FAILING(statement)  \
  if (fake_code == CUDA_SUCCESS) { \
    statement;                     \
  }

/// FAKE_DRIVER_INIT: the code that starting it gives.
/// FAKE_DRIVER_CAPABILITY: as fake_driver_become(), for programs.
FAKE(cuInit, (unsigned),
     if (const char* capability = std::getenv("FAKE_DRIVER_CAPABILITY"); capability != nullptr)
         state()
             .capability = std::atoi(capability);
     if (const char* code = std::getenv("FAKE_DRIVER_INIT");
         code != nullptr) return static_cast<CUresult>(std::atoi(code));)
FAKE(cuDriverGetVersion, (int* version), *version = 13000;)
FAKE(cuGetErrorName, (CUresult, const char** text), *text = "CUDA_ERROR_OF_A_TEST";)
FAKE(cuGetErrorString, (CUresult, const char** text), *text = "an error of a test";)
FAKE(cuDeviceGet, (CUdevice * device, int), *device = 0;)
FAKE(cuDeviceGetCount, (int* count), *count = 1;)
FAKE(cuDeviceGetName, (char* name, int size, CUdevice),
     std::strncpy(name, "a GPU of a test", size);)
FAKE(cuDeviceGetUuid, (CUuuid * id, CUdevice), std::memset(id->bytes, 0x1f, sizeof id->bytes);)
FAKE(cuCtxGetDevice, (CUdevice * device), *device = 0;)
FAKE(cuDeviceGetAttribute, (int* value, CUdevice_attribute which, CUdevice),
     *value = attribute_value(which);)
FAKE(cuDeviceTotalMem, (size_t * bytes, CUdevice), *bytes = size_t{1} << 33;)
FAKE(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice), UNLESS_FAILING({
       ++state().retained;
       *context = reinterpret_cast<CUcontext>(&state());
     }))
FAKE(cuDevicePrimaryCtxRelease, (CUdevice), --state().retained;)
FAKE(cuCtxGetId, (CUcontext, unsigned long long* number), *number = 1;)
FAKE(cuCtxGetCurrent, (CUcontext * context), *context = current;)
FAKE(cuCtxSetCurrent, (CUcontext context), UNLESS_FAILING(current = context))
FAKE(cuProfilerStart, (void))
FAKE(cuProfilerStop, (void))
FAKE(cuMemAlloc, (CUdeviceptr * memory, size_t bytes),
     UNLESS_FAILING(make(memory, "memory", bytes)))
FAKE(cuMemFree, (CUdeviceptr memory), destroy(memory);)
FAKE(cuMemGetInfo, (size_t * free, size_t* total), *total = size_t{1} << 33;
     *free = state().free == 0 ? *total : state().free;)
FAKE(cuMemHostAlloc, (void** memory, size_t bytes, unsigned),
     UNLESS_FAILING(make(memory, "pinned memory", bytes)))
FAKE(cuMemFreeHost, (void* memory), destroy(memory);)
FAKE(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
     UNLESS_FAILING({
       put("copy", stream);
       std::memmove(host(to), host(from), bytes);
     }))
FAKE(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream),
     UNLESS_FAILING(std::memset(host(to), value, bytes)))
FAKE(cuStreamCreate, (CUstream * stream, unsigned), UNLESS_FAILING(make(stream, "a stream")))
FAKE(cuStreamDestroy, (CUstream stream), destroy(stream);)
FAKE(
    cuStreamSynchronize, (CUstream stream), if (is_captured(stream)) {
      state().invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    })
FAKE(cuStreamWaitEvent, (CUstream stream, CUevent, unsigned), put("wait", stream);)
FAKE(cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus* status),
     *status = state().capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;)
FAKE(cuStreamGetPriority, (CUstream stream, int* priority),
     *priority = reinterpret_cast<uintptr_t>(stream) == kUrgent ? -1 : 0;)
FAKE(cuStreamBeginCapture, (CUstream, CUstreamCaptureMode),
     UNLESS_FAILING(state().capturing = true))
FAKE(cuStreamEndCapture, (CUstream, CUgraph* graph), state().capturing = false; *graph = nullptr;
     if (std::exchange(state().invalidated, false)) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
     UNLESS_FAILING(make(graph, "a graph")))
FAKE(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode*))
FAKE(cuEventCreate, (CUevent * event, unsigned flags), UNLESS_FAILING({
       make(event, "an event");
       if ((flags & CU_EVENT_BLOCKING_SYNC) != 0) called("blocking event");
     }))
FAKE(cuEventDestroy, (CUevent event), destroy(event);)
FAKE(cuEventRecord, (CUevent, CUstream stream), put("record", stream);)
FAKE(cuEventRecordWithFlags, (CUevent, CUstream, unsigned))
FAKE(cuEventSynchronize, (CUevent))
FAKE(cuEventQuery, (CUevent), if (state().busy) return CUDA_ERROR_NOT_READY;)
FAKE(cuEventElapsedTime, (float* time, CUevent, CUevent), *time = elapsed();)
FAKE(cuGraphInstantiate, (CUgraphExec * graph, CUgraph, unsigned long long),
     UNLESS_FAILING(make(graph, "an executable graph")))
FAKE(cuGraphLaunch, (CUgraphExec, CUstream stream), put("graph", stream);)
FAKE(cuGraphExecDestroy, (CUgraphExec graph), destroy(graph);)
FAKE(cuGraphDestroy, (CUgraph graph), destroy(graph);)
FAKE(
    cuModuleLoadData, (CUmodule * module, const void* image),
    if (void* library = HostModules::open(static_cast<const char*>(image)); library != nullptr) {
      make(module, "a module");
      host_modules().add(*module, library);
      return CUDA_SUCCESS;
    } if (!runs_here(static_cast<const unsigned char*>(image))) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    UNLESS_FAILING(make(module, "a module")))
FAKE(cuModuleUnload, (CUmodule module), destroy(module);)
FAKE(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name),
     *function = reinterpret_cast<CUfunction>(module);
     if (host_modules().contains(module) &&
         !host_modules().take_kernel(module, name)) return CUDA_ERROR_NOT_FOUND;)
FAKE(cuModuleGetGlobal, (CUdeviceptr * address, size_t* bytes, CUmodule module, const char* name),
     *address = reinterpret_cast<CUdeviceptr>(host_modules().contains(module)
                                                  ? host_modules().symbol(module, name)
                                                  : module);
     if (*address == 0) return CUDA_ERROR_NOT_FOUND; if (bytes != nullptr) * bytes = 16;)
FAKE(cuFuncSetAttribute, (CUfunction, CUfunction_attribute, int))
FAKE(cuFuncGetAttribute, (int* value, CUfunction_attribute which, CUfunction),
     *value = which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? state().static_shared : 0;)
FAKE(cuLaunchKernelEx,
     (const CUlaunchConfig* config, CUfunction function, void** parameters, void**),
     UNLESS_FAILING({
       if (!host_modules().run(function, *config, parameters)) return CUDA_ERROR_NOT_SUPPORTED;
       const std::lock_guard lock(state().mutex);
       count_of("kernel in a graph") += state().capturing ? 1 : 0;
       ++state().launches[config->hStream];
       state().order.emplace_back("kernel", config->hStream);
       state().most_shared = std::max(state().most_shared, config->sharedMemBytes);
       // The library ends the list with a null.
       for (; *parameters != nullptr; ++parameters)
         count_of("null in a launch") += *static_cast<void**>(*parameters) == nullptr ? 1 : 0;
     }))
FAKE(cuOccupancyMaxActiveClusters, (int* clusters, CUfunction, const CUlaunchConfig*),
     *clusters = 1;)
FAKE(cuTensorMapEncodeTiled,
     (CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
      const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
      CUtensorMapL2promotion, CUtensorMapFloatOOBfill))
FAKE(cuTensorMapEncodeIm2col,
     (CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
      const int*, const int*, cuuint32_t, cuuint32_t, const cuuint32_t*, CUtensorMapInterleave,
      CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill))

/// Functions that NVRTC asks a driver for, and does without.
extern "C" __attribute__((visibility("default"))) CUresult cuGetExportTable(const void**,
                                                                            const CUuuid*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

/// Forgets calls; the call number `at` from now on of `function` (as the symbol is called) fails.
extern "C" __attribute__((visibility("default"))) void fake_driver_fail(const char* function,
                                                                        int at, int code) {
  const std::lock_guard lock(state().mutex);
  state().calls.clear();
  state().launches.clear();
  state().order.clear();
  state().failing = function == nullptr ? "" : function;
  state().at = at;
  state().code = static_cast<CUresult>(code);
  state().failed = false;
}
/// Compute capability of GPUs that are opened from now on: 86 for 8.6.
extern "C" __attribute__((visibility("default"))) void fake_driver_become(int capability) {
  state().capability = capability;
}
/// All streams say that they are being captured, or not.
extern "C" __attribute__((visibility("default"))) void fake_driver_capture(bool capturing) {
  state().capturing = capturing;
}
/// Whether something was done that no capture takes, since this was asked.
extern "C" __attribute__((visibility("default"))) bool fake_driver_invalidated() {
  return std::exchange(state().invalidated, false);
}
/// Nothing that was put on any stream has ended, as far as events say.
extern "C" __attribute__((visibility("default"))) void fake_driver_stay_busy(bool busy) {
  state().busy = busy;
}
/// From now on times are numbers of chance that follow from `seed`; 0: they are not.
extern "C" __attribute__((visibility("default"))) void fake_driver_make_noise(unsigned seed) {
  const std::lock_guard lock(state().mutex);
  state().noise = seed;
}
/// The most dynamic shared memory that a launch took since the last call, and the static part of
/// kernels from now on.
extern "C" __attribute__((visibility("default"))) unsigned fake_driver_shared(int more) {
  const std::lock_guard lock(state().mutex);
  state().static_shared = more;
  return std::exchange(state().most_shared, 0U);
}
/// So much memory is free from now on; 0: all.
extern "C" __attribute__((visibility("default"))) void fake_driver_leave_free(size_t bytes) {
  state().free = bytes;
}
/// Kernels that were put on the stream since.
extern "C" __attribute__((visibility("default"))) int fake_driver_launches(void* stream) {
  const std::lock_guard lock(state().mutex);
  return state().launches[stream];
}
/// The work put on streams since, in order: "copy 0\nwait 1\n", streams being numbered as they
/// come. The text lives until the next call.
extern "C" __attribute__((visibility("default"))) const char* fake_driver_order() {
  static std::string text;
  text.clear();
  std::vector<void*> streams;
  const std::lock_guard lock(state().mutex);
  for (const auto& [what, stream] : state().order) {
    const auto found = std::find(streams.begin(), streams.end(), stream);
    text.append(what).append(" ").append(std::to_string(found - streams.begin())).append("\n");
    if (found == streams.end()) streams.push_back(stream);
  }
  return text.c_str();
}
/// Calls of a function since.
extern "C" __attribute__((visibility("default"))) int fake_driver_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls[function];
}
/// Whether a call failed since.
extern "C" __attribute__((visibility("default"))) bool fake_driver_failed() {
  return state().failed;
}
/// The live objects, as text: "2 memory, 1 a stream".
extern "C" __attribute__((visibility("default"))) int fake_driver_living() {
  const std::lock_guard lock(state().mutex);
  return static_cast<int>(state().living.size());
}
