// Runs that show each step's results, for builds that check their plans.
#include "runtime/context.h"

namespace tenon {

Status Program::show(const BoundStep& step, const Frame& frame, int64_t sample,
                     StepObserver observer) const {
  const size_t first = step.first + step.inputs;
  for (size_t i = 0; i < step.outputs; ++i)
    TENON_TRY(observer({*step.node, static_cast<int>(i), sample, step.samples,
                        address(operands_[first + i], frame, sample)}));
  return {};
}

Status Program::observe(const Backend& backend, std::span<void* const> inputs,
                        std::span<void* const> outputs, void* arena, Queue queue,
                        StepObserver observer) const {
  std::vector<void*> pointers(scratch_count());
  const Frame where = frame(inputs, outputs, arena, pointers, {});
  size_t end = 0;
  for (size_t first = 0; first < steps_.size(); first = end) {
    const int64_t samples = steps_[first].samples;
    if (!loads_.empty()) TENON_TRY(begin_loads(*backend.device, first, where, queue, nullptr));
    end = samples == 1 ? first + 1 : steps_[first].group_end;
    for (int64_t sample = 0; sample < samples; ++sample)
      for (size_t i = first; i < end; ++i) {
        TENON_TRY(launch(*backend.device, steps_[i], where, sample, queue));
        TENON_TRY(backend.device->synchronize(queue));
        // A plain copy of a result that was shown.
        if (steps_[i].kernel == nullptr) continue;
        TENON_TRY(show(steps_[i], where, sample, observer));
      }
  }
  return {};
}

Status Context::enqueue_observed(StepObserver observer) {
  const Backend& backend = engine_->backend();
  TENON_TRY(backend.device->activate());
  if (engine_->data_dependent()) return unsupported("the network has data-dependent shapes");
  TENON_TRY(prepare());
  TENON_TRY(check_addresses());
  TENON_TRY(check_alignment());
  TENON_TRY(find_memory(nullptr));
  return program_->observe(backend, inputs_, outputs_, arena(), Queue{pool_.get(), nullptr},
                           observer);
}

}  // namespace tenon
