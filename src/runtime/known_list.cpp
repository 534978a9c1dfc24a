#include "runtime/known_list.h"

#include <algorithm>

#include "device/cpu/caches.h"
#include "lower/prefetch.h"
#include "ops/dims.h"
#include "plan/memory_planner.h"

namespace tenon {
namespace {

/// Whether the step's place and numbers follow from kernels and extents alone.
bool is_plain(const Step& step) {
  return step.loads.empty() && step.own.empty() && step.bodies.empty();
}

}  // namespace

KnownList::KnownList(const Program& program) : program_(program) {
  const StepList& list = *program.list_;
  serves_ = !list.is_fixed && program.reads_.empty() && std::ranges::all_of(list.steps, is_plain);
  if (!serves_) return;
  add_buffers();
  for (const Step& step : list.steps) {
    StepNumbers& numbers = steps_.emplace_back();
    numbers.copy_bytes = add(step.bytes);
    numbers.samples = add(step.samples);
    if (step.scratch.base != Place::Base::kBuffer) continue;
    numbers.scratch = list.buffers[step.scratch.index].bytes.as_symbol().value_or("");
    serves_ = serves_ && !numbers.scratch.empty() && step.scratch.offset == Dim(0);
  }
  add_operands();
}

void KnownList::add_buffers() {
  const ConcreteGraph& graph = program_.graph_;
  const StepList& list = *program_.list_;
  for (const StepBuffer& buffer : list.buffers) {
    BufferNumbers& numbers = buffers_.emplace_back();
    numbers.bytes = add(buffer.bytes);
    if (buffer.node < 0) continue;
    numbers.value = graph.graph().nodes()[buffer.node]->output(buffer.output);
    const bool is_whole = buffer.bytes.evaluate(program_.numbers_) == graph.bytes(numbers.value);
    numbers.samples = add(is_whole ? Dim(1) : list.steps[buffer.first].samples);
  }
}

int KnownList::add(const Dim& dim) {
  const auto next = static_cast<int>(dims_.size());
  if (dim.is_constant()) {
    // Most are, and have no text made.
    const auto [entry, is_new] = constants_.try_emplace(dim.constant(), next);
    if (is_new) dims_.push_back(dim);
    return entry->second;
  }
  const auto [entry, is_new] = places_.try_emplace(dim.to_string(), next);
  if (is_new) dims_.push_back(dim);
  return entry->second;
}

void KnownList::add_operands() {
  const Graph& graph = program_.graph_.graph();
  const size_t kernels = kernel_count();
  for (size_t i = 0; i < program_.list_->steps.size(); ++i) {
    const Step& step = program_.list_->steps[i];
    const auto add_one = [&](const Place& place, const Value* value) {
      OperandNumbers& operand = operands_.emplace_back();
      if (place.base == Place::Base::kNone) return;
      operand.value = value;
      operand.offset = add(place.offset);
      operand.each = add(place.each);
      operand.is_known_shape =
          place.base == Place::Base::kConstant && graph.nodes()[place.index]->is<Dims>();
    };
    if (i >= kernels) {
      // Copies to outputs.
      const Value* output = graph.outputs()[step.outputs[0].index];
      add_one(step.inputs[0], output);
      add_one(step.outputs[0], nullptr);
      continue;
    }
    const Node& node = program_.step_node(static_cast<int>(i));
    for (size_t k = 0; k < step.inputs.size(); ++k) add_one(step.inputs[k], node.inputs()[k]);
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      add_one(step.outputs[k], node.outputs()[k]);
      const bool is_buffer = step.outputs[k].base == Place::Base::kBuffer;
      const Value* root = program_.graph_.storage(node.outputs()[k]).root;
      if (is_buffer && buffers_[step.outputs[k].index].value != root)
        in_place_.emplace_back(root, buffers_[step.outputs[k].index].value);
    }
  }
}

size_t KnownList::kernel_count() const {
  return static_cast<size_t>(std::ranges::count_if(
      program_.steps_, [](const auto& step) { return step.kernel != nullptr; }));
}

