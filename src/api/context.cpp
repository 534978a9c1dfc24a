#include "api/context.h"

#include <algorithm>

#include "api/memory_source.h"
#include "base/guard.h"
#include "base/stop.h"
#include "device/streams.h"
#include "network/convert.h"
#include "ops/structure.h"
#include "plugin/collective.h"

namespace tenon::api {
namespace {

bool has_collective(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const auto& node) {
    const auto* op = node->template as<Plugin>();
    return (op != nullptr && op->space == plugin::kOwnSpace) ||
           std::ranges::any_of(node->bodies,
                               [](const auto& body) { return has_collective(*body); });
  });
}

}  // namespace

ContextHandle::ContextHandle(EngineHandle& engine, std::unique_ptr<Context> context,
                             ExecutionContextAllocationStrategy strategy)
    : Reported(engine.shared_reporter()),
      engine_(engine),
      context_(std::move(context)),
      debug_(engine, *context_),
      strategy_(strategy) {
  ContextHandle::setNvtxVerbosity(engine.getProfilingVerbosity());
}

bool ContextHandle::succeed(const Status& status) const {
  if (!status.ok()) reporter_->report(status.error());
  return status.ok();
}

bool ContextHandle::succeed(const char* call, FunctionRef<Status()> f) const {
  return succeed(guarded(call, f));
}

bool ContextHandle::setInputShape(const char* name, const nvinfer1::Dims& dims) noexcept {
  if (name == nullptr) return succeed(user_error("setInputShape was given no name"));
  if (dims.nbDims < 0 || dims.nbDims > nvinfer1::Dims::MAX_DIMS)
    return succeed(user_error("setInputShape: input '{}' cannot have {} axes", name, dims.nbDims));
  return succeed("setInputShape", [&]() -> Status {
    Extents extents = network::to_extents(dims);
    if (const network::IoFormat* format = engine_.format_of(name)) {
      TENON_TRY(format->check(name, extents));
      extents = format->to_buffer(extents);
    }
    return context_->set_input_shape(name, extents);
  });
}

nvinfer1::Dims ContextHandle::getTensorShape(const char* name) const noexcept {
  nvinfer1::Dims dims{};
  dims.nbDims = -1;
  if (engine_.find(name) == nullptr) return dims;
  return reporter_->guarded("getTensorShape", dims, [&] {
    if (allInputShapesSpecified()) (void)context_->read_values();
    const auto extents = context_->shape(name);
    return extents.ok() ? engine_.to_dims(name, *extents) : engine_.getTensorShape(name);
  });
}

nvinfer1::Dims ContextHandle::getTensorStrides(const char* name) const noexcept {
  nvinfer1::Dims dims = getTensorShape(name);
  if (const network::IoFormat* format = dims.nbDims < 0 ? nullptr : engine_.format_of(name))
    return network::to_dims(format->strides(network::to_extents(dims)));
  int64_t stride = 1;
  for (int i = dims.nbDims - 1; i >= 0; --i) {
    const int64_t extent = dims.d[i];
    dims.d[i] = stride;
    stride = stride < 0 || extent < 0 ? -1 : stride * extent;
  }
  return dims;
}

bool ContextHandle::allInputDimensionsSpecified() const noexcept {
  return context_->all_shapes_set();
}
bool ContextHandle::allInputShapesSpecified() const noexcept {
  return std::ranges::none_of(engine_.engine().graph().inputs(), [this](const Value* input) {
    return context_->lacks_values(input->name);
  });
}

bool ContextHandle::setTensorAddress(const char* name, void* data) noexcept {
  if (name == nullptr) return succeed(user_error("setTensorAddress was given no name"));
  return succeed("setTensorAddress", [&] { return context_->set_address(name, data); });
}
const void* ContextHandle::getTensorAddress(const char* name) const noexcept {
  return name == nullptr ? nullptr : context_->address(name);
}
bool ContextHandle::setOutputTensorAddress(const char* name, void* data) noexcept {
  if (name != nullptr && engine_.getTensorIOMode(name) == TensorIOMode::kINPUT)
    return succeed(user_error("setOutputTensorAddress: '{}' is an input", name));
  return setTensorAddress(name, data);
}
bool ContextHandle::setInputTensorAddress(const char* name, const void* data) noexcept {
  if (name != nullptr && engine_.getTensorIOMode(name) == TensorIOMode::kOUTPUT)
    return succeed(user_error("setInputTensorAddress: '{}' is an output", name));
  return setTensorAddress(name, const_cast<void*>(data));
}
void* ContextHandle::getOutputTensorAddress(const char* name) const noexcept {
  return name == nullptr ? nullptr : context_->address(name);
}

