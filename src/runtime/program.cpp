#include "runtime/program.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/parallel.h"
#include "base/stopwatch.h"
#include "device/cpu/caches.h"
#include "device/cpu/thread_pool.h"
#include "device/streams.h"
#include "ops/application.h"
#include "ops/structure.h"
#include "plan/bodies.h"
#include "plan/memory_planner.h"
#include "plan/walks.h"
#include "runtime/control_kernel.h"
#include "runtime/known_program.h"
#include "runtime/sample_steps.h"

namespace tenon {
namespace {

/// Whether code for new shapes is there: threads would take longer to start than kernels take to
/// make.
bool has_code(const ConstantStore& constants, const KnownProgram* known) {
  return known != nullptr && constants.code() != nullptr &&
         constants.code()->use() == CodeLibrary::Use::kLend;
}

}  // namespace

Result<std::unique_ptr<Program>> Program::create(const Backend& backend, ConstantStore& constants,
                                                 ConcreteGraph graph, int threads,
                                                 const Branches& branches, WeightStore* weights,
                                                 const StepList* known_list,
                                                 const KnownPrograms& known, size_t most_bytes,
                                                 const Makers& makers) {
  auto program = std::unique_ptr<Program>(new Program(std::move(graph)));
  Stopwatch watch;
  TENON_ASSIGN(std::vector<MadeStep> made,
               program->make_steps(backend, constants, threads,
                                   known.empty() ? nullptr : known.front().get(), makers));
  program->making_.kernels = watch.lap();
  Device& device = *backend.device;
  for (size_t i = 0; i < known.size() && weights == nullptr; ++i) {
    TENON_ASSIGN(const bool bound,
                 program->bind_like(device, constants, known[i]->list(), made, most_bytes));
    program->making_.steps += watch.lap();
    if (bound) return program;
  }
  if (weights != nullptr) {
    TENON_ASSIGN(program->reads_, place_weights(program->graph_, made, *weights));
  }
  const LowerOptions options{.shares_memory = device.capabilities().waits_for_kernels,
                             .has_streams = device.streams() != nullptr,
                             .branches = branches,
                             .cache_bytes = cpu::listed_shared_cache_bytes(),
                             .streamed = streamed_of(program->reads_),
                             .known = known_list};
  TENON_ASSIGN(StepList list, lower(program->graph_, made, options));
  program->numbers_ = list.symbols;
  program->list_ = std::make_shared<const StepList>(std::move(list));
  TENON_TRY(program->bind(device, constants, std::move(made)));
  program->making_.steps += watch.lap();
  return program;
}

/// For each step the one whose launches it takes: itself, where these are made for it.
std::vector<size_t> Program::leaders_of(const Backend& backend, const std::vector<MadeStep>& steps,
                                        const KnownProgram* known) const {
  std::vector<size_t> leaders;
  PointerMap<Node, size_t> numbers;
  const auto runs_again = [&](const Node& node) {
    return backend.tactic_of(node) == known->tactic_of(node);
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    const Node& node = *steps[i].node;
    leaders.push_back(i);
    if (known == nullptr) continue;
    numbers[&node] = i;
    const Node& leader = known->leader_of(node);
    const auto found = numbers.find(&leader);
    if (&leader != &node && found != numbers.end() && runs_again(node) && runs_again(leader) &&
        graph_.has_equal_operands(node, leader))
      leaders.back() = found->second;
  }
  return leaders;
}

Result<std::vector<MadeStep>> Program::make_steps(const Backend& backend, ConstantStore& constants,
                                                  int threads, const KnownProgram* known,
                                                  const Makers& makers) {
  std::vector<MadeStep> steps;
  for (const auto& node : graph_.graph().nodes())
    if (has_step(graph_, *node)) steps.emplace_back().node = node.get();
  const std::vector<size_t> leaders = leaders_of(backend, steps, known);
  std::vector<size_t> own;
  for (size_t i = 0; i < steps.size(); ++i)
    if (leaders[i] == i) own.push_back(i);
  making_.planned = own.size();
  std::vector<Status> made(steps.size());
  std::vector<double> seconds(steps.size());
  const auto make = [&](size_t i) {
    Stopwatch watch;
    made[i] = make_step(backend, constants, threads, steps[i]);
    seconds[i] = watch.lap();
  };
  const auto make_own = [&](size_t i) { make(own[i]); };
  // A GPU's kernels are compiled, several at a time, or weights are put in their order.
  const bool compiles = backend.device->capabilities().compiles_kernels && !makers.caller_alone;
  if (compiles && (makers.is_ahead || !has_code(constants, known)))
    for_each_node_parallel(
        own.size(), [&](size_t i) -> const Node& { return *steps[own[i]].node; }, make_own);
  else if (compiles && makers.helpers != nullptr)
    makers.helpers->for_each(static_cast<int64_t>(own.size()), 1,
                             [&](int64_t i) { make_own(static_cast<size_t>(i)); });
  else
    for (size_t i = 0; i < own.size(); ++i) make_own(i);
  for (size_t i = 0; i < steps.size(); ++i) {
    const MadeStep& leader = steps[leaders[i]];
    if (leaders[i] == i || !made[leaders[i]].ok()) continue;
    steps[i].kernel = known->kernel_of(*steps[i].node)->with_launches_of(*leader.kernel);
    steps[i].tactic = leader.tactic;
    if (steps[i].kernel == nullptr) make(i);
  }
  for (Status& status : made) TENON_TRY(std::move(status));
  if (const auto slowest = std::ranges::max_element(seconds); slowest != seconds.end()) {
    const MadeStep& step = steps[slowest - seconds.begin()];
    making_.slowest = *slowest;
    making_.slowest_layer = step.node->name;
    making_.slowest_tactic = step.tactic;
  }
  return steps;
}

Status Program::make_step(const Backend& backend, ConstantStore& constants, int threads,
                          MadeStep& step) const {
  TENON_TRY(backend.device->activate());
  step.tactic = backend.tactic_of(*step.node);
  if (step.tactic.empty()) step.tactic = kAnyTactic;
  if (is_control_flow(*step.node)) {
    // Kernels of bodies keep their constants on the device: they would be copied in each iteration.
    Backend inner = backend;
    inner.constants = &constants;
    auto kernel = make_control_kernel(inner, constants, graph_, *step.node, threads);
    if (!kernel.ok() && kernel.error().kind != ErrorKind::kUnsupported) return kernel.error();
    if (kernel.ok()) {
      step.bodies = (*kernel)->bodies();
      step.kernel = std::move(kernel).value();
      return {};
    }
  }
  Problem problem = graph_.problem(*step.node, backend, threads);
  if (auto sample = sample_step(problem, backend.turns)) {
    problem = std::move(sample->problem);
    step.samples = sample->samples;
    step.input_bytes = std::move(sample->input_bytes);
    step.output_bytes = std::move(sample->output_bytes);
  }
  TENON_ASSIGN(step.kernel, make_kernel(backend, *step.node, problem));
  return {};
}

/// The list's numbers under the graph's symbols, and its kernels.
Status Program::bind(Device& device, ConstantStore& constants, std::vector<MadeStep> made) {
  TENON_ASSIGN(places_, place_buffers(*list_, numbers_));
  steps_.resize(list_->steps.size());
  size_t operands = 0;
  for (const Step& step : list_->steps) operands += step.inputs.size() + step.outputs.size();
  operands_.reserve(operands);
  for (size_t i = 0; i < made.size(); ++i) steps_[i].kernel = std::move(made[i].kernel);
  for (size_t i = 0; i < steps_.size(); ++i)
    TENON_TRY(bind_step(list_->steps[i], constants, steps_[i]));
  for (size_t first = 0; first < steps_.size(); first = steps_[first].group_end) {
    const size_t end = group_end(*list_, first);
    for (size_t i = first; i < end; ++i) steps_[i].group_end = end;
  }
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i].fetch = list_->steps[i].fetch;
  bind_fetches();
  bind_walks();
  for (int i = 0; i < step_count(); ++i) bind_own(i);
  for (int i = 0; i < step_count(); ++i) bind_loads(i);
  return prepare_starts(device);
}

