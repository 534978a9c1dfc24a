#include "runtime/program.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/parallel.h"
#include "device/cpu/cpu_device.h"
#include "device/streams.h"
#include "ops/dims.h"
#include "ops/structure.h"
#include "plan/bodies.h"
#include "runtime/control_kernel.h"
#include "runtime/prefetch.h"
#include "runtime/sample_steps.h"

namespace tenon {
namespace {

int64_t bytes_of(const Value* value, int64_t elements) {
  return elements * byte_size(value->type.type);
}

bool computes(const ConcreteGraph& graph, const Node& node) {
  return !node.is<Constant>() && !node.is<Dims>() && !graph.is_view(node);
}

}  // namespace

Result<std::unique_ptr<Program>> Program::create(const Backend& backend, ConstantStore& constants,
                                                 ConcreteGraph graph, int threads,
                                                 const Branches& branches) {
  auto program = std::unique_ptr<Program>(new Program(std::move(graph)));
  TENON_TRY(program->make_steps(backend, constants, threads));
  program->group_steps();
  if (!branches.empty() && backend.device->streams() != nullptr) program->take_branches(branches);
  TENON_TRY(program->let_starts_overlap(*backend.device));
  program->share_memory(backend);
  program->plan_arena();
  TENON_TRY(program->place(constants));
  program->share_fetches();
  return program;
}

Status Program::make_steps(const Backend& backend, ConstantStore& constants, int threads) {
  for (const auto& node : graph_.graph().nodes()) {
    if (!computes(graph_, *node)) continue;
    steps_.emplace_back();
    steps_.back().node = node.get();
  }
  std::vector<Status> made(steps_.size());
  const auto make = [&](size_t i) { made[i] = make_step(backend, constants, threads, steps_[i]); };
  // A GPU's kernels are compiled, several at a time.
  for_each_parallel(steps_.size(), backend.device->unified() ? 1 : helper_threads(), make);
  for (Status& status : made) TENON_TRY(std::move(status));
  return {};
}

/// Where one kernel follows another on the same stream, with nothing between them.
Status Program::let_starts_overlap(Device& device) {
  for (size_t i = 1; i < steps_.size(); ++i) {
    size_t ahead = i - 1;
    while (ahead > 0 && steps_[i].section != 0 && steps_[ahead].section == steps_[i].section &&
           steps_[ahead].stream != steps_[i].stream)
      --ahead;
    if (steps_[ahead].section != steps_[i].section || steps_[ahead].stream != steps_[i].stream)
      continue;
    if (steps_[i].kernel->waits_for_previous()) TENON_TRY(steps_[ahead].kernel->let_next_start());
    steps_[i].fenced = reads_early_of(steps_[i], steps_[ahead]);
    if (steps_[i].fenced) TENON_TRY(device.prepare_fence());
  }
  return {};
}

bool Program::reads_early_of(const Step& step, const Step& ahead) const {
  for (size_t i = 0; i < step.node->inputs().size(); ++i) {
    const Value* input = step.node->inputs()[i];
    if (input == nullptr || !step.kernel->reads_early(static_cast<int>(i))) continue;
    for (const Value* output : ahead.node->outputs())
      if (graph_.storage(output).root == graph_.storage(input).root) return true;
  }
  return false;
}

/// Whether no step of a section reads a result of another stream of it.
bool Program::are_independent(size_t first, size_t end) const {
  std::unordered_map<const Value*, int> writers;
  for (size_t i = first; i < end; ++i) {
    for (const Value* input : steps_[i].node->inputs()) {
      if (input == nullptr) continue;
      const auto writer = writers.find(graph_.storage(input).root);
      if (writer != writers.end() && writer->second != steps_[i].stream) return false;
    }
    for (const Value* output : steps_[i].node->outputs()) {
      const Value* root = graph_.storage(output).root;
      const auto [writer, is_new] = writers.try_emplace(root, steps_[i].stream);
      // Several may write parts of one, which then none of them reads.
      if (!is_new && writer->second != steps_[i].stream) writer->second = -1;
    }
  }
  return true;
}

/// Sections become groups, so that memory of a branch stays its own until all have ended.
void Program::take_branches(const Branches& branches) {
  std::unordered_map<const Node*, Branch> of_nodes;
  int place = 0;
  for (const auto& node : graph_.graph().nodes())
    if (const auto found = branches.find(place++); found != branches.end())
      of_nodes.emplace(node.get(), found->second);
  for (Step& step : steps_)
    if (const auto found = of_nodes.find(step.node); found != of_nodes.end())
      step.section = found->second.section, step.stream = found->second.stream;
  for (size_t first = 0, end = 0; first < steps_.size(); first = end) {
    for (end = first + 1; end < steps_.size(); ++end)
      if (steps_[end].section != steps_[first].section) break;
    if (steps_[first].section == 0) continue;
    const bool independent = are_independent(first, end);
    for (size_t i = first; i < end; ++i) {
      Step& step = steps_[i];
      if (!independent) {
        step.section = step.stream = 0;
        continue;
      }
      step.group = static_cast<int>(first);
      step.group_end = static_cast<int>(end);
      side_stream_count_ = std::max(side_stream_count_, step.stream);
    }
  }
}

Status Program::make_step(const Backend& backend, ConstantStore& constants, int threads,
                          Step& step) const {
  TENON_TRY(backend.device->activate());
  step.tactic = backend.tactic_of(*step.node);
  if (is_control_flow(*step.node)) {
    auto kernel = make_control_kernel(backend, constants, graph_, *step.node, threads);
    if (kernel.ok()) step.kernel = std::move(kernel).value();
    if (kernel.ok() || kernel.error().kind != ErrorKind::kUnsupported)
      return kernel.ok() ? Status() : Status(kernel.error());
  }
  Problem problem = graph_.problem(*step.node, backend, threads);
  if (auto sample = backend.device->unified() ? sample_step(problem) : std::nullopt) {
    problem = std::move(sample->problem);
    step.samples = sample->samples;
    step.input_bytes = std::move(sample->input_bytes);
    step.output_bytes = std::move(sample->output_bytes);
  }
  TENON_ASSIGN(step.kernel, make_kernel(backend, *step.node, problem));
  return {};
}

void Program::group_steps() {
  const int count = static_cast<int>(steps_.size());
  for (int i = 0, end = 0; i < count; i = end) {
    for (end = i + 1; end < count && steps_[i].samples > 1; ++end)
      if (steps_[end].samples != steps_[i].samples) break;
    for (int k = i; k < end; ++k) steps_[k].group = i, steps_[k].group_end = end;
  }
}

/// The root whose memory holds a value.
const Value* Program::memory_of(const Value* value) const {
  const Value* root = graph_.storage(value).root;
  const auto shared = in_place_.find(root);
  return shared == in_place_.end() ? root : shared->second;
}

/// Whether an input and an output of a step are as large, and computed values as a whole.
bool Program::may_take(const Step& step, int input, int output) const {
  const Value *from = step.node->inputs()[input], *to = step.node->outputs()[output];
  if (from == nullptr || !step.kernel->may_alias(input, output)) return false;
  for (const Value* value : {from, to})
    if (graph_.storage(value).root != value || value->producer() == nullptr ||
        graph_.known(value) != nullptr)
      return false;
  const auto size = [&](const Value* value) {
    return bytes_of(value, element_count(graph_.extents(value)));
  };
  return size(from) == size(to);
}

/// An output takes the memory of an input that no later step reads where the kernel allows it: the
/// result then lies in the caches already. Not on a GPU, where a launch may start before the one
/// ahead has ended.
void Program::share_memory(const Backend& backend) {
  if (!backend.device->unified()) return;
  std::unordered_map<const Value*, int> last;
  const auto use = [&](const Value* value, size_t step) {
    if (value != nullptr) last[graph_.storage(value).root] = static_cast<int>(step);
  };
  for (size_t i = 0; i < steps_.size(); ++i)
    for (const Value* value : steps_[i].node->inputs()) use(value, i);
  for (const Value* output : graph_.graph().outputs()) use(output, steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const auto& inputs = step.node->inputs();
    if (step.samples > 1 || step.node->outputs().size() != 1) continue;
    const Value* output = step.node->outputs()[0];
    if (last[output] == static_cast<int>(steps_.size())) continue;
    for (size_t j = 0; j < inputs.size(); ++j) {
      const auto same = [&](const Value* other) {
        return other != nullptr && graph_.storage(other).root == inputs[j];
      };
      if (!may_take(step, static_cast<int>(j), 0) || last[inputs[j]] != static_cast<int>(i) ||
          std::ranges::count_if(inputs, same) != 1)
        continue;
      in_place_[output] = memory_of(inputs[j]);
      break;
    }
  }
}

/// Buffers live from the step that first writes them to the last that reads them; a workspace only
/// during its step. A group of steps of one sample passes its steps several times: buffers that it
/// shares with others live throughout, its own hold one sample.
void Program::plan_arena() {
  struct Slot {
    int index, group, group_end;
    bool whole;
  };
  std::unordered_map<const Value*, Slot> slots;
  std::vector<Lifetime> lifetimes;
  auto touch = [&](const Value* value, int step) {
    const Value* root = memory_of(value);
    if (root->producer() == nullptr || graph_.known(root) != nullptr || roots_.contains(root))
      return;
    const bool inside = step < static_cast<int>(steps_.size());
    const int group = inside ? steps_[step].group : step;
    const int group_end = inside ? steps_[step].group_end : step + 1;
    const Slot fresh{static_cast<int>(lifetimes.size()), group, group_end, false};
    const auto [entry, is_new] = slots.try_emplace(root, fresh);
    Slot& slot = entry->second;
    if (is_new) {
      const int64_t count = element_count(graph_.extents(root));
      lifetimes.push_back({static_cast<size_t>(bytes_of(root, count)), step, step});
    }
    slot.whole |= value != root || slot.group != group;
    slot.group_end = group_end;
    lifetimes[slot.index].last = step;
  };
  // A graph output that fills its root's buffer is computed in place of it.
  const auto& outputs = graph_.graph().outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Storage& storage = graph_.storage(outputs[i]);
    const bool fills =
        storage.offset == 0 && storage.strides.empty() &&
        element_count(graph_.extents(storage.root)) == element_count(graph_.extents(outputs[i]));
    if (fills && storage.root->producer() != nullptr && graph_.known(storage.root) == nullptr)
      roots_.try_emplace(storage.root, Reference{Reference::kOutput, static_cast<int>(i)});
  }
  std::vector<int> workspace(steps_.size(), -1);
  for (size_t i = 0; i < steps_.size(); ++i) {
    const int step = static_cast<int>(i);
    for (const Value* value : steps_[i].node->inputs())
      if (value != nullptr) touch(value, step);
    for (const Value* value : steps_[i].node->outputs()) touch(value, step);
    if (const size_t bytes = steps_[i].kernel->workspace_bytes(); bytes > 0) {
      workspace[i] = static_cast<int>(lifetimes.size());
      const bool beside = steps_[i].section != 0;
      lifetimes.push_back(
          {bytes, beside ? steps_[i].group : step, beside ? steps_[i].group_end - 1 : step});
    }
  }
  for (const Value* output : outputs) touch(output, static_cast<int>(steps_.size()));
  for (auto& [root, slot] : slots) {
    Lifetime& lifetime = lifetimes[slot.index];
    const int64_t samples =
        lifetime.first < static_cast<int>(steps_.size()) ? steps_[lifetime.first].samples : 1;
    if (!slot.whole && samples > 1) {
      lifetime.bytes /= static_cast<size_t>(samples);
      single_.insert(root);
    } else {
      lifetime.first = slot.group;
      lifetime.last = slot.group_end - 1;
    }
  }
  memory_ = plan_memory(lifetimes);
  lower_bound_ = liveness_lower_bound(lifetimes);
  for (size_t i = 0; i < lifetimes.size(); ++i)
    buffers_.push_back(
        {nullptr, memory_.offsets[i], lifetimes[i].bytes, lifetimes[i].first, lifetimes[i].last});
  for (const auto& [root, slot] : slots) {
    roots_[root] = {Reference::kArena, 0, static_cast<int64_t>(memory_.offsets[slot.index])};
    buffers_[slot.index].value = root;
  }
  for (size_t i = 0; i < steps_.size(); ++i)
    if (workspace[i] >= 0)
      steps_[i].workspace = {Reference::kArena, 0,
                             static_cast<int64_t>(memory_.offsets[workspace[i]])};
}