int32_t ContextHandle::inferShapes(int32_t nbMaxNames, const char** names) noexcept {
  int32_t missing = 0;
  const bool agree = succeed("inferShapes", [&]() -> Status {
    for (const Value* input : engine_.engine().graph().inputs()) {
      if (context_->shape(input->name).ok() && !context_->lacks_values(input->name)) continue;
      if (names != nullptr && missing < nbMaxNames) names[missing] = input->name.c_str();
      ++missing;
    }
    return missing > 0 ? Status() : context_->infer_shapes();
  });
  return agree ? missing : -1;
}

bool ContextHandle::setOutputAllocator(const char* name, IOutputAllocator* allocator) noexcept {
  if (name == nullptr) return succeed(user_error("setOutputAllocator was given no name"));
  return succeed("setOutputAllocator", [&]() -> Status {
    Context::Allocate allocate;
    const std::string tensor = name;
    if (allocator != nullptr)
      allocate = [this, tensor, allocator](const Extents& extents, size_t bytes, void* stream) {
        void* memory =
            allocator->reallocateOutputAsync(tensor.c_str(), context_->address(tensor), bytes, 256,
                                             static_cast<cudaStream_t>(stream));
        allocator->notifyShape(tensor.c_str(), engine_.to_dims(tensor, extents));
        return memory;
      };
    TENON_TRY(context_->set_allocator(tensor, std::move(allocate)));
    output_allocators_[tensor] = allocator;
    return {};
  });
}

IOutputAllocator* ContextHandle::getOutputAllocator(const char* name) noexcept {
  const auto found = name == nullptr ? output_allocators_.end() : output_allocators_.find(name);
  return found == output_allocators_.end() ? nullptr : found->second;
}

int64_t ContextHandle::getMaxOutputSize(const char* name) const noexcept {
  const Value* value = engine_.find(name);
  if (value == nullptr) return -1;
  return reporter_->guarded("getMaxOutputSize", -1, [&]() -> int64_t {
    if (allInputShapesSpecified()) (void)context_->read_values();
    int64_t bytes = byte_size(value->type.type);
    for (const int64_t extent : context_->most_extents(*value))
      if (__builtin_mul_overflow(bytes, extent, &bytes)) return -1;
    return bytes;
  });
}

bool ContextHandle::enqueueV3(cudaStream_t stream) noexcept {
  layer_times_.times.clear();
  const bool timed = profiler_ != nullptr || syncs_layers_;
  context_->set_step_times(timed ? &layer_times_ : nullptr, !enqueue_emits_profile_);
  const bool ran = succeed("enqueueV3", [&]() -> Status {
    const StopScope stops(asked_);
    TENON_TRY(debug_.observes() ? enqueue_observed(stream) : context_->enqueue(stream));
    if (const std::string why = context_->take_replay_failure(); !why.empty())
      reporter_->verbose("Runs are not replayed as graphs, since one could not be captured: {}",
                         why);
    return finish(stream);
  });
  if (!ran) return false;
  // Work in a graph of the application's has not run yet.
  const bool emits = enqueue_emits_profile_ && !context_->is_profile_captured();
  return profiler_ == nullptr || !emits || reportToProfiler();
}

