#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/engine.h"
#include "runtime/context.h"

namespace tenon::api {

/// The debug tensors of one context: memory of the ones that are no outputs of the application's,
/// and the listener that sees the enabled ones after each run.
class DebugTensors {
 public:
  DebugTensors(EngineHandle& engine, Context& context);

  void set_listener(IDebugListener* listener) { listener_ = listener; }
  IDebugListener* listener() const { return listener_; }
  /// False when there is no such debug tensor.
  bool enable(const std::string& name, bool flag);
  void enable_all(bool flag);
  bool enabled(const std::string& name) const { return enabled_.count(name) > 0; }
  /// All tensors that fusion left. False where the network was not marked so.
  bool enable_unfused(bool flag);
  bool unfused() const { return unfused_; }
  /// The run must show each step's results.
  bool observes() const { return unfused_ && listener_ != nullptr; }
  Status show(const StepResult& result, void* stream);
  /// Shows a run's debug tensors; the work may still be on the stream.
  Status report(void* stream) const;

 private:
  struct Memory {
    DeviceBuffer buffer;
    size_t bytes = 0;
  };
  void* memory_of(const std::string& name, size_t bytes);
  Status report(const Value& value, void* stream) const;
  Status tell(const Value& value, const Extents& extents, const void* address,
              nvinfer1::TensorLocation where, void* stream) const;

  EngineHandle& engine_;
  Context& context_;
  IDebugListener* listener_ = nullptr;
  std::set<std::string> enabled_;
  bool unfused_ = false;
  Tensor shown_;  ///< Of samples that are not all there yet.
  std::map<std::string, Memory> memory_;
  std::vector<DeviceBuffer> outgrown_;  ///< Runs that are under way may still write there.
};

}  // namespace tenon::api
