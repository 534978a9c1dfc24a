#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "check/reference_pace.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "runtime/step_timer.h"

namespace tenon {

/// One run of a copy of a plan on the host's tensors: its outputs, and its steps' results on the
/// way, read from where later steps read it.
class ObservedRun {
 public:
  /// `threads`: of a CPU.
  static Result<ObservedRun> create(const Plan& plan, const Backend& backend, int threads);

  /// The engine's own copy of the plan's graph, to which values belong.
  const Graph& graph() const { return engine_->graph(); }
  /// The same under the inputs' extents.
  const ConcreteGraph& concrete() const { return context_->program()->graph(); }
  const std::vector<Tensor>& outputs() const { return outputs_; }

  /// Makes everything ready for such inputs; then concrete() is there.
  Status prepare(std::span<const Tensor> inputs);
  /// Runs, and shows each result on the device.
  Status observe(StepObserver observer);
  /// Runs, and keeps the contents of these values. `pace`, if given, is told of each step.
  Status run(const std::unordered_set<const Value*>& wanted, ReferencePace* pace = nullptr);
  /// Milliseconds of a run, the least of several; `steps`, if given, is told those of each step of
  /// each run.
  Result<double> time(int runs, StepTimes* steps = nullptr);
  /// An input's, a constant's, a kept one's, or those of a view of such. Row-major. Not
  /// thread-safe.
  Result<Tensor> contents(const Value* value);

 private:
  Status make_room();
  int64_t bytes_of(const Value& value) const;
  Status keep(const StepResult& result);
  Status bind(std::span<const Tensor> inputs);
  Result<void*> memory(size_t bytes);

  Backend backend_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Context> context_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<Tensor> inputs_, outputs_;
  std::unordered_map<const Value*, Tensor> contents_;
  const std::unordered_set<const Value*>* wanted_ = nullptr;
  std::shared_ptr<Tensor> room_;  ///< Of the contents of wanted values.
  int64_t taken_ = 0;             ///< Bytes of it.
};

/// Puts a result in rows, from the strides that it has on the device; a sample behind those before
/// it. A tensor that is not defined yet is made.
Status take_result(const ConcreteGraph& graph, Device& device, const StepResult& result,
                   Tensor& to);

/// Runs a copy of the plan once on the host's tensors. `told` and `ran` may be empty.
Result<std::vector<Tensor>> run_plan(const Plan& plan, const Backend& backend, int threads,
                                     std::span<const Tensor> inputs,
                                     const ReferencePace::Told& told = {},
                                     const ReferencePace::Ran& ran = {});

}  // namespace tenon