/// One step after the other, each waited for.
Status ContextHandle::enqueue_observed(void* stream) {
  if (Streams* streams = engine_.engine().backend().device->streams(); streams != nullptr) {
    TENON_ASSIGN(const bool capturing, streams->is_capturing(stream));
    if (capturing)
      return user_error(
          "runs that show unfused tensors to a debug listener wait for each layer and cannot be "
          "captured: call setUnfusedTensorsDebugState(false) first");
    TENON_TRY(streams->synchronize_stream(stream));
  }
  return context_->enqueue_observed(
      [&](const StepResult& result) { return debug_.show(result, stream); });
}

Status ContextHandle::finish(void* stream) {
  Device& device = *engine_.engine().backend().device;
  if (input_consumed_ != nullptr && device.streams() != nullptr)
    TENON_TRY(device.streams()->record(input_consumed_, stream));
  return debug_.report(stream);
}

bool ContextHandle::executeV2(void* const* bindings) noexcept {
  if (bindings == nullptr) return succeed(user_error("executeV2 was given no bindings"));
  for (int32_t i = 0; i < engine_.getNbIOTensors(); ++i)
    if (!setTensorAddress(engine_.getIOTensorName(i), bindings[i])) return false;
  syncs_layers_ = debug_sync_;
  const bool ran = enqueueV3(nullptr);
  syncs_layers_ = false;
  if (!ran || !succeed(context_->engine().backend().device->synchronize({}))) return false;
  for (const auto& [node, milliseconds] : layer_times_.times)
    if (debug_sync_) reporter_->info("Debug synchronization: layer '{}' ran", node->name);
  return true;
}

bool ContextHandle::reportToProfiler() const noexcept {
  if (profiler_ == nullptr)
    return succeed(user_error("reportToProfiler: the context has no profiler (setProfiler)"));
  if (!succeed(context_->report_steps(layer_times_))) return false;
  for (const auto& [node, milliseconds] : layer_times_.times)
    profiler_->reportLayerTime(node->name.c_str(), static_cast<float>(milliseconds));
  layer_times_.times.clear();
  return true;
}

bool ContextHandle::setOptimizationProfileAsync(int32_t index, cudaStream_t) noexcept {
  return succeed("setOptimizationProfileAsync", [&] { return context_->set_profile(index); });
}
int32_t ContextHandle::getOptimizationProfile() const noexcept {
  return context_->profile();
}
size_t ContextHandle::updateDeviceMemorySizeForShapes() noexcept {
  size_t bytes = 0;
  const bool known = succeed("updateDeviceMemorySizeForShapes", [&]() -> Status {
    TENON_ASSIGN(bytes, context_->needed_arena());
    return {};
  });
  return known ? bytes : 0;
}

