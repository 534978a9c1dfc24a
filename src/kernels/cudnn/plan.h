#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "kernels/cudnn/graph.h"

namespace tenon::cudnn {

/// An engine of a graph with values for its knobs: all that is needed to make the same plan again.
struct EngineChoice {
  int64_t engine = 0;
  std::vector<std::pair<int, int64_t>> knobs;  ///< In the order of their numbers.

  bool operator==(const EngineChoice&) const = default;
};

/// "engine=4,k2=1,k14=3" and back.
std::string to_text(const EngineChoice& choice);
Result<EngineChoice> engine_from_text(std::string_view text);

/// Limits of engines.
struct EngineLimits {
  bool tensor_core_f32 = true;  ///< Tensor cores round f32 operands to tf32.
  int64_t workspace_bytes = int64_t{256} << 20;
};

/// Facts about an execution plan of cuDNN.
struct Executable {
  Descriptor plan;
  int64_t workspace_bytes = 0;
  bool matrix_units = false;  ///< Operands of f32 lose all but 10 bits of their mantissas.
};
using SharedExecutable = std::shared_ptr<const Executable>;

/// Execution plans that are in use, so that equal layers run the same code: copies of it would not
/// stay in the instruction caches. Thread-safe; who asks for a plan that is being made waits for
/// it.
class SharedPlans {
 public:
  Result<SharedExecutable> find(const std::string& key,
                                FunctionRef<Result<SharedExecutable>()> make);

 private:
  struct Entry {
    std::mutex mutex;
    std::weak_ptr<const Executable> executable;
  };
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

/// Where plans are made: a library with a handle, or with the description of a device that need not
/// be there.
struct Context {
  const Api* api = nullptr;
  cudnnHandle_t handle = nullptr;
  const Descriptor* device = nullptr;
  /// Names device and libraries; plans that cuDNN compiled are kept on disk under it, where given.
  std::string_view identity;
  SharedPlans* shared = nullptr;  ///< May be null.
};

/// In the order of cuDNN's estimates, fastest first, without engines that the limits exclude and
/// without engines whose results vary from run to run. At most `count`, without building any.
Result<std::vector<EngineChoice>> propose_engines(const Context& context, const Graph& graph,
                                                  bool is_f32, const EngineLimits& limits,
                                                  size_t count);

/// An address for a tensor of the graph.
struct Binding {
  TensorId id;
  void* address;
};

/// A graph compiled for an engine choice.
class Plan {
 public:
  /// One that is in use, or from the disk where it was compiled before.
  static Result<Plan> build(const Context& context, const Graph& graph, const EngineChoice& choice);

  int64_t workspace_bytes() const { return executable_->workspace_bytes; }
  bool uses_matrix_units() const { return executable_->matrix_units; }
  Status run(cudnnHandle_t handle, std::span<const Binding> bindings, void* workspace) const;

 private:
  SharedExecutable executable_;
  const Api* api_ = nullptr;
  std::vector<Scalar> scalars_;
};

/// The plan of the engine that a text names, or, where it is empty, of the first proposal that can
/// be built.
Result<Plan> build_plan(const Context& context, const Graph& graph, bool is_f32,
                        const EngineLimits& limits, std::string_view engine);

}  // namespace tenon::cudnn
