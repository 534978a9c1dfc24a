#include "lower/verify_steps.h"

#include <algorithm>

#include "lower/bit_row.h"

namespace tenon {
namespace {

bool meet(const StepBuffer& a, const StepBuffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

class Verifier {
 public:
  Verifier(const StepList& list, const Graph& graph, const StepList* ordered)
      : list_(list), graph_(graph), ordered_(ordered), written_(list.buffers.size()) {}

  Status all() {
    if (list_.inputs != count(graph_.inputs()) || list_.outputs != count(graph_.outputs()))
      return internal_error("the steps of '{}' are of another graph than '{}'", list_.name,
                            graph_.name);
    if (ordered_ == nullptr || !has_spans_of(*ordered_)) TENON_TRY(order());
    for (size_t first = 0, end = 0; first < list_.steps.size(); first = end) {
      end = group_end(list_, first);
      for (size_t i = first; i < end; ++i) TENON_TRY(loads(i));
      for (size_t i = first; i < end; ++i) TENON_TRY(step(i));
    }
    return {};
  }

 private:
  template <class List> static int count(const List& list) { return static_cast<int>(list.size()); }

  Error fail(std::string_view kind, size_t number, std::string_view reason) const {
    return internal_error("steps of '{}', {} {}: {}", list_.name, kind, number, reason);
  }

  /// Whether the buffers last and lie like those of the other list.
  bool has_spans_of(const StepList& other) const {
    return list_.steps.size() == other.steps.size() &&
           std::ranges::equal(list_.buffers, other.buffers,
                              [](const StepBuffer& a, const StepBuffer& b) {
                                return a.first == b.first && a.last == b.last && a.above == b.above;
                              });
  }

  /// Of buffers that meet, the one of the higher number lies above the other.
  Status order() {
    const size_t size = list_.buffers.size();
    std::vector<BitRow> above(size, BitRow(size));
    for (size_t i = 0; i < size; ++i) {
      const StepBuffer& buffer = list_.buffers[i];
      if (buffer.first > buffer.last || buffer.last > count(list_.steps))
        return fail("buffer", i, "it lasts for no steps of the list");
      for (const int below : buffer.above) {
        if (below < 0 || static_cast<size_t>(below) >= i)
          return fail("buffer", i, fmt::format("it cannot lie above buffer {}", below));
        above[i].set(static_cast<size_t>(below));
        above[i].join(above[below]);
      }
      for (size_t j = 0; j < i; ++j)
        if (!above[i].test(j) && meet(buffer, list_.buffers[j]))
          return fail("buffer", i, fmt::format("it lies across buffer {} in the same step", j));
    }
    return {};
  }

  Status loads(size_t number) {
    for (const StepLoad& load : list_.steps[number].loads) {
      const Place to{.base = Place::Base::kBuffer, .index = load.buffer};
      TENON_TRY(write(to, number));
      if (load.step < static_cast<int>(number) || load.step >= count(list_.steps))
        return fail("step", number, fmt::format("weights for step {} begin there", load.step));
      const Step& reader = list_.steps[load.step];
      const auto& places = load.is_own ? reader.own : reader.inputs;
      if (load.operand < 0 || load.operand >= count(places) ||
          places[load.operand].base != to.base || places[load.operand].index != to.index)
        return fail("step", number,
                    fmt::format("weights begin there that step {} does not read", load.step));
    }
    return {};
  }

  Status step(size_t number) {
    const Step& step = list_.steps[number];
    const bool copy = step.kernel.empty();
    // A copy of an input to an output is of no node.
    if (step.node < (copy ? -1 : 0) || step.node >= count(graph_.nodes()))
      return fail("step", number, fmt::format("there is no node {}", step.node));
    const Node* node = copy ? nullptr : graph_.nodes()[step.node].get();
    if (copy ? step.inputs.size() != 1 || step.outputs.size() != 1
             : step.inputs.size() != node->inputs().size() ||
                   step.outputs.size() != node->outputs().size())
      return fail("step", number, "it has other operands than its node");
    for (const Place& place : step.inputs) TENON_TRY(read(place, number));
    for (const Place& place : step.own) TENON_TRY(read(place, number));
    for (const Place& place : step.outputs) TENON_TRY(write(place, number));
    if (step.scratch.base != Place::Base::kNone) TENON_TRY(write(step.scratch, number));
    if (step.scratch.base != Place::Base::kNone && step.scratch.base != Place::Base::kBuffer)
      return fail("step", number, "its scratch memory is no buffer");
    return copy ? Status() : bodies(step, *node, number);
  }

  Status bodies(const Step& step, const Node& node, size_t number) const {
    if (step.bodies.empty()) return {};
    if (step.bodies.size() != node.bodies.size())
      return fail("step", number, "it has other bodies than its node");
    for (size_t i = 0; i < step.bodies.size(); ++i) {
      // A branch that is never taken has no steps.
      if (step.bodies[i] != StepList()) TENON_TRY(verify(step.bodies[i], *node.bodies[i]));
    }
    return {};
  }

  Status read(const Place& place, size_t number) {
    TENON_TRY(in_range(place, number));
    if (place.base == Place::Base::kBuffer && !written_[place.index])
      return fail("step", number,
                  fmt::format("it reads buffer {} before it is written", place.index));
    return {};
  }

  Status write(const Place& place, size_t number) {
    TENON_TRY(in_range(place, number));
    if (place.base == Place::Base::kInput || place.base == Place::Base::kConstant)
      return fail("step", number, "it writes an input or a constant");
    if (place.base == Place::Base::kBuffer) written_[place.index] = true;
    return {};
  }

  Status in_range(const Place& place, size_t number) const {
    const int most = place.base == Place::Base::kBuffer     ? count(list_.buffers)
                     : place.base == Place::Base::kInput    ? list_.inputs
                     : place.base == Place::Base::kOutput   ? list_.outputs
                     : place.base == Place::Base::kConstant ? count(graph_.nodes())
                                                            : 1;
    if (place.index < 0 || place.index >= most)
      return fail("step", number, fmt::format("there is no operand {}", place.index));
    if (place.base != Place::Base::kBuffer) return {};
    const StepBuffer& buffer = list_.buffers[place.index];
    if (buffer.first <= static_cast<int>(number) && static_cast<int>(number) <= buffer.last)
      return {};
    return fail("step", number, fmt::format("buffer {} does not last there", place.index));
  }

  const StepList& list_;
  const Graph& graph_;
  const StepList* ordered_;
  std::vector<bool> written_;
};

}  // namespace

Status verify(const StepList& list, const Graph& graph, const StepList* ordered) {
  return Verifier(list, graph, ordered).all();
}

}  // namespace tenon
