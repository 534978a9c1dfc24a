#include "tenon/device.h"

#include <fmt/ranges.h>

#include <cstring>
#include <map>
#include <mutex>

#include "api/builder_config.h"
#include "api/context.h"
#include "api/engine.h"
#include "api/runtime.h"
#include "device/described_device.h"
#include "device/streams.h"
#include "kernels/backend.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

/// IGpu over the device of a backend; owns the objects it made until destroy().
class Gpu final : public IGpu {
 public:
  Gpu(const Backend& backend, nvinfer1::ILogger& logger)
      : device_(backend.device),
        other_libraries_(backend.other_libraries),
        streams_(*device_->streams()),
        reporter_(&logger) {}

  GpuDescription describe() const noexcept override {
    const DeviceProperties& properties = device_->properties();
    GpuDescription text{};
    std::strncpy(text.name, properties.name.c_str(), sizeof text.name - 1);
    std::strncpy(text.libraries, properties.libraries.c_str(), sizeof text.libraries - 1);
    if (other_libraries_ != nullptr)
      std::strncpy(text.others, other_libraries_().c_str(), sizeof text.others - 1);
    text.computeCapability = properties.compute_capability;
    text.multiprocessors = properties.compute_units;
    text.memoryBytes = static_cast<int64_t>(properties.memory_bytes);
    text.sharedMemoryPerBlock = static_cast<int64_t>(properties.shared_memory_per_block);
    std::strncpy(text.text, description_of(properties).c_str(), sizeof text.text - 1);
    const DeviceFacts facts = device_->facts();
    std::strncpy(text.all, fmt::format("{}", fmt::join(facts.all, "\n")).c_str(),
                 sizeof text.all - 1);
    text.index = facts.index;
    std::strncpy(text.uuid, facts.uuid.c_str(), sizeof text.uuid - 1);
    text.sharedMemoryPerMultiprocessor =
        static_cast<int64_t>(facts.shared_memory_per_multiprocessor);
    text.memoryBusBits = facts.memory_bus_bits;
    text.correctsMemory = facts.corrects_memory;
    text.clockGhz = static_cast<float>(facts.clock_ghz);
    text.memoryClockGhz = static_cast<float>(facts.memory_clock_ghz);
    return text;
  }

  void* allocate(size_t bytes) noexcept override { return keep(device_->allocate(bytes)); }
  void* allocatePinned(size_t bytes) noexcept override { return keep(streams_.make_pinned(bytes)); }
  cudaStream_t createStream() noexcept override {
    return static_cast<cudaStream_t>(keep(streams_.make_stream()));
  }
  cudaEvent_t createEvent(bool blocking) noexcept override {
    return static_cast<cudaEvent_t>(keep(streams_.make_event(true, blocking)));
  }
  void destroy(void* made) noexcept override {
    const std::lock_guard lock(mutex_);
    made_.erase(made);
  }

  bool copyAsync(void* to, const void* from, size_t bytes, cudaStream_t stream) noexcept override {
    return succeed(device_->copy(to, from, bytes, {nullptr, stream}));
  }
  bool record(cudaEvent_t event, cudaStream_t stream) noexcept override {
    return succeed(streams_.record(event, stream));
  }
  bool wait(cudaStream_t stream, cudaEvent_t event) noexcept override {
    return succeed(streams_.wait(stream, event));
  }
  bool synchronize(cudaEvent_t event) noexcept override {
    return succeed(streams_.synchronize_event(event));
  }
  bool synchronize(cudaStream_t stream) noexcept override {
    return succeed(streams_.synchronize_stream(stream));
  }
  float elapsed(cudaEvent_t start, cudaEvent_t end) noexcept override {
    const auto time = streams_.elapsed(start, end);
    if (time.ok()) return static_cast<float>(*time);
    reporter_.report(time.error());
    return -1;
  }

  void* capture(cudaStream_t stream, bool (*work)(void* context), void* context) noexcept override {
    return keep(streams_.capture(stream, [&]() -> Status {
      if (work(context)) return {};
      return user_error("the work that was to be captured failed");
    }));
  }
  bool launchGraph(void* graph, cudaStream_t stream) noexcept override {
    return succeed(streams_.launch_graph(graph, stream));
  }
  bool profile(bool on) noexcept override { return succeed(streams_.profile(on)); }

 private:
  bool succeed(const Status& status) noexcept {
    if (!status.ok()) reporter_.report(status.error());
    return status.ok();
  }
  void* keep(Result<DeviceHandle> made) noexcept {
    if (!made.ok()) {
      reporter_.report(made.error());
      return nullptr;
    }
    void* handle = made->get();
    const std::lock_guard lock(mutex_);
    made_.emplace(handle, std::move(*made));
    return handle;
  }

  std::shared_ptr<Device> device_;
  const std::string& (*other_libraries_)();
  Streams& streams_;
  network::Reporter reporter_;
  std::mutex mutex_;
  std::map<void*, DeviceHandle> made_;
};

}  // namespace

TENON_EXPORT bool setBuildDevice(nvinfer1::IBuilderConfig& config, int32_t device) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr || device < kDefaultDevice) return false;
  settings->set_device(device);
  return true;
}

TENON_EXPORT bool setBuildDeviceDescription(nvinfer1::IBuilderConfig& config,
                                            const char* text) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr || text == nullptr || !parse_description(text).ok()) return false;
  settings->set_device_description(text);
  return true;
}

TENON_EXPORT bool setRunDevice(nvinfer1::IRuntime& runtime, int32_t device) noexcept {
  auto* own = dynamic_cast<api::Runtime*>(&runtime);
  if (own == nullptr || device < kDefaultDevice) return false;
  own->set_device(device);
  return true;
}

TENON_EXPORT bool runsOnGpu(const nvinfer1::ICudaEngine& engine) noexcept {
  const auto* own = dynamic_cast<const api::EngineHandle*>(&engine);
  return own != nullptr && own->engine().plan().device == DeviceKind::kCuda;
}

TENON_EXPORT bool setGraphReplay(nvinfer1::IExecutionContext& context, bool replay) noexcept {
  auto* own = dynamic_cast<api::ContextHandle*>(&context);
  return own != nullptr && own->set_graph_replay(replay);
}

TENON_EXPORT IGpu* openGpu(int32_t device, nvinfer1::ILogger& logger) noexcept {
  auto backend = cuda_backend(std::max(device, -1));
  if (backend.ok()) return new Gpu(*backend, logger);
  network::Reporter(&logger).report(backend.error());
  return nullptr;
}

}  // namespace tenon
