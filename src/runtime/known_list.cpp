#include "runtime/known_list.h"

#include <algorithm>

#include "ops/dims.h"

namespace tenon {
namespace {

/// Whether the step's place and numbers follow from kernels and extents alone.
bool is_plain(const Step& step) {
  return step.samples == Dim(1) && step.fetch.bytes == 0 && step.loads.empty() &&
         step.own.empty() && step.bodies.empty();
}

}  // namespace

KnownList::KnownList(const Program& program) : program_(program) {
  const StepList& list = *program.list_;
  serves_ = !list.is_fixed && program.reads_.empty() && std::ranges::all_of(list.steps, is_plain);
  if (!serves_) return;
  for (const StepBuffer& buffer : list.buffers) buffer_bytes_.push_back(add(buffer.bytes));
  for (const Step& step : list.steps) {
    copy_bytes_.push_back(add(step.bytes));
    const bool has_scratch = step.scratch.base == Place::Base::kBuffer;
    std::string& symbol = scratch_symbols_.emplace_back();
    if (!has_scratch) continue;
    symbol = list.buffers[step.scratch.index].bytes.as_symbol().value_or("");
    serves_ = serves_ && !symbol.empty() && step.scratch.offset == Dim(0);
  }
  add_operands();
}

int KnownList::add(const Dim& dim) {
  const auto [entry, is_new] = places_.try_emplace(dim.to_string(), static_cast<int>(dims_.size()));
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
    for (size_t k = 0; k < step.outputs.size(); ++k) add_one(step.outputs[k], node.outputs()[k]);
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

/// Whether the order of steps and their starts would be the same.
bool behaves_like(const Kernel& kernel, const Kernel& other, size_t inputs) {
  if (kernel.waits_for_previous() != other.waits_for_previous() || !kernel.packed().empty())
    return false;
  for (int i = 0; i < static_cast<int>(inputs); ++i)
    if (kernel.uses_input(i) != other.uses_input(i) ||
        kernel.reads_early(i) != other.reads_early(i))
      return false;
  return true;
}

/// Whether an output is all of the memory that it lies in.
bool fills_root(const ConcreteGraph& graph, const Value* output) {
  const Storage& storage = graph.storage(output);
  return storage.offset == 0 && storage.strides.empty() &&
         element_count(graph.extents(storage.root)) == element_count(graph.extents(output));
}

}  // namespace

/// Whether the list says the same of this program's values and kernels as lower() would, but for
/// the order of buffers, which is right for any sizes.
bool Program::fits(const KnownList& known, const std::vector<MadeStep>& made,
                   std::span<const int64_t> numbers) const {
  const Program& other = known.program();
  const StepList& list = *other.list_;
  for (size_t i = 0; i < made.size(); ++i) {
    const size_t scratch = made[i].kernel->workspace_bytes();
    if (made[i].node != other.steps_[i].node || made[i].tactic != list.steps[i].kernel ||
        made[i].samples != 1 || !made[i].bodies.empty() ||
        (scratch > 0 && known.scratch_symbol(i).empty()) ||
        !behaves_like(*made[i].kernel, *other.steps_[i].kernel, made[i].node->inputs().size()))
      return false;
  }
  for (const KnownList::OperandNumbers& operand : known.operands()) {
    if (operand.value == nullptr) continue;
    const Storage& storage = graph_.storage(operand.value);
    if (storage.root != other.graph_.storage(operand.value).root ||
        storage.offset * byte_size(operand.value->type.type) != numbers[operand.offset])
      return false;
  }
  const auto nodes = graph_.graph().nodes();
  for (size_t i = 0; i < list.buffers.size(); ++i) {
    const StepBuffer& buffer = list.buffers[i];
    if (buffer.node >= 0 &&
        numbers[known.buffer_bytes(i)] != graph_.bytes(nodes[buffer.node]->output(buffer.output)))
      return false;
  }
  return std::ranges::all_of(graph_.graph().outputs(), [&](const Value* output) {
    return fills_root(graph_, output) == fills_root(other.graph_, output);
  });
}

/// Takes the list of an earlier program, with this one's numbers. False where it does not fit, and
/// nothing was done.
Result<bool> Program::bind_like(Device& device, ConstantStore& constants, const KnownList& known,
                                std::vector<MadeStep>& made, size_t most_bytes) {
  const Program& other = known.program();
  if (!known.serves() || made.size() != known.kernel_count()) return false;
  SymbolValues symbols = graph_.symbols();
  for (size_t i = 0; i < made.size(); ++i)
    if (const std::string& scratch = known.scratch_symbol(i); !scratch.empty())
      symbols[scratch] = static_cast<int64_t>(made[i].kernel->workspace_bytes());
  const auto numbers = known.numbers(symbols);
  if (!numbers || !fits(known, made, *numbers)) return false;
  const StepList& list = *other.list_;
  ArenaPlaces places;
  for (size_t i = 0; i < list.buffers.size(); ++i)
    place_next(list.buffers[i], static_cast<size_t>((*numbers)[known.buffer_bytes(i)]), places);
  if (places.bytes > std::max(most_bytes, other.places_.bytes)) return false;
  list_ = other.list_;
  numbers_ = std::move(symbols);
  places_ = std::move(places);
  TENON_TRY(bind_operands_like(constants, known, *numbers));
  steps_.resize(other.steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    BoundStep& step = steps_[i];
    static_cast<StepNumbers&>(step) = other.steps_[i];
    step.copy_bytes = static_cast<size_t>((*numbers)[known.copy_bytes(i)]);
    if (const Place& scratch = list.steps[i].scratch; scratch.base == Place::Base::kBuffer)
      step.scratch = in_arena(scratch.index);
    if (i < made.size()) step.kernel = std::move(made[i].kernel);
  }
  most_operands_ = other.most_operands_;
  side_stream_count_ = other.side_stream_count_;
  TENON_TRY(prepare_starts(device));
  return true;
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