size_t Program::step_owned_bytes(int step) const {
  const Kernel* kernel = steps_[step].kernel.get();
  return kernel == nullptr ? 0 : kernel->owned_bytes();
}

Result<Program::Reference> Program::reference(const Value* value, ConstantStore& constants) const {
  if (value == nullptr) return Reference{};
  const Storage& storage = graph_.storage(value);
  Reference result;
  if (const Tensor* tensor = graph_.known(storage.root)) {
    result.base = Reference::kConstant;
    TENON_ASSIGN(result.constant, constants.find(*tensor));
  } else if (storage.root->producer() == nullptr) {
    result = {Reference::kInput, storage.root->index()};
  } else {
    result = roots_.at(memory_of(value));
  }
  result.offset += bytes_of(value, storage.offset);
  return result;
}

int64_t Program::sample_bytes(const Value* value, int64_t bytes) const {
  return value == nullptr || single_.contains(memory_of(value)) ? 0 : bytes;
}

Status Program::place(ConstantStore& constants) {
  for (Step& step : steps_) {
    for (size_t i = 0; i < step.node->inputs().size(); ++i) {
      const Value* value = step.node->inputs()[i];
      if (!step.kernel->uses_input(static_cast<int>(i))) value = nullptr;
      TENON_ASSIGN(Reference input, reference(value, constants));
      if (step.samples > 1) input.sample_bytes = sample_bytes(value, step.input_bytes[i]);
      step.inputs.push_back(input);
    }
    for (size_t i = 0; i < step.node->outputs().size(); ++i) {
      const Value* value = step.node->outputs()[i];
      TENON_ASSIGN(Reference output, reference(value, constants));
      if (step.samples > 1) output.sample_bytes = sample_bytes(value, step.output_bytes[i]);
      step.outputs.push_back(output);
    }
  }
  const auto& outputs = graph_.graph().outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    TENON_ASSIGN(Reference source, reference(outputs[i], constants));
    if (source.base == Reference::kOutput && source.index == static_cast<int>(i)) continue;
    if (!graph_.storage(outputs[i]).strides.empty())
      return internal_error("output '{}' is a strided view", outputs[i]->name);
    Step copy;
    copy.node = outputs[i]->producer();
    copy.copy_bytes =
        static_cast<size_t>(bytes_of(outputs[i], element_count(graph_.extents(outputs[i]))));
    copy.inputs = {source};
    copy.outputs = {Reference{Reference::kOutput, static_cast<int>(i)}};
    copy.group = static_cast<int>(steps_.size());
    copy.group_end = copy.group + 1;
    steps_.push_back(std::move(copy));
  }
  return {};
}

