#include "api/debug_tensors.h"

#include "api/plan_settings.h"
#include "check/observed_run.h"
#include "network/convert.h"

namespace tenon::api {

DebugTensors::DebugTensors(EngineHandle& engine, Context& context)
    : engine_(engine), context_(context) {
  // The names are outputs of the graph, so that this cannot fail.
  for (const std::string& name : engine_.hidden_outputs())
    (void)context_
        .set_allocator(name, [this, name](const Extents&, size_t bytes,
                                          void*) { return memory_of(name, bytes); })
        .ok();
}

void* DebugTensors::memory_of(const std::string& name, size_t bytes) {
  Memory& memory = memory_[name];
  if (memory.buffer != nullptr && memory.bytes >= bytes) return memory.buffer.get();
  auto buffer = engine_.engine().backend().allocate(bytes);
  if (!buffer.ok()) return nullptr;
  if (memory.buffer != nullptr) outgrown_.push_back(std::move(memory.buffer));
  memory = {std::move(buffer).value(), bytes};
  return memory.buffer.get();
}

bool DebugTensors::enable(const std::string& name, bool flag) {
  if (!engine_.isDebugTensor(name.c_str())) return false;
  if (flag)
    enabled_.insert(name);
  else
    enabled_.erase(name);
  return true;
}

void DebugTensors::enable_all(bool flag) {
  for (const std::string& name : engine_.debug_tensors()) enable(name, flag);
}

bool DebugTensors::enable_unfused(bool flag) {
  if (!engine_.engine().plan().settings.contains(kDebugUnfusedSetting)) return false;
  unfused_ = flag;
  return true;
}

/// Outputs are shown too: they are tensors that fusion left. In rows, whatever the plan's layouts.
Status DebugTensors::show(const StepResult& result, void* stream) {
  const Value& value = *result.node.outputs()[static_cast<size_t>(result.output)];
  if (value.name.empty() || enabled(value.name)) return {};
  Device& device = *engine_.engine().backend().device;
  if (result.sample == 0) shown_ = {};
  TENON_TRY(take_result(context_.program()->graph(), device, result, shown_));
  if (result.sample + 1 < result.samples) return {};
  if (device.capabilities().host_addresses)
    return tell(value, shown_.extents(), shown_.bytes(), TensorLocation::kHOST, stream);
  const auto bytes = static_cast<size_t>(shown_.byte_count());
  TENON_ASSIGN(const DeviceBuffer copy, engine_.engine().backend().allocate(bytes));
  TENON_TRY(device.upload(copy.get(), shown_.bytes(), bytes, {}));
  TENON_TRY(device.synchronize({}));
  TENON_TRY(tell(value, shown_.extents(), copy.get(), TensorLocation::kDEVICE, stream));
  // The listener may have put work on the stream.
  return device.synchronize({.stream = stream});
}

Status DebugTensors::report(void* stream) const {
  if (listener_ == nullptr) return {};
  const Graph& graph = engine_.engine().graph();
  for (const auto* tensors : {&graph.inputs(), &graph.outputs()})
    for (const Value* value : *tensors)
      if (enabled(value->name)) TENON_TRY(report(*value, stream));
  return {};
}

Status DebugTensors::report(const Value& value, void* stream) const {
  const bool host = engine_.engine().backend().device->capabilities().host_addresses ||
                    engine_.engine().is_on_host(value.name);
  TENON_ASSIGN(const Context::Written written, context_.written(value.name));
  return tell(value, written.extents, written.address,
              host ? TensorLocation::kHOST : TensorLocation::kDEVICE, stream);
}

Status DebugTensors::tell(const Value& value, const Extents& extents, const void* address,
                          TensorLocation where, void* stream) const {
  const auto type = network::to_public(value.type.type).value_or(nvinfer1::DataType::kFLOAT);
  if (listener_->processDebugTensor(address, where, type, network::to_dims(extents),
                                    value.name.c_str(), static_cast<cudaStream_t>(stream)))
    return {};
  return user_error("the debug listener refused tensor '{}'", value.name);
}

}  // namespace tenon::api