Status Program::bind_step(const Step& step, ConstantStore& constants, BoundStep& bound) {
  const auto number = [&](const Dim& dim) { return dim.evaluate(numbers_).value_or(0); };
  bound.control = dynamic_cast<const ControlKernel*>(bound.kernel.get());
  if (bound.control != nullptr) most_inner_ = std::max(most_inner_, bound.control->scratch_count());
  bound.node = step.node < 0 ? nullptr : graph_.graph().nodes()[step.node].get();
  bound.copy_bytes = static_cast<size_t>(number(step.bytes));
  bound.samples = number(step.samples);
  bound.section = step.section;
  bound.stream = step.stream;
  bound.fenced = step.fenced;
  bound.first = operands_.size();
  bound.inputs = step.inputs.size();
  bound.outputs = step.outputs.size();
  for (const Place& place : step.inputs) {
    const auto operand = static_cast<int>(&place - step.inputs.data());
    const WeightRead* const weight =
        read_of(static_cast<int>(&bound - steps_.data()), operand, false);
    TENON_ASSIGN(operands_.emplace_back(), bind_operand(place, constants, weight));
  }
  for (const Place& place : step.outputs) {
    TENON_ASSIGN(operands_.emplace_back(), bind_operand(place, constants));
  }
  TENON_ASSIGN(bound.scratch, bind_operand(step.scratch, constants));
  most_operands_ = std::max(most_operands_, bound.inputs + bound.outputs);
  side_stream_count_ = std::max(side_stream_count_, step.stream);
  return {};
}

