// Weights of a program that lie elsewhere than its graph and its kernels have them.
#include <algorithm>

#include "device/streams.h"
#include "kernels/movable_constants.h"
#include "plan/memory_planner.h"
#include "runtime/control_kernel.h"
#include "runtime/program.h"

namespace tenon {

const WeightRead* Program::read_of(int step, int operand, bool is_own) const {
  const auto found = std::ranges::find_if(reads_, [&](const WeightRead& read) {
    return read.step == step && read.operand == operand && read.is_own == is_own;
  });
  return found == reads_.end() ? nullptr : &*found;
}

Program::Operand Program::fixed_at(const void* address) {
  return {.fixed = static_cast<std::byte*>(const_cast<void*>(address))};
}

Program::Operand Program::in_arena(int buffer) const {
  return {.base = kArena, .offset = static_cast<int64_t>(places_.offsets[buffer])};
}

/// The constants of kernels that are not where their kernels have them.
void Program::bind_own(int number) {
  BoundStep& step = steps_[number];
  const auto is_here = [&](const WeightRead& read) { return read.is_own && read.step == number; };
  if (std::ranges::none_of(reads_, is_here)) return;
  step.movable = dynamic_cast<const MovableConstants*>(step.kernel.get());
  const std::vector<Place>& places = list_->steps[number].own;
  const auto blocks = step.movable->blocks();
  step.first_own = own_.size();
  step.own = blocks.size();
  most_own_ = std::max(most_own_, step.own);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const WeightRead* const read = read_of(number, static_cast<int>(i), true);
    if (i < places.size() && places[i].base == Place::Base::kBuffer)
      own_.push_back(in_arena(places[i].index));
    else
      own_.push_back(fixed_at(read == nullptr ? blocks[i].address : read->address));
  }
}

void Program::bind_loads(int number) {
  BoundStep& step = steps_[number];
  step.first_load = loads_.size();
  step.loads = list_->steps[number].loads.size();
  for (const StepLoad& load : list_->steps[number].loads) {
    const WeightRead& read = *read_of(load.step, load.operand, load.is_own);
    steps_[load.step].last_load = static_cast<int>(loads_.size());
    loads_.push_back({in_arena(load.buffer), read.host, static_cast<size_t>(load.bytes)});
  }
}

size_t Program::load_bytes() const {
  std::vector<Lifetime> lifetimes;
  for (const Step& step : list_->steps)
    for (const StepLoad& load : step.loads) {
      const StepBuffer& buffer = list_->buffers[load.buffer];
      lifetimes.push_back({static_cast<size_t>(load.bytes), buffer.first, buffer.last});
    }
  return liveness_lower_bound(lifetimes);
}

/// Copies run on a stream of their own where there is one, else in the run's order.
Status Program::begin_loads(Device& device, size_t first, const Frame& frame, Queue queue,
                            const SideStreams* side) const {
  const BoundStep& step = steps_[first];
  if (step.loads == 0) return {};
  const Queue where{queue.pool, side == nullptr ? queue.stream : side->copies()};
  // Earlier steps may still use the memory.
  if (side != nullptr) TENON_TRY(side->begin_copies(*device.streams(), queue.stream));
  for (size_t i = step.first_load; i < step.first_load + step.loads; ++i) {
    const BoundLoad& load = loads_[i];
    TENON_TRY(device.upload(address(load.to, frame, 0), load.from, load.bytes, where));
    if (side != nullptr) TENON_TRY(side->note_copy(*device.streams(), static_cast<int>(i)));
  }
  return {};
}

Status Program::await_loads(Device& device, size_t first, Queue queue,
                            const SideStreams* side) const {
  if (side == nullptr) return {};
  int last = -1;
  for (size_t i = first; i < steps_[first].group_end; ++i)
    last = std::max(last, steps_[i].last_load);
  return last < 0 ? Status() : side->await_copy(*device.streams(), queue.stream, last);
}

Status Program::run_kernel(const BoundStep& step, const LaunchArguments& arguments,
                           const Frame& frame) const {
  if (step.control != nullptr) return step.control->run_in(arguments, frame.inner);
  if (step.movable == nullptr) return step.kernel->run(arguments);
  const std::span<void*> own = frame.own.first(step.own);
  for (size_t i = 0; i < own.size(); ++i) own[i] = address(own_[step.first_own + i], frame, 0);
  return step.movable->run_with(arguments, own);
}

}  // namespace tenon
