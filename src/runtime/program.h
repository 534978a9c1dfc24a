#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/function_ref.h"
#include "base/status.h"
#include "kernels/backend.h"
#include "kernels/constant_store.h"
#include "plan/branches.h"
#include "plan/concrete_graph.h"
#include "plan/memory_planner.h"
#include "runtime/side_streams.h"
#include "runtime/step_timer.h"

namespace tenon {

/// A result that a step of an observed run has just written: one of its node's results, or a sample
/// of it where the step runs for one sample at a time.
struct StepResult {
  const Node& node;
  int output = 0;
  int64_t sample = 0, samples = 1;
  const void* address = nullptr;  ///< On the device, of the (sample's) first element.
};
/// Told after each step, when the device has finished it and nothing else has run. May be slow.
using StepObserver = FunctionRef<Status(const StepResult&)>;

/// A graph made ready for one set of extents: kernels, buffer offsets and the steps in order.
/// Immutable; several contexts may run one program, each with its own arena.
class Program {
 public:
  static Result<std::unique_ptr<Program>> create(const Backend& backend, ConstantStore& constants,
                                                 ConcreteGraph graph, int threads,
                                                 const Branches& branches = {});

  size_t arena_bytes() const { return memory_.bytes; }
  size_t arena_lower_bound() const { return lower_bound_; }
  int step_count() const { return static_cast<int>(steps_.size()); }
  const ConcreteGraph& graph() const { return graph_; }

  /// Addresses of inputs and outputs in the graph's order, and an arena of arena_bytes().
  /// `pointers` is scratch that the caller keeps between runs. `timer` may be null; with it no step
  /// runs beside another.
  /// Profilers of a GPU see each layer's launches under its text of `ranges`, where there are any.
  /// Branches run on `side` streams, of which there are side_stream_count(), or without them one
  /// after the other.
  Status run(const Backend& backend, std::span<void* const> inputs, std::span<void* const> outputs,
             void* arena, Queue queue, std::vector<void*>& pointers, StepTimer* timer,
             std::span<const std::string> ranges = {}, const SideStreams* side = nullptr) const;
  /// The same, one step after the other with nothing beside it, each of whose results is shown.
  Status observe(const Backend& backend, std::span<void* const> inputs,
                 std::span<void* const> outputs, void* arena, Queue queue,
                 StepObserver observer) const;
  /// Texts for that, one a step: names, and with `detailed` also operator, operands and kernel.
  std::vector<std::string> range_texts(bool detailed) const;
  /// A step's node; a plain copy has its source's.
  const Node& step_node(int step) const { return *steps_[step].node; }
  int step_stream(int step) const { return steps_[step].stream; }
  /// Bytes of constants that the step's kernel keeps in memory of its own.
  size_t step_owned_bytes(int step) const;
  /// What lies in the arena, from step to step; several values may share a buffer.
  struct PlacedBuffer {
    const Value* value = nullptr;  ///< Null: a step's workspace.
    size_t offset = 0, bytes = 0;
    int first = 0, last = 0;  ///< Steps; graph outputs last until one step behind the end.
  };
  const std::vector<PlacedBuffer>& buffers() const { return buffers_; }
  int side_stream_count() const { return side_stream_count_; }

 private:
  /// An address: a base (arena, an input, an output, a constant) and bytes from it.
  struct Reference {
    enum Base : uint8_t { kNone, kArena, kInput, kOutput, kConstant } base = kNone;
    int index = 0;
    int64_t offset = 0;
    const void* constant = nullptr;
    int64_t sample_bytes = 0;  ///< In steps of one sample: from one to the next.
  };
  struct Step {
    const Node* node = nullptr;
    std::string tactic;
    std::unique_ptr<Kernel> kernel;  ///< Null: a plain copy of `copy_bytes`.
    size_t copy_bytes = 0;
    std::vector<Reference> inputs, outputs;
    Reference workspace;
    std::span<const std::byte> ahead;
    int64_t samples = 1;  ///< It runs so often, each time for one sample.
    /// Steps [group, group_end), which all run for one sample before the next one's turn.
    int group = 0, group_end = 0;
    std::vector<int64_t> input_bytes, output_bytes;  ///< From sample to sample.
    int section = 0, stream = 0;                     ///< Of branches; steps without have section 0.
    bool fenced = false;  ///< Behind a fence, since it reads the previous step's result early.
  };
  /// Addresses that references start from.
  struct Bases {
    std::span<void*const> inputs, outputs;
    void* arena;
    std::span<const std::string> ranges;
  };
  static void* resolve(const Reference& reference, const Bases& bases, int64_t sample);
  Status run_step(Device& device, const Step& step, const Bases& bases, int64_t sample,
                  std::vector<void*>& pointers, Queue queue) const;
  Status launch(Device& device, const Step& step, const Bases& bases, int64_t sample,
                std::vector<void*>& pointers, Queue queue) const;
  Status show(const Step& step, const Bases& bases, int64_t sample, StepObserver observer) const;
  Status run_group(Device& device, size_t first, const Bases& bases, std::vector<void*>& pointers,
                   Queue queue, StepTimer* timer) const;
  int64_t sample_bytes(const Value* value, int64_t bytes) const;
  Status make_step(const Backend& backend, ConstantStore& constants, int threads, Step& step) const;
  explicit Program(ConcreteGraph graph) : graph_(std::move(graph)) {}

  Status make_steps(const Backend& backend, ConstantStore& constants, int threads);
  Status place(ConstantStore& constants);
  void group_steps();
  void take_branches(const Branches& branches);
  bool are_independent(size_t first, size_t end) const;
  Status let_starts_overlap(Device& device);
  /// Whether the step may read the previous step's result before that has ended.
  bool reads_early_of(const Step& step, const Step& ahead) const;
  Status run_section(const Backend& backend, size_t first, const Bases& bases,
                     std::vector<void*>& pointers, Queue queue, const SideStreams& side) const;
  void share_memory(const Backend& backend);
  bool may_take(const Step& step, int input, int output) const;
  const Value* memory_of(const Value* value) const;
  void plan_arena();
  void share_fetches();
  Result<Reference> reference(const Value* value, ConstantStore& constants) const;

  ConcreteGraph graph_;
  std::vector<Step> steps_;
  std::unordered_map<const Value*, Reference> roots_;
  /// Roots that take the memory of another one, whose last reader computes them.
  std::unordered_map<const Value*, const Value*> in_place_;
  std::unordered_set<const Value*> single_;  ///< Roots that hold one sample at a time.
  MemoryPlan memory_;
  std::vector<PlacedBuffer> buffers_;
  size_t lower_bound_ = 0;
  int side_stream_count_ = 0;
};

}  // namespace tenon