Result<Program::Operand> Program::bind_operand(const Place& place, ConstantStore& constants,
                                               const WeightRead* weight) const {
  Operand operand;
  if (place.base == Place::Base::kNone) return operand;
  const auto offset = place.offset.evaluate(numbers_);
  const auto each = place.each.evaluate(numbers_);
  if (!offset.has_value() || !each.has_value())
    return internal_error("an operand of '{}' has no offset: {}", list_->name,
                          place.offset.to_string());
  operand.offset = *offset;
  operand.each = *each;
  if (place.base == Place::Base::kConstant && weight != nullptr) {
    operand.fixed = fixed_at(weight->address).fixed;
  } else if (place.base == Place::Base::kConstant) {
    const Value* value = graph_.graph().nodes()[place.index]->output();
    TENON_ASSIGN(const void* bytes, constants.find(*graph_.known(value)));
    operand.fixed = static_cast<std::byte*>(const_cast<void*>(bytes));
  } else if (place.base == Place::Base::kBuffer) {
    operand.base = kArena;
    operand.offset += static_cast<int64_t>(places_.offsets[place.index]);
  } else {
    operand.base = kInputs + place.index + (place.base == Place::Base::kOutput ? list_->inputs : 0);
  }
  return operand;
}

void Program::bind_fetches() {
  for (BoundStep& step : steps_) {
    step.ahead = {};
    if (step.fetch.bytes == 0) continue;
    const std::byte* const packed = steps_[step.fetch.step].kernel->packed().data();
    step.ahead = {packed + step.fetch.offset, static_cast<size_t>(step.fetch.bytes)};
  }
}

void Program::bind_walks() {
  std::vector<WalkingStep> steps;
  for (const BoundStep& step : steps_)
    steps.push_back({step.node, step.kernel != nullptr && step.kernel->walks()});
  const std::vector<Walk> walks = plan_walks(graph_, steps);
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i].walk = walks[i];
}

Status Program::prepare_starts(Device& device) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (list_->steps[i].overlapped) TENON_TRY(steps_[i].kernel->let_next_start());
    if (steps_[i].fenced) TENON_TRY(device.prepare_fence());
  }
  return {};
}

StepList Program::list() const {
  StepList list = *list_;
  list.symbols = numbers_;
  for (size_t i = 0; i < steps_.size(); ++i) list.steps[i].fetch = steps_[i].fetch;
  return list;
}

size_t Program::arena_lower_bound() const {
  std::vector<Lifetime> lifetimes;
  for (const PlacedBuffer& buffer : buffers())
    lifetimes.push_back({buffer.bytes, buffer.first, buffer.last});
  return liveness_lower_bound(lifetimes);
}

std::vector<Program::PlacedBuffer> Program::buffers() const {
  std::vector<PlacedBuffer> placed;
  for (size_t i = 0; i < list_->buffers.size(); ++i) {
    const StepBuffer& buffer = list_->buffers[i];
    const Value* value =
        buffer.node < 0 ? nullptr : graph_.graph().nodes()[buffer.node]->output(buffer.output);
    const auto bytes = static_cast<size_t>(buffer.bytes.evaluate(numbers_).value_or(0));
    placed.push_back({value, places_.offsets[i], bytes, buffer.first, buffer.last});
  }
  return placed;
}

