#pragma once

#include <unordered_set>
#include <vector>

#include "base/pointer_map.h"
#include "lower/bit_row.h"
#include "lower/lower.h"
#include "lower/symbolic_places.h"

namespace tenon {

/// Where the values of a graph lie while its steps run: finds the buffers of a list, and then the
/// operands of its steps.
class ValuePlaces {
 public:
  /// Of `list` the steps' nodes, samples and sections are there.
  ValuePlaces(const ConcreteGraph& graph, const std::vector<MadeStep>& made,
              const LowerOptions& options, StepList& list, SymbolicPlaces& symbolic)
      : graph_(graph), made_(made), options_(options), list_(list), symbolic_(symbolic) {}

  void plan();
  /// `known`: of the same operand under other values; may be null.
  Place place(const Value* value, const Place* known = nullptr);
  /// The operands of a step, the scratch memory besides, which plan() gave.
  void address(size_t step, Step& to);

 private:
  /// A buffer to be, live from step to step.
  struct Slot {
    const Value* value = nullptr;  ///< Null: scratch.
    size_t step = 0;               ///< Of scratch.
    int weight = -1;               ///< Number of a streamed weight, which it is for.
    size_t bytes = 0;
    int first = 0, last = 0;
    int group = 0, group_end = 0;  ///< Of the step that first touches it; the end of the last one.
    bool whole = false;            ///< Steps outside of that group touch it too.
  };
  const Value* memory_of(const Value* value) const;
  bool may_take(size_t step, int input) const;
  void share_memory();
  void find_groups();
  void place_outputs();
  void touch(const Value* value, int step);
  void add_scratch(size_t step);
  void add_loads();
  void begin_loads();
  void address_weights(size_t step, Step& to) const;
  void widen(Slot& slot);
  bool fits_known(const std::vector<size_t>& order) const;
  std::vector<size_t> known_order() const;
  std::vector<size_t> planned_order() const;
  void add_above(size_t number, const std::vector<size_t>& order);
  PointerMap<Value, const StepBuffer*> known_buffers() const;
  void make_buffers();
  bool holds(const Dim& known, int64_t number) const;
  Dim bytes_of(const Slot& slot, const StepBuffer* known);
  Dim sample_stride(const Value* value, int64_t bytes, const Place* known);
  int64_t concrete_bytes(const Value* value) const;
  int steps() const { return static_cast<int>(made_.size()); }

  const ConcreteGraph& graph_;
  const std::vector<MadeStep>& made_;
  const LowerOptions& options_;
  StepList& list_;
  SymbolicPlaces& symbolic_;
  std::vector<int> groups_, group_ends_;         ///< Of each step.
  std::vector<int> load_begins_, load_buffers_;  ///< Of each streamed weight.
  /// Roots that take the memory of another one, whose last reader computes them.
  PointerMap<Value, const Value*> in_place_;
  PointerMap<Value, int> outputs_;  ///< Roots that are computed in an output.
  PointerMap<Value, int> slots_of_, buffers_of_;
  std::unordered_set<const Value*> single_;  ///< Roots that hold one sample at a time.
  PointerMap<Node, int> nodes_;
  std::vector<Slot> slots_;
  std::vector<BitRow> covered_;  ///< Of each buffer: those below it.
};

}  // namespace tenon