void Program::share_fetches() {
  std::vector<PrefetchStep> fetches;
  for (const Step& step : steps_)
    fetches.push_back(step.kernel == nullptr
                          ? PrefetchStep{}
                          : PrefetchStep{step.kernel->packed(), step.kernel->fetch_capacity()});
  const auto ahead = plan_prefetches(fetches, cpu::last_level_cache());
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i].ahead = ahead[i];
}

void* Program::resolve(const Reference& r, const Bases& bases, int64_t sample) {
  const int64_t offset = r.offset + sample * r.sample_bytes;
  switch (r.base) {
    case Reference::kNone:
      return nullptr;
    case Reference::kArena:
      return static_cast<std::byte*>(bases.arena) + offset;
    case Reference::kInput:
      return static_cast<std::byte*>(bases.inputs[r.index]) + offset;
    case Reference::kOutput:
      return static_cast<std::byte*>(bases.outputs[r.index]) + offset;
    case Reference::kConstant:
      return static_cast<std::byte*>(const_cast<void*>(r.constant)) + offset;
  }
  return nullptr;
}

Status Program::run_step(Device& device, const Step& step, const Bases& bases, int64_t sample,
                         std::vector<void*>& pointers, Queue queue) const {
  if (bases.ranges.empty()) return launch(device, step, bases, sample, pointers, queue);
  Streams& streams = *device.streams();
  streams.push_range(bases.ranges[static_cast<size_t>(&step - steps_.data())].c_str());
  Status status = launch(device, step, bases, sample, pointers, queue);
  streams.pop_range();
  return status;
}