size_t Program::step_owned_bytes(int step) const {
  const Kernel* kernel = steps_[step].kernel.get();
  return kernel == nullptr ? 0 : kernel->owned_bytes();
}

size_t Program::owned_bytes() const {
  size_t bytes = 0;
  for (int step = 0; step < step_count(); ++step) bytes += step_owned_bytes(step);
  return bytes;
}

Program::Frame Program::frame(std::span<void* const> inputs, std::span<void* const> outputs,
                              void* arena, std::span<void*> scratch,
                              std::span<const std::string> ranges) const {
  const std::span<void*> bases = scratch.first(base_count());
  bases[kArena] = arena;
  std::ranges::copy(inputs, bases.begin() + kInputs);
  std::ranges::copy(outputs, bases.begin() + kInputs + std::ssize(inputs));
  const std::span<void*> rest = scratch.subspan(bases.size());
  return {bases, rest.first(most_operands_), rest.subspan(most_operands_, most_own_),
          rest.subspan(most_operands_ + most_own_), ranges};
}

void* Program::address(const Operand& operand, const Frame& frame, int64_t sample) {
  auto* const base =
      operand.base == kFixed ? operand.fixed : static_cast<std::byte*>(frame.bases[operand.base]);
  return base + operand.offset + sample * operand.each;
}

Status Program::run_step(Device& device, const BoundStep& step, const Frame& frame, int64_t sample,
                         Queue queue) const {
  if (frame.ranges.empty()) return launch(device, step, frame, sample, queue);
  Streams& streams = *device.streams();
  streams.push_range(frame.ranges[static_cast<size_t>(&step - steps_.data())].c_str());
  Status status = launch(device, step, frame, sample, queue);
  streams.pop_range();
  return status;
}

Status Program::launch(Device& device, const BoundStep& step, const Frame& frame, int64_t sample,
                       Queue queue) const {
  const size_t count = step.inputs + step.outputs;
  const std::span<void*> addresses = frame.operands.first(count);
  for (size_t i = 0; i < count; ++i)
    addresses[i] = address(operands_[step.first + i], frame, sample);
  if (step.kernel == nullptr)
    return device.copy(addresses[1], addresses[0], step.copy_bytes, queue);
  if (step.fenced) TENON_TRY(device.fence(queue));
  const LaunchArguments arguments{.inputs = addresses.first(step.inputs),
                                  .outputs = addresses.subspan(step.inputs),
                                  .workspace = address(step.scratch, frame, 0),
                                  .queue = queue,
                                  .ahead = step.ahead,
                                  .walk = step.walk};
  Status status = run_kernel(step, arguments, frame);
  if (status.ok()) return status;
  return std::move(status).error().with_context(fmt::format("layer '{}'", step.node->name));
}

Status Program::run_group(Device& device, size_t first, const Frame& frame, Queue queue,
                          StepTimer* timer) const {
  const BoundStep& step = steps_[first];
  const size_t end = step.group_end;
  if (step.samples == 1) {
    for (size_t i = first; i < end; ++i) {
      TENON_TRY(run_step(device, steps_[i], frame, 0, queue));
      if (timer != nullptr) TENON_TRY(timer->end(*steps_[i].node, queue));
    }
    return {};
  }
  for (int64_t sample = 0; sample < step.samples; ++sample)
    for (size_t i = first; i < end; ++i) {
      TENON_TRY(run_step(device, steps_[i], frame, sample, queue));
      if (timer != nullptr) timer->lap(i - first);
    }
  for (size_t i = first; timer != nullptr && i < end; ++i)
    timer->end_laps(i - first, *steps_[i].node);
  return {};
}