std::optional<std::vector<int64_t>> KnownList::numbers(const SymbolValues& symbols) const {
  std::vector<int64_t> numbers;
  numbers.reserve(dims_.size());
  for (const Dim& dim : dims_) {
    const auto number = dim.evaluate(symbols);
    if (!number || *number < 0) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

namespace {

/// Whether the order of steps, their starts and the memory that results take would be the same.
bool behaves_like(const Kernel& kernel, const Kernel& other, size_t inputs) {
  if (kernel.waits_for_previous() != other.waits_for_previous()) return false;
  for (int i = 0; i < static_cast<int>(inputs); ++i)
    if (kernel.uses_input(i) != other.uses_input(i) ||
        kernel.reads_early(i) != other.reads_early(i) ||
        kernel.may_alias(i, 0) != other.may_alias(i, 0))
      return false;
  return true;
}

/// The part of an arena that another order of its buffers is not worth.
constexpr size_t kMostLost = 8;

/// Whether an output is all of the memory that it lies in.
bool fills_root(const ConcreteGraph& graph, const Value* output) {
  const Storage& storage = graph.storage(output);
  return storage.offset == 0 && storage.strides.empty() &&
         element_count(graph.extents(storage.root)) == element_count(graph.extents(output));
}

}  // namespace

/// Whether the list's steps are those of these kernels, of as many samples.
bool Program::has_kernels_like(const KnownList& known, const std::vector<MadeStep>& made) const {
  const Program& other = known.program();
  for (size_t i = 0; i < made.size(); ++i)
    if (made[i].node != other.steps_[i].node || made[i].tactic != other.list_->steps[i].kernel ||
        other.list_->steps[i].samples.evaluate(graph_.symbols()) != made[i].samples ||
        !made[i].bodies.empty() ||
        (made[i].kernel->workspace_bytes() > 0 && known.steps()[i].scratch.empty()) ||
        !behaves_like(*made[i].kernel, *other.steps_[i].kernel, made[i].node->inputs().size()))
      return false;
  return true;
}

/// Whether the list's steps pass over samples in the way of these.
bool Program::has_samples_like(const KnownList& known, const std::vector<MadeStep>& made,
                               std::span<const int64_t> numbers) {
  const StepList& list = *known.program().list_;
  size_t operand = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    const auto moves_alike = [&](const Place& place, const std::vector<int64_t>& bytes, size_t k) {
      const int64_t each = numbers[known.operands()[operand++].each];
      const bool holds_one =
          place.base == Place::Base::kBuffer && numbers[known.buffers()[place.index].samples] > 1;
      return made[i].samples == 1 || place.base == Place::Base::kNone ||
             each == (holds_one ? 0 : bytes[k]);
    };
    const Step& step = list.steps[i];
    for (size_t k = 0; k < step.inputs.size(); ++k)
      if (!moves_alike(step.inputs[k], made[i].input_bytes, k)) return false;
    for (size_t k = 0; k < step.outputs.size(); ++k)
      if (!moves_alike(step.outputs[k], made[i].output_bytes, k)) return false;
  }
  return true;
}

/// Whether the list says the same of this program's values and kernels as lower() would, but for
/// the order of buffers, which is right for any sizes.
bool Program::fits(const KnownList& known, const std::vector<MadeStep>& made,
                   std::span<const int64_t> numbers) const {
  const Program& other = known.program();
  if (!has_samples_like(known, made, numbers)) return false;
  for (const KnownList::OperandNumbers& operand : known.operands()) {
    if (operand.value == nullptr) continue;
    const Storage& storage = graph_.storage(operand.value);
    if (storage.root != other.graph_.storage(operand.value).root ||
        storage.offset * byte_size(operand.value->type.type) != numbers[operand.offset])
      return false;
  }
  for (const KnownList::BufferNumbers& buffer : known.buffers())
    if (buffer.value != nullptr &&
        numbers[buffer.bytes] * numbers[buffer.samples] != graph_.bytes(buffer.value))
      return false;
  for (const auto& [result, holder] : known.in_place())
    if (graph_.bytes(result) != graph_.bytes(holder)) return false;
  return std::ranges::all_of(graph_.graph().outputs(), [&](const Value* output) {
    return fills_root(graph_, output) == fills_root(other.graph_, output);
  });
}

/// Takes the list of an earlier program, with this one's numbers. False where it does not fit, or
/// its order of buffers takes more than `most_bytes` and another one may save a part of that, and
/// nothing was done.
Result<bool> Program::bind_like(Device& device, ConstantStore& constants, const KnownList& known,
                                std::vector<MadeStep>& made, size_t most_bytes) {
  const Program& other = known.program();
  if (!known.serves() || made.size() != known.kernel_count() || !has_kernels_like(known, made))
    return false;
  SymbolValues symbols = graph_.symbols();
  for (size_t i = 0; i < made.size(); ++i)
    if (const std::string& scratch = known.steps()[i].scratch; !scratch.empty())
      symbols[scratch] = static_cast<int64_t>(made[i].kernel->workspace_bytes());
  const auto numbers = known.numbers(symbols);
  if (!numbers || !fits(known, made, *numbers)) return false;
  const StepList& list = *other.list_;
  ArenaPlaces places;
  std::vector<Lifetime> lifetimes;
  for (size_t i = 0; i < list.buffers.size(); ++i) {
    const StepBuffer& buffer = list.buffers[i];
    const auto bytes = static_cast<size_t>((*numbers)[known.buffers()[i].bytes]);
    place_next(buffer, bytes, places);
    lifetimes.push_back({bytes, buffer.first, buffer.last});
  }
  if (places.bytes > std::max(most_bytes, other.places_.bytes) &&
      places.bytes - places.bytes / kMostLost > liveness_lower_bound(lifetimes))
    return false;
  list_ = other.list_;
  numbers_ = std::move(symbols);
  places_ = std::move(places);
  TENON_TRY(bind_operands_like(constants, known, *numbers));
  steps_.resize(other.steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    BoundStep& step = steps_[i];
    static_cast<StepNumbers&>(step) = other.steps_[i];
    step.copy_bytes = static_cast<size_t>((*numbers)[known.steps()[i].copy_bytes]);
    step.samples = (*numbers)[known.steps()[i].samples];
    if (const Place& scratch = list.steps[i].scratch; scratch.base == Place::Base::kBuffer)
      step.scratch = in_arena(scratch.index);
    if (i < made.size()) step.kernel = std::move(made[i].kernel);
  }
  plan_fetches();
  most_operands_ = other.most_operands_;
  side_stream_count_ = other.side_stream_count_;
  TENON_TRY(prepare_starts(device));
  return true;
}

/// They depend on the work that kernels have, so that other shapes have others.
void Program::plan_fetches() {
  std::vector<PrefetchStep> kernels(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i)
    if (const Kernel* const kernel = steps_[i].kernel.get(); kernel != nullptr)
      kernels[i] = {kernel->packed(), kernel->fetch_capacity()};
  const std::vector<StepFetch> fetches = plan_prefetches(kernels, cpu::listed_shared_cache_bytes());
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i].fetch = fetches[i];
  bind_fetches();
}

Status Program::bind_operands_like(ConstantStore& constants, const KnownList& known,
                                   std::span<const int64_t> numbers) {
  operands_ = known.program().operands_;
  size_t number = 0;
  for (const Step& step : list_->steps)
    for (const auto* places : {&step.inputs, &step.outputs})
      for (const Place& place : *places) {
        Operand& operand = operands_[number];
        const KnownList::OperandNumbers& of = known.operands()[number++];
        if (place.base == Place::Base::kNone) continue;
        operand.offset = numbers[of.offset];
        operand.each = numbers[of.each];
        if (place.base == Place::Base::kBuffer)
          operand.offset += static_cast<int64_t>(places_.offsets[place.index]);
        if (!of.is_known_shape) continue;
        const Value* value = graph_.graph().nodes()[place.index]->output();
        TENON_ASSIGN(const void* bytes, constants.find(*graph_.known(value)));
        operand.fixed = fixed_at(bytes).fixed;
      }
  return {};
}

}  // namespace tenon
