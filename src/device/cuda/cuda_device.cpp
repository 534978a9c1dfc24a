#include "device/cuda/cuda_device.h"

#include <future>

#include "base/stopwatch.h"
#include "device/cuda/cublaslt.h"
#include "device/cuda/cudnn.h"
#include "device/cuda/driver.h"
#include "device/cuda/lasting_context.h"
#include "device/cuda/nvrtc.h"
#include "device/open_extents.h"

namespace tenon::cuda {
namespace {

CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
CUstream stream_of(Queue queue) {
  return static_cast<CUstream>(queue.stream);
}

template <class Table> std::string version_of(const Result<const Table*>& table) {
  return table.ok() ? (*table)->version : "none";
}

int current_ordinal() {
  CUcontext context = nullptr;
  if (driver().cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return 0;
  CUdevice device = 0;  // The driver's devices are their numbers.
  return driver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : 0;
}

constexpr const char* kFence = R"(extern "C" __global__ void tenon_fence() {})";
/// Declared by the prelude of kernels/jit.
constexpr const char* kLetsNextStart = "tenon_lets_next_start";
constexpr int kFirstThatLets = 90;

/// Under it a module is kept. Who refuses a plan's code must not get it from the one who did not.
std::string module_key(std::string source, bool lets_next_start,
                       const std::optional<CodeLibrary::Code>& known) {
  if (lets_next_start) source += " lets the next start";
  if (!known) return source;
  source += " is ";
  for (const uint64_t half : {known->hash_high, known->hash_low})
    source.append(reinterpret_cast<const char*>(&half), sizeof half);
  return source;
}

/// The same as drivers compile it, for where there is neither the plan's code nor NVRTC.
constexpr char kAssembledFence[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry tenon_fence() { ret; }\n";

}  // namespace

Result<std::shared_ptr<CudaDevice>> CudaDevice::open(int ordinal) {
  TENON_TRY(load_driver());
  // Libraries are large: they are opened while the driver makes the context.
  const auto opening = std::async(std::launch::async, [] {
    return load_nvrtc().ok() && load_cublaslt().ok() && load_cudnn().ok();
  });
  if (ordinal < 0) ordinal = current_ordinal();
  int count = 0;
  TENON_DRIVER(cuDeviceGetCount, &count);
  if (count == 0) return unsupported("the NVIDIA driver finds no GPU");
  if (ordinal < 0 || ordinal >= count)
    return user_error("device {} does not exist: there are {} NVIDIA GPUs", ordinal, count);
  auto device = std::shared_ptr<CudaDevice>(new CudaDevice());
  TENON_TRY(device->read_properties(ordinal));
  TENON_DRIVER(cuDevicePrimaryCtxRetain, &device->context_, device->device_);
  TENON_TRY(keep_context(device->device_, device->context_));
  TENON_TRY(device->activate());
  device->read_library_versions();
  prepare_ranges();
  return device;
}

CudaDevice::~CudaDevice() {
  // While the context is there.
  {
    const ContextScope scope(context_);
    attachments_.clear();
    fence_module_.reset();
    modules_.clear();
  }
  if (context_ != nullptr) driver().cuDevicePrimaryCtxRelease(device_);
}

Status CudaDevice::read_properties(int ordinal) {
  TENON_DRIVER(cuDeviceGet, &device_, ordinal);
  char name[256] = "";
  TENON_DRIVER(cuDeviceGetName, name, sizeof name, device_);
  int major = 0, minor = 0, multiprocessors = 0, shared = 0, cache = 0;
  TENON_DRIVER(cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_);
  TENON_DRIVER(cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device_);
  TENON_DRIVER(cuDeviceGetAttribute, &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
               device_);
  TENON_DRIVER(cuDeviceGetAttribute, &shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
               device_);
  TENON_DRIVER(cuDeviceGetAttribute, &cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device_);
  TENON_DRIVER(cuDeviceTotalMem, &properties_.memory_bytes, device_);
  properties_.kind = DeviceKind::kCuda;
  properties_.name = name;
  properties_.compute_capability = major * 10 + minor;
  properties_.architecture = fmt::format("sm_{}", properties_.compute_capability);
  properties_.compute_units = multiprocessors;
  properties_.shared_memory_per_block = static_cast<size_t>(shared);
  properties_.cache_bytes = static_cast<size_t>(cache);
  properties_.native_fp16 = properties_.compute_capability >= 70;
  properties_.native_bf16 = properties_.compute_capability >= 80;
  return {};
}

void CudaDevice::stand_for(const DeviceFamily& family) {
  if (!own_) own_ = properties_;
  properties_ = shared_properties(*own_, family);
}

CodeTarget CudaDevice::target() const {
  if (!own_) return capability();
  return family_target(properties_.compute_capability, own_->compute_capability);
}

DeviceFacts CudaDevice::facts() const {
  DeviceFacts facts;
  int count = 0;
  driver().cuDeviceGetCount(&count);
  for (CUdevice i = 0; i < count; ++i) {
    char name[256] = "";
    if (driver().cuDeviceGetName(name, sizeof name, i) == CUDA_SUCCESS)
      facts.all.emplace_back(name);
  }
  facts.index = device_;
  if (CUuuid id{}; driver().cuDeviceGetUuid(&id, device_) == CUDA_SUCCESS) {
    facts.uuid = "GPU-";
    for (size_t i = 0; i < sizeof id.bytes; ++i)
      facts.uuid += fmt::format("{}{:02x}", i >= 4 && i <= 10 && i % 2 == 0 ? "-" : "",
                                static_cast<unsigned char>(id.bytes[i]));
  }
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    return driver().cuDeviceGetAttribute(&value, which, device_) == CUDA_SUCCESS ? value : 0;
  };
  facts.shared_memory_per_multiprocessor =
      static_cast<size_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  facts.memory_bus_bits = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  facts.corrects_memory = attribute(CU_DEVICE_ATTRIBUTE_ECC_ENABLED) != 0;
  facts.clock_ghz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1e6;
  facts.memory_clock_ghz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1e6;
  return facts;
}

CodeWork CudaDevice::code_work() const {
  CodeWork work = compiler_work();
  work.loaded = loaded_;
  work.load_seconds = static_cast<double>(load_nanoseconds_) * 1e-9;
  return work;
}

size_t CudaDevice::shared_cache_bytes() const {
  return (own_ ? *own_ : properties_).cache_bytes;
}

void CudaDevice::read_library_versions() {
  properties_.libraries =
      fmt::format("driver {}.{}, nvrtc {}, cublasLt {}, cudnn {}", driver().version / 1000,
                  driver().version % 1000 / 10, version_of(load_nvrtc()),
                  version_of(load_cublaslt()), version_of(load_cudnn()));
}

Status CudaDevice::activate() {
  CUcontext current = nullptr;
  TENON_DRIVER(cuCtxGetCurrent, &current);
  if (current != context_) TENON_DRIVER(cuCtxSetCurrent, context_);
  return {};
}

Result<DeviceBuffer> CudaDevice::allocate(size_t bytes) {
  TENON_TRY(activate());
  CUdeviceptr memory = 0;
  const CUresult code = driver().cuMemAlloc(&memory, std::max<size_t>(bytes, 1));
  if (code == CUDA_ERROR_OUT_OF_MEMORY)
    return resource_error(
        "{} bytes could not be allocated on {}: its memory is used up; use smaller batches, fewer "
        "contexts or a lower workspace limit, or free memory of other programs",
        bytes, properties_.name);
  if (code != CUDA_SUCCESS) return driver_error(code, "cuMemAlloc");
  return owned(memory, driver().cuMemFree);
}

Status CudaDevice::upload(void* device, const void* host, size_t bytes, Queue queue) {
  return copy(device, host, bytes, queue);
}

Status CudaDevice::download(void* host, const void* device, size_t bytes, Queue queue) {
  return copy(host, device, bytes, queue);
}

Status CudaDevice::copy(void* to, const void* from, size_t bytes, Queue queue) {
  TENON_TRY(activate());
  // Addresses say themselves whether they are the host's.
  if (bytes > 0) TENON_DRIVER(cuMemcpyAsync, address(to), address(from), bytes, stream_of(queue));
  return {};
}

Status CudaDevice::synchronize(Queue queue) {
  return synchronize_stream(queue.stream);
}

Result<DeviceBuffer> CudaDevice::upload_constant(const void* host, size_t bytes) {
  TENON_ASSIGN(DeviceBuffer buffer, allocate(bytes));
  TENON_TRY(upload(buffer.get(), host, bytes, {}));
  TENON_TRY(synchronize({}));
  return buffer;
}

Result<std::shared_ptr<const Module>> CudaDevice::module(const DeviceCode& code,
                                                         CodeLibrary* library,
                                                         const std::string& known_key) {
  const std::string source = known_key.empty() ? source_hash(code, target()) : known_key;
  std::optional<CodeLibrary::Code> known;
  if (library != nullptr) known = library->find(source);
  if (library != nullptr && library->collects())
    TENON_TRY(collect_device_code(code, target(), *library));
  TENON_TRY(activate());
  const auto load = [&]() -> ModuleCache::Loaded {
    if (known) return load_module(known->text(), code.lets_next_start);
    TENON_ASSIGN(const std::string compiled, compile_device_code(code, target()));
    return load_module(compiled, code.lets_next_start);
  };
  return modules_.find(module_key(source, code.lets_next_start, known), load);
}

Result<std::shared_ptr<const void>> CudaDevice::load_code(const CodeLibrary& code) {
  TENON_TRY(activate());
  auto loaded = std::make_shared<std::vector<std::shared_ptr<const Module>>>();
  const auto load = [&](const std::string& source, const CodeLibrary::Code& one,
                        bool lets) -> Status {
    TENON_ASSIGN(auto module, modules_.find(module_key(source, lets, one),
                                            [&] { return load_module(one.text(), lets); }));
    loaded->push_back(std::move(module));
    return {};
  };
  Status status;
  code.for_each([&](const std::string& source, const CodeLibrary::Code& one) {
    if (source == kAllAxesAreOpen || !is_for(source, target())) return;
    if (status.ok()) status = load(source, one, false);
    const bool may_let = status.ok() && capability() >= kFirstThatLets &&
                         loaded->back()->variable(kLetsNextStart) != nullptr;
    if (may_let) status = load(source, one, true);
  });
  TENON_TRY(std::move(status));
  // Drivers load functions when these are first asked for.
  for (const auto& module : *loaded) static_cast<void>(module->kernel(0).ok());
  return std::shared_ptr<const void>(std::move(loaded));
}

Status CudaDevice::prepare_fence(CodeLibrary* library) {
  const DeviceCode code{"fence", kFence, {}, {}, false};
  if (library != nullptr && library->collects())
    TENON_TRY(collect_device_code(code, target(), *library));
  const std::lock_guard lock(fence_mutex_);
  if (fence_module_ != nullptr) return {};
  TENON_TRY(activate());
  ModuleCache::Loaded made = module(code, library);
  // Not every driver compiles.
  if (!made.ok()) made = Module::load({kAssembledFence, sizeof kAssembledFence});
  TENON_ASSIGN(const auto loaded, std::move(made));
  TENON_ASSIGN(fence_, loaded->function("tenon_fence"));
  fence_module_ = loaded;
  return {};
}

Status CudaDevice::fence(Queue queue) {
  return fence_.launch({}, queue.stream);
}

ModuleCache::Loaded CudaDevice::load_module(std::string_view binary, bool lets_next_start) {
  Stopwatch watch;
  TENON_ASSIGN(std::shared_ptr<const Module> loaded, Module::load(binary));
  ++loaded_;
  load_nanoseconds_ += static_cast<int64_t>(watch.lap() * 1e9);
  if (!lets_next_start) return loaded;
  if (void* const flag = loaded->variable(kLetsNextStart)) {
    constexpr unsigned kYes = 1;
    TENON_TRY(upload(flag, &kYes, sizeof(kYes), {}));
    TENON_TRY(synchronize({}));
  }
  return loaded;
}

}  // namespace tenon::cuda