Status Program::launch(Device& device, const Step& step, const Bases& bases, int64_t sample,
                       std::vector<void*>& pointers, Queue queue) const {
  pointers.clear();
  for (const Reference& r : step.inputs) pointers.push_back(resolve(r, bases, sample));
  for (const Reference& r : step.outputs) pointers.push_back(resolve(r, bases, sample));
  if (step.kernel == nullptr) return device.copy(pointers[1], pointers[0], step.copy_bytes, queue);
  if (step.fenced) TENON_TRY(device.fence(queue));
  LaunchArguments arguments;
  const std::span<void*> all(pointers);
  arguments.inputs = all.first(step.inputs.size());
  arguments.outputs = all.subspan(step.inputs.size());
  arguments.workspace = resolve(step.workspace, bases, 0);
  arguments.queue = queue;
  arguments.ahead = step.ahead;
  Status status = step.kernel->run(arguments);
  if (status.ok()) return status;
  return std::move(status).error().with_context(fmt::format("layer '{}'", step.node->name));
}

Status Program::run_group(Device& device, size_t first, const Bases& bases,
                          std::vector<void*>& pointers, Queue queue, StepTimer* timer) const {
  const Step& step = steps_[first];
  const auto end = static_cast<size_t>(step.group_end);
  if (step.samples == 1) {
    for (size_t i = first; i < end; ++i) {
      TENON_TRY(run_step(device, steps_[i], bases, 0, pointers, queue));
      if (timer != nullptr) TENON_TRY(timer->end(*steps_[i].node, queue));
    }
    return {};
  }
  for (int64_t sample = 0; sample < step.samples; ++sample)
    for (size_t i = first; i < end; ++i) {
      TENON_TRY(run_step(device, steps_[i], bases, sample, pointers, queue));
      if (timer != nullptr) timer->lap(i - first);
    }
  for (size_t i = first; timer != nullptr && i < end; ++i)
    timer->end_laps(i - first, *steps_[i].node);
  return {};
}