void ContextHandle::setDebugSync(bool sync) noexcept {
  debug_sync_ = sync;
}
bool ContextHandle::getDebugSync() const noexcept {
  return debug_sync_;
}
void ContextHandle::setProfiler(IProfiler* profiler) noexcept {
  profiler_ = profiler;
}
IProfiler* ContextHandle::getProfiler() const noexcept {
  return profiler_;
}
const ICudaEngine& ContextHandle::getEngine() const noexcept {
  return engine_;
}
void ContextHandle::setName(const char* name) noexcept {
  name_ = name == nullptr ? "" : name;
}
const char* ContextHandle::getName() const noexcept {
  return name_.c_str();
}
void ContextHandle::setDeviceMemory(void* memory) noexcept {
  context_->set_arena(memory, Context::kBoundOfEngine);
}
void ContextHandle::setDeviceMemoryV2(void* memory, int64_t size) noexcept {
  if (size < 0 || (memory == nullptr && size > 0)) {
    succeed(user_error("setDeviceMemoryV2 was given {} bytes at {}", size, memory));
    return;
  }
  context_->set_arena(memory, static_cast<size_t>(size));
}
void ContextHandle::setEnqueueEmitsProfile(bool emits) noexcept {
  enqueue_emits_profile_ = emits;
}
bool ContextHandle::getEnqueueEmitsProfile() const noexcept {
  return enqueue_emits_profile_;
}
bool ContextHandle::setInputConsumedEvent(cudaEvent_t event) noexcept {
  input_consumed_ = event;
  return true;
}
cudaEvent_t ContextHandle::getInputConsumedEvent() const noexcept {
  return input_consumed_;
}
bool ContextHandle::setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept {
  temporary_allocator_ = allocator;
  Context::RunMemory memory;
  if (allocator != nullptr)
    memory = [allocator](size_t bytes, void* stream) {
      return temporary_memory(*allocator, bytes, static_cast<cudaStream_t>(stream));
    };
  context_->set_run_memory(std::move(memory));
  return true;
}
IGpuAllocator* ContextHandle::getTemporaryStorageAllocator() const noexcept {
  return temporary_allocator_;
}
void ContextHandle::setPersistentCacheLimit(size_t size) noexcept {
  persistent_cache_limit_ = size;
  if (size != 0)
    engine_.reporter().warning(
        "setPersistentCacheLimit has no effect: no cache is set apart for activations");
}
size_t ContextHandle::getPersistentCacheLimit() const noexcept {
  return persistent_cache_limit_;
}
bool ContextHandle::setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept {
  if (static_cast<uint32_t>(verbosity) >= EnumMax<ProfilingVerbosity>())
    return succeed(user_error("setNvtxVerbosity({}): there is no such verbosity",
                              static_cast<int32_t>(verbosity)));
  nvtx_verbosity_ = verbosity;
  context_->set_ranges(verbosity == ProfilingVerbosity::kNONE       ? Context::Ranges::kNone
                       : verbosity == ProfilingVerbosity::kDETAILED ? Context::Ranges::kDetailed
                                                                    : Context::Ranges::kNames);
  return true;
}
ProfilingVerbosity ContextHandle::getNvtxVerbosity() const noexcept {
  return nvtx_verbosity_;
}
void ContextHandle::setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept {
  const int32_t most = engine_.getNbAuxStreams();
  if (nbStreams < 0 || (auxStreams == nullptr && nbStreams > 0)) {
    succeed(user_error("setAuxStreams requires {} streams", nbStreams));
    return;
  }
  succeed("setAuxStreams", [&]() -> Status {
    std::vector<void*> streams;
    for (int32_t i = 0; auxStreams != nullptr && i < std::min(nbStreams, most); ++i)
      streams.push_back(auxStreams[i]);
    context_->set_aux_streams(streams);
    return {};
  });
}
bool ContextHandle::setDebugListener(IDebugListener* listener) noexcept {
  debug_.set_listener(listener);
  return true;
}
IDebugListener* ContextHandle::getDebugListener() noexcept {
  return debug_.listener();
}
bool ContextHandle::setTensorDebugState(const char* name, bool flag) noexcept {
  if (name != nullptr && debug_.enable(name, flag)) return true;
  return succeed(user_error("setTensorDebugState: '{}' is not marked by markDebug",
                            name == nullptr ? "(null)" : name));
}
bool ContextHandle::getDebugState(const char* name) const noexcept {
  return name != nullptr && debug_.enabled(name);
}
IRuntimeConfig* ContextHandle::getRuntimeConfig() const noexcept {
  return reporter_->guarded("getRuntimeConfig", nullptr, [&]() -> IRuntimeConfig* {
    return new RuntimeConfig(strategy_, reporter_);
  });
}
bool ContextHandle::setAllTensorsDebugState(bool flag) noexcept {
  debug_.enable_all(flag);
  return true;
}
bool ContextHandle::setUnfusedTensorsDebugState(bool flag) noexcept {
  if (debug_.enable_unfused(flag)) return true;
  return succeed(user_error(
      "setUnfusedTensorsDebugState: no tensors were marked by markUnfusedTensorsAsDebugTensors"));
}
bool ContextHandle::getUnfusedTensorsDebugState() const noexcept {
  return debug_.unfused();
}
bool ContextHandle::setCommunicator(void* communicator) noexcept {
  if (communicator == nullptr)
    return succeed(user_error("setCommunicator was given no communicator"));
  if (!has_collective(engine_.engine().graph())) {
    reporter_->warning("setCommunicator has no effect: no layer of the plan communicates");
    return true;
  }
  return succeed("setCommunicator", [&] { return context_->set_communicator(communicator); });
}

}  // namespace tenon::api