Status Program::run_section(const Backend& backend, size_t first, const Frame& frame, Queue queue,
                            const SideStreams& side) const {
  Streams& streams = *backend.device->streams();
  int count = 0;
  const size_t end = steps_[first].group_end;
  for (size_t i = first; i < end; ++i) count = std::max(count, steps_[i].stream);
  TENON_TRY(side.fork(streams, queue.stream, count));
  Status status;
  for (size_t i = first; i < end && status.ok(); ++i) {
    const Queue where{queue.pool, side.stream(steps_[i].stream, queue.stream)};
    status = run_step(*backend.device, steps_[i], frame, 0, where);
  }
  // Also after an error: a stream that is captured must not be left apart.
  Status joined = side.join(streams, queue.stream, count);
  return status.ok() ? std::move(joined) : std::move(status);
}

Status Program::run(const Backend& backend, std::span<void* const> inputs,
                    std::span<void* const> outputs, void* arena, Queue queue,
                    std::vector<void*>& pointers, StepTimer* timer,
                    std::span<const std::string> ranges, const SideStreams* side) const {
  pointers.resize(std::max(pointers.size(), scratch_count()));
  return run_in(backend, inputs, outputs, arena, queue, pointers, timer, ranges, side);
}

Status Program::run_in(const Backend& backend, std::span<void* const> inputs,
                       std::span<void* const> outputs, void* arena, Queue queue,
                       std::span<void*> scratch, StepTimer* timer,
                       std::span<const std::string> ranges, const SideStreams* side) const {
  const Frame where = frame(inputs, outputs, arena, scratch, ranges);
  Status status = run_groups(backend, where, queue, timer, side);
  // Copies that nothing waits for would outlast the run.
  if (!status.ok() && side != nullptr && !loads_.empty())
    static_cast<void>(side->join_copies(*backend.device->streams(), queue.stream).ok());
  return status;
}

Status Program::run_groups(const Backend& backend, const Frame& where, Queue queue,
                           StepTimer* timer, const SideStreams* side) const {
  if (timer != nullptr) TENON_TRY(timer->begin(queue));
  for (size_t i = 0; i < steps_.size(); i = steps_[i].group_end) {
    if (!loads_.empty()) {
      TENON_TRY(begin_loads(*backend.device, i, where, queue, side));
      TENON_TRY(await_loads(*backend.device, i, queue, side));
    }
    const bool beside = side != nullptr && timer == nullptr && steps_[i].section != 0;
    TENON_TRY(beside ? run_section(backend, i, where, queue, *side)
                     : run_group(*backend.device, i, where, queue, timer));
  }
  return {};
}

void Program::load_library_kernels(const Backend& backend, const std::stop_token& stop) const {
  Device& device = *backend.device;
  const auto stream = device.streams()->make_stream();
  if (!stream.ok()) return;
  // Launches that never run may name any address.
  constexpr uintptr_t kNowhere = uintptr_t{1} << 32;
  std::vector<void*> bases(base_count(), reinterpret_cast<void*>(kNowhere));
  std::vector<void*> scratch(scratch_count());
  const auto inputs = static_cast<size_t>(list_->inputs),
             outputs = static_cast<size_t>(list_->outputs);
  const Frame where =
      frame(std::span(bases).first(inputs), std::span(bases).first(outputs), bases[0], scratch, {});
  for (size_t i = 0; i < steps_.size() && !stop.stop_requested(); ++i) {
    const BoundStep& step = steps_[i];
    if (step.control != nullptr || !is_library(backend.origin_of(list_->steps[i].kernel))) continue;
    const auto launch_it = [&] { return launch(device, step, where, 0, {nullptr, stream->get()}); };
    static_cast<void>(device.streams()->load_kernels(stream->get(), launch_it).ok());
  }
}

std::vector<std::string> Program::range_texts(bool detailed) const {
  std::vector<std::string> texts;
  for (const BoundStep& step : steps_) {
    std::string& text = texts.emplace_back(step.node->name);
    if (!detailed) continue;
    const auto add = [&](const char* title, const std::vector<Value*>& values) {
      text += title;
      for (const Value* value : values)
        if (value != nullptr)
          text += fmt::format(" {}[{}]", name_of(value->type.type),
                              fmt::join(graph_.extents(value), ","));
    };
    text += fmt::format(", {}", step.node->op->name());
    add(", in:", step.node->inputs());
    add(", out:", step.node->outputs());
    if (step.kernel != nullptr)
      text += fmt::format(", {}", list_->steps[static_cast<size_t>(&step - steps_.data())].kernel);
  }
  return texts;
}

}  // namespace tenon