Status Program::run_section(const Backend& backend, size_t first, const Bases& bases,
                            std::vector<void*>& pointers, Queue queue,
                            const SideStreams& side) const {
  Streams& streams = *backend.device->streams();
  int count = 0;
  const auto end = static_cast<size_t>(steps_[first].group_end);
  for (size_t i = first; i < end; ++i) count = std::max(count, steps_[i].stream);
  TENON_TRY(side.fork(streams, queue.stream, count));
  Status status;
  for (size_t i = first; i < end && status.ok(); ++i) {
    const Queue where{queue.pool, side.stream(steps_[i].stream, queue.stream)};
    status = run_step(*backend.device, steps_[i], bases, 0, pointers, where);
  }
  // Also after an error: a stream that is captured must not be left apart.
  Status joined = side.join(streams, queue.stream, count);
  return status.ok() ? std::move(joined) : std::move(status);
}

Status Program::run(const Backend& backend, std::span<void* const> inputs,
                    std::span<void* const> outputs, void* arena, Queue queue,
                    std::vector<void*>& pointers, StepTimer* timer,
                    std::span<const std::string> ranges, const SideStreams* side) const {
  const Bases bases{inputs, outputs, arena, ranges};
  if (timer != nullptr) TENON_TRY(timer->begin(queue));
  for (size_t i = 0; i < steps_.size(); i = steps_[i].group_end) {
    const bool beside = side != nullptr && timer == nullptr && steps_[i].section != 0;
    TENON_TRY(beside ? run_section(backend, i, bases, pointers, queue, *side)
                     : run_group(*backend.device, i, bases, pointers, queue, timer));
  }
  return {};
}

std::vector<std::string> Program::range_texts(bool detailed) const {
  std::vector<std::string> texts;
  for (const Step& step : steps_) {
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
    if (step.kernel != nullptr) text += fmt::format(", {}", step.tactic);
  }
  return texts;
}

}  // namespace tenon
