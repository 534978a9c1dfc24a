#include "lower/place_values.h"

#include <algorithm>
#include <numeric>

#include "base/arithmetic.h"
#include "plan/memory_planner.h"

namespace tenon {
namespace {

constexpr auto kBuffer = Place::Base::kBuffer;

/// Whether two lifetimes have a step in common.
template <class T> bool meet(const T& a, const T& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

int64_t ValuePlaces::concrete_bytes(const Value* value) const {
  return element_count(graph_.extents(value)) * byte_size(value->type.type);
}

void ValuePlaces::plan() {
  const auto nodes = graph_.graph().nodes();
  nodes_.reserve(nodes.size());
  for (const auto& node : nodes) nodes_.try_emplace(node.get(), static_cast<int>(nodes_.size()));
  slots_.reserve(made_.size());
  slots_of_.reserve(made_.size());
  find_groups();
  if (options_.shares_memory) share_memory();
  place_outputs();
  for (int step = 0; step < steps(); ++step) {
    for (const Value* value : made_[step].node->inputs())
      if (value != nullptr) touch(value, step);
    for (const Value* value : made_[step].node->outputs()) touch(value, step);
    add_scratch(static_cast<size_t>(step));
  }
  for (const Value* output : graph_.graph().outputs()) touch(output, steps());
  for (Slot& slot : slots_)
    if (slot.value != nullptr) widen(slot);
  add_loads();
  make_buffers();
  begin_loads();
}

void ValuePlaces::find_groups() {
  for (size_t first = 0; first < list_.steps.size();) {
    const size_t end = group_end(list_, first);
    groups_.resize(end, static_cast<int>(first));
    group_ends_.resize(end, static_cast<int>(end));
    first = end;
  }
}

/// The root whose memory holds a value.
const Value* ValuePlaces::memory_of(const Value* value) const {
  const Value* root = graph_.storage(value).root;
  const auto shared = in_place_.find(root);
  return shared == in_place_.end() ? root : shared->second;
}

/// Whether an input and the output of a step are as large, and computed values as a whole.
bool ValuePlaces::may_take(size_t step, int input) const {
  const Value* from = made_[step].node->inputs()[input];
  const Value* to = made_[step].node->outputs()[0];
  if (from == nullptr || !made_[step].kernel->may_alias(input, 0)) return false;
  for (const Value* value : {from, to})
    if (graph_.storage(value).root != value || value->producer() == nullptr ||
        graph_.known(value) != nullptr)
      return false;
  return concrete_bytes(from) == concrete_bytes(to);
}

/// An output takes the memory of an input that no later step reads where the kernel allows it: the
/// result then lies in the caches already.
void ValuePlaces::share_memory() {
  PointerMap<Value, int> last;
  const auto use = [&](const Value* value, int step) {
    if (value != nullptr) last[graph_.storage(value).root] = step;
  };
  for (int i = 0; i < steps(); ++i)
    for (const Value* value : made_[i].node->inputs()) use(value, i);
  for (const Value* output : graph_.graph().outputs()) use(output, steps());
  for (int i = 0; i < steps(); ++i) {
    const auto& inputs = made_[i].node->inputs();
    if (made_[i].samples > 1 || made_[i].node->outputs().size() != 1) continue;
    const Value* output = made_[i].node->outputs()[0];
    if (last[output] == steps()) continue;
    for (size_t j = 0; j < inputs.size(); ++j) {
      const auto same = [&](const Value* other) {
        return other != nullptr && graph_.storage(other).root == inputs[j];
      };
      if (!may_take(i, static_cast<int>(j)) || last[inputs[j]] != i ||
          std::ranges::count_if(inputs, same) != 1)
        continue;
      in_place_[output] = memory_of(inputs[j]);
      break;
    }
  }
}

/// A graph output that fills its root's buffer is computed in place of it.
void ValuePlaces::place_outputs() {
  const auto& outputs = graph_.graph().outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Storage& storage = graph_.storage(outputs[i]);
    const bool fills =
        storage.offset == 0 && storage.strides.empty() &&
        element_count(graph_.extents(storage.root)) == element_count(graph_.extents(outputs[i]));
    if (fills && storage.root->producer() != nullptr && graph_.known(storage.root) == nullptr)
      outputs_.try_emplace(storage.root, static_cast<int>(i));
  }
}

void ValuePlaces::touch(const Value* value, int step) {
  const Value* root = memory_of(value);
  if (root->producer() == nullptr || graph_.known(root) != nullptr || outputs_.contains(root))
    return;
  const bool inside = step < steps();
  const int group = inside ? groups_[step] : step;
  const int end = inside ? group_ends_[step] : step + 1;
  const auto [entry, is_new] = slots_of_.try_emplace(root, static_cast<int>(slots_.size()));
  if (is_new) {
    Slot& fresh = slots_.emplace_back();
    fresh.value = root;
    fresh.bytes = static_cast<size_t>(concrete_bytes(root));
    fresh.first = step;
    fresh.group = group;
  }
  Slot& slot = slots_[entry->second];
  slot.whole |= value != root || slot.group != group;
  slot.group_end = end;
  slot.last = step;
}

void ValuePlaces::add_scratch(size_t step) {
  const size_t bytes = made_[step].kernel->workspace_bytes();
  if (bytes == 0) return;
  const bool beside = list_.steps[step].section != 0;
  Slot& slot = slots_.emplace_back();
  slot.step = step;
  slot.bytes = bytes;
  slot.first = beside ? groups_[step] : static_cast<int>(step);
  slot.last = beside ? group_ends_[step] - 1 : static_cast<int>(step);
}

/// Memory of weights from the start of their copy to the end of the reader's group.
void ValuePlaces::add_loads() {
  std::vector<StepSpan> groups;
  for (size_t i = 0; i < groups_.size(); ++i) groups.push_back({groups_[i], group_ends_[i]});
  load_begins_ = plan_weight_loads(options_.streamed, groups);
  load_buffers_.resize(load_begins_.size());
  for (size_t i = 0; i < options_.streamed.size(); ++i) {
    const StreamedWeight& weight = options_.streamed[i];
    Slot& slot = slots_.emplace_back();
    slot.weight = static_cast<int>(i);
    slot.bytes = weight.bytes;
    slot.first = load_begins_[i];
    slot.last = group_ends_[weight.step] - 1;
  }
}

void ValuePlaces::begin_loads() {
  for (size_t i = 0; i < options_.streamed.size(); ++i) {
    const StreamedWeight& weight = options_.streamed[i];
    list_.steps[load_begins_[i]].loads.push_back({.step = weight.step,
                                                  .operand = weight.operand,
                                                  .is_own = weight.is_own,
                                                  .buffer = load_buffers_[i],
                                                  .bytes = static_cast<int64_t>(weight.bytes)});
  }
}

/// A group of steps passes its steps several times or at once: buffers that it shares with others
/// live throughout, its own hold one sample.
void ValuePlaces::widen(Slot& slot) {
  const int64_t samples = slot.first < steps() ? made_[slot.first].samples : 1;
  if (!slot.whole && samples > 1) {
    slot.bytes /= static_cast<size_t>(samples);
    single_.insert(slot.value);
    return;
  }
  slot.first = slot.group;
  slot.last = slot.group_end - 1;
}

/// Whether an expression that was made for other values gives this number too.
bool ValuePlaces::holds(const Dim& known, int64_t number) const {
  return known.evaluate(list_.symbols) == number;
}

Dim ValuePlaces::bytes_of(const Slot& slot, const StepBuffer* known) {
  const auto bytes = static_cast<int64_t>(slot.bytes);
  const bool is_scratch = slot.value == nullptr && slot.weight < 0;
  const std::string symbol = is_scratch ? fmt::format("scratch{}", slot.step) : "";
  if (is_scratch && !graph_.symbols().empty()) list_.symbols[symbol] = bytes;
  if (known != nullptr && holds(known->bytes, bytes)) return known->bytes;
  if (slot.value != nullptr)
    return symbolic_.of(single_.contains(slot.value) ? SymbolicPlaces::sample_bytes(*slot.value)
                                                     : SymbolicPlaces::bytes(*slot.value),
                        bytes);
  return graph_.symbols().empty() || !is_scratch ? Dim(bytes) : Dim::symbol(symbol);
}

/// Whether the slots in this order of the known list's buffers take no more memory than these do:
/// scratch memory may be larger for smaller shapes.
bool ValuePlaces::fits_known(const std::vector<size_t>& order) const {
  const auto known = place_buffers(*options_.known, options_.known->symbols);
  std::vector<size_t> ends;
  for (const size_t i : order) {
    size_t offset = 0;
    for (const int below : options_.known->buffers[ends.size()].above)
      offset = std::max(offset, ends[below]);
    ends.push_back(offset + round_up(slots_[i].bytes, kBufferAlignment));
  }
  return known.ok() && std::ranges::all_of(ends, [&](size_t end) { return end <= known->bytes; });
}

/// Slots in the order of the known list's buffers; none where these are others. For any sizes that
/// order keeps apart all that is in use at the same time.
std::vector<size_t> ValuePlaces::known_order() const {
  const StepList* const known = options_.known;
  if (known == nullptr || known->buffers.size() != slots_.size() || !options_.streamed.empty() ||
      known->steps.size() < made_.size())
    return {};
  std::vector<size_t> order(slots_.size(), slots_.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const Place& scratch = known->steps[slot.step].scratch;
    if (slot.value == nullptr && scratch.base == kBuffer) order[scratch.index] = i;
  }
  for (size_t number = 0; number < order.size(); ++number) {
    const StepBuffer& buffer = known->buffers[number];
    if (buffer.node >= 0) {
      const Value* value = graph_.graph().nodes()[buffer.node]->output(buffer.output);
      const auto found = slots_of_.find(value);
      if (found != slots_of_.end()) order[number] = static_cast<size_t>(found->second);
    }
    if (order[number] == slots_.size()) return {};
    const Slot& slot = slots_[order[number]];
    if (slot.first != buffer.first || slot.last != std::min(buffer.last, steps())) return {};
  }
  return fits_known(order) ? order : std::vector<size_t>();
}

/// Slots from the lowest to the highest, so that each buffer lies above earlier ones.
std::vector<size_t> ValuePlaces::planned_order() const {
  std::vector<Lifetime> lifetimes;
  for (const Slot& slot : slots_) lifetimes.push_back({slot.bytes, slot.first, slot.last});
  const std::vector<size_t> offsets = plan_memory(lifetimes).offsets;
  std::vector<size_t> order(slots_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Of those of no bytes at one offset all come before the one that has some.
  std::ranges::stable_sort(
      order, {}, [&](size_t i) { return std::pair(offsets[i], lifetimes[i].bytes != 0); });
  return order;
}

void ValuePlaces::add_above(size_t number, const std::vector<size_t>& order) {
  std::vector<int>& above = list_.buffers[number].above;
  auto& reached = covered_.emplace_back(order.size());
  for (size_t below = number; below-- > 0;) {
    if (reached.test(below) || !meet(slots_[order[number]], slots_[order[below]])) continue;
    above.push_back(static_cast<int>(below));
    reached.set(below);
    reached.join(covered_[below]);
  }
  std::ranges::reverse(above);
}

/// The known list's buffers of values, whatever their order: not of single samples, whose bytes say
/// nothing of the group.
PointerMap<Value, const StepBuffer*> ValuePlaces::known_buffers() const {
  PointerMap<Value, const StepBuffer*> buffers;
  if (options_.known == nullptr) return buffers;
  buffers.reserve(options_.known->buffers.size());
  for (const StepBuffer& buffer : options_.known->buffers) {
    if (buffer.node < 0) continue;
    const Value* value = graph_.graph().nodes()[buffer.node]->output(buffer.output);
    const Extents& extents = graph_.extents(value);
    if (!extents.empty() && extents[0] != 1) buffers[value] = &buffer;
  }
  return buffers;
}

void ValuePlaces::make_buffers() {
  std::vector<size_t> order = known_order();
  const StepList* const known = order.empty() ? nullptr : options_.known;
  if (known == nullptr) order = planned_order();
  const auto buffers = known == nullptr ? known_buffers() : PointerMap<Value, const StepBuffer*>();
  list_.buffers.reserve(order.size());
  buffers_of_.reserve(order.size());
  for (size_t number = 0; number < order.size(); ++number) {
    const Slot& slot = slots_[order[number]];
    const auto same = buffers.find(slot.value);
    const StepBuffer* like = same == buffers.end() ? nullptr : same->second;
    if (known != nullptr) like = &known->buffers[number];
    StepBuffer& buffer = list_.buffers.emplace_back();
    buffer.bytes = bytes_of(slot, like);
    buffer.first = slot.first;
    buffer.last = slot.last;
    if (known != nullptr)
      buffer.above = like->above;
    else
      add_above(number, order);
    if (slot.weight >= 0) {
      load_buffers_[slot.weight] = static_cast<int>(number);
      continue;
    }
    if (slot.value == nullptr) {
      list_.steps[slot.step].scratch = {.base = kBuffer, .index = static_cast<int>(number)};
      continue;
    }
    buffers_of_[slot.value] = static_cast<int>(number);
    buffer.node = nodes_.at(slot.value->producer());
    buffer.output = slot.value->index();
  }
}

Place ValuePlaces::place(const Value* value, const Place* known) {
  Place place;
  if (value == nullptr) return place;
  const Storage& storage = graph_.storage(value);
  const Value* root = storage.root;
  if (graph_.known(root) != nullptr) {
    place = {.base = Place::Base::kConstant, .index = nodes_.at(root->producer())};
  } else if (root->producer() == nullptr) {
    place = {.base = Place::Base::kInput, .index = root->index()};
  } else {
    const Value* memory = memory_of(value);
    const auto output = outputs_.find(memory);
    place = output != outputs_.end() ? Place{.base = Place::Base::kOutput, .index = output->second}
                                     : Place{.base = kBuffer, .index = buffers_of_.at(memory)};
  }
  const int bytes = byte_size(value->type.type);
  const bool same = known != nullptr && known->base == place.base && known->index == place.index;
  if (same && holds(known->offset, storage.offset * bytes))
    place.offset = known->offset;
  else
    place.offset = symbolic_.of(symbolic_.offset(*value), storage.offset) * bytes;
  return place;
}

/// `bytes` from one sample to the next, but none where the buffer holds one at a time.
Dim ValuePlaces::sample_stride(const Value* value, int64_t bytes, const Place* known) {
  if (value == nullptr || bytes == 0 || single_.contains(memory_of(value))) return 0;
  if (known != nullptr && holds(known->each, bytes)) return known->each;
  const bool dense = graph_.storage(value).strides.empty();
  return symbolic_.of(dense ? std::optional(SymbolicPlaces::sample_bytes(*value)) : std::nullopt,
                      bytes);
}

void ValuePlaces::address(size_t number, Step& to) {
  const MadeStep& step = made_[number];
  const Step* const like = options_.known != nullptr && number < options_.known->steps.size()
                               ? &options_.known->steps[number]
                               : nullptr;
  const auto add = [&](const Value* value, size_t i, const std::vector<int64_t>& bytes,
                       const std::vector<Place>* known, std::vector<Place>& places) {
    const Place* const same = known != nullptr && i < known->size() ? &(*known)[i] : nullptr;
    places.push_back(place(value, same));
    if (step.samples > 1 && value != nullptr)
      places.back().each = sample_stride(value, bytes[i], same);
  };
  const auto& inputs = step.node->inputs();
  to.inputs.reserve(inputs.size());
  to.outputs.reserve(step.node->outputs().size());
  for (size_t i = 0; i < inputs.size(); ++i)
    add(step.kernel->uses_input(static_cast<int>(i)) ? inputs[i] : nullptr, i, step.input_bytes,
        like == nullptr ? nullptr : &like->inputs, to.inputs);
  for (size_t i = 0; i < step.node->outputs().size(); ++i)
    add(step.node->outputs()[i], i, step.output_bytes, like == nullptr ? nullptr : &like->outputs,
        to.outputs);
  address_weights(number, to);
}

void ValuePlaces::address_weights(size_t number, Step& to) const {
  for (size_t i = 0; i < options_.streamed.size(); ++i) {
    const StreamedWeight& weight = options_.streamed[i];
    if (static_cast<size_t>(weight.step) != number) continue;
    const auto operand = static_cast<size_t>(weight.operand);
    if (weight.is_own) to.own.resize(std::max(to.own.size(), operand + 1));
    Place& place = weight.is_own ? to.own[operand] : to.inputs[operand];
    place.base = kBuffer;
    place.index = load_buffers_[i];
  }
}

}  // namespace tenon
