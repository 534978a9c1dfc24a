#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/status.h"
#include "kernels/backend.h"
#include "kernels/constant_store.h"
#include "lower/lower.h"
#include "plan/branches.h"
#include "plan/concrete_graph.h"
#include "runtime/side_streams.h"
#include "runtime/step_timer.h"
#include "runtime/weight_reads.h"

namespace tenon {

namespace cpu {
class ThreadPool;
}
class ControlKernel;
class KnownList;
class KnownProgram;
/// The last ones first.
using KnownPrograms = std::vector<std::shared_ptr<const KnownProgram>>;
class MovableConstants;

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

/// The threads that make a program's kernels on a device that compiles them.
struct Makers {
  bool is_ahead = false;  ///< The program is not waited for: threads are started for it.
  /// Else where the code is there, which takes no longer than to start threads; null: the caller.
  cpu::ThreadPool* helpers = nullptr;
  bool caller_alone = false;  ///< In any case.
};

/// A graph made ready for one set of extents: its list of steps with kernels and numbers.
/// Immutable; several contexts may run one program, each with its own arena.
class Program {
 public:
  /// With `weights`, the large constants are there: steps read copies of those that the store has
  /// on the host alone, which each run makes. Null: all are in `constants` and with the kernels.
  /// `known` and `known_list` are of other shapes; the latter may be null. A list of `known` serves
  /// as it is where an arena of its order takes no more than `most_bytes`, or none takes less.
  static Result<std::unique_ptr<Program>> create(const Backend& backend, ConstantStore& constants,
                                                 ConcreteGraph graph, int threads,
                                                 const Branches& branches = {},
                                                 WeightStore* weights = nullptr,
                                                 const StepList* known_list = nullptr,
                                                 const KnownPrograms& known = {},
                                                 size_t most_bytes = 0, const Makers& makers = {});

  size_t arena_bytes() const { return places_.bytes; }
  /// Seconds that create() took for kernels, and for the steps of these.
  struct Making {
    double kernels = 0, steps = 0;
    size_t planned = 0;  ///< Kernels whose launches no other kernel had.
    double slowest = 0;  ///< Of the kernels.
    std::string slowest_layer, slowest_tactic;
  };
  const Making& making() const { return making_; }
  /// Most bytes live at any one step.
  size_t arena_lower_bound() const;
  /// The plan level's account of it.
  StepList list() const;
  /// The same, but for the values of its symbols, which may be those of another program.
  const StepList& shared_list() const { return *list_; }
  bool shares_list_of(const Program& other) const { return list_ == other.list_; }
  int step_count() const { return static_cast<int>(steps_.size()); }
  const ConcreteGraph& graph() const { return graph_; }

  /// Addresses of inputs and outputs in the graph's order, and an arena of arena_bytes().
  /// `pointers` is scratch that the caller keeps between runs, so that only the first one
  /// allocates. `timer` may be null; with it no step runs beside another. Profilers of a GPU see
  /// each layer's launches under its text of `ranges`, where there are any. Branches run on `side`
  /// streams, of which there are side_stream_count(), or without them one after the other; so are
  /// copies of weights, for load_count() events.
  Status run(const Backend& backend, std::span<void* const> inputs, std::span<void* const> outputs,
             void* arena, Queue queue, std::vector<void*>& pointers, StepTimer* timer,
             std::span<const std::string> ranges = {}, const SideStreams* side = nullptr) const;
  /// The same as a part of another run, with the addresses in `scratch`, of scratch_count().
  Status run_in(const Backend& backend, std::span<void* const> inputs,
                std::span<void* const> outputs, void* arena, Queue queue, std::span<void*> scratch,
                StepTimer* timer = nullptr, std::span<const std::string> ranges = {},
                const SideStreams* side = nullptr) const;
  size_t scratch_count() const { return base_count() + most_operands_ + most_own_ + most_inner_; }
  /// The same as run(), one step after the other with nothing beside it, each of whose results is
  /// shown.
  Status observe(const Backend& backend, std::span<void* const> inputs,
                 std::span<void* const> outputs, void* arena, Queue queue,
                 StepObserver observer) const;
  /// Has libraries load the code of their kernels, as they do when these are first launched: some
  /// milliseconds each. Nothing runs. The thread leaves captures alone (device/streams.h).
  void load_library_kernels(const Backend& backend, const std::stop_token& stop) const;
  /// Texts for that, one a step: names, and with `detailed` also operator, operands and kernel.
  std::vector<std::string> range_texts(bool detailed) const;
  /// A step's node; a plain copy has its source's.
  const Node& step_node(int step) const { return *steps_[step].node; }
  /// Null: a plain copy.
  const Kernel* step_kernel(int step) const { return steps_[step].kernel.get(); }
  int step_stream(int step) const { return steps_[step].stream; }
  /// Bytes of constants that the step's kernel keeps in memory of its own, and those of all steps.
  size_t step_owned_bytes(int step) const;
  size_t owned_bytes() const;
  /// What lies in the arena, from step to step; several values may share a buffer.
  struct PlacedBuffer {
    const Value* value = nullptr;  ///< Null: a step's workspace.
    size_t offset = 0, bytes = 0;
    int first = 0, last = 0;  ///< Steps; graph outputs last until one step behind the end.
  };
  std::vector<PlacedBuffer> buffers() const;
  int side_stream_count() const { return side_stream_count_; }
  /// Copies of weights that each run makes, and the most bytes of the arena that they take.
  int load_count() const { return static_cast<int>(loads_.size()); }
  size_t load_bytes() const;

 private:
  friend class KnownList;
  /// An operand's address: one of a run's bases, or a constant's own, and bytes from it.
  struct Operand {
    int base = kFixed;
    std::byte* fixed = nullptr;
    int64_t offset = 0, each = 0;  ///< `each`: from one sample to the next.
  };
  /// Bases of a run: the arena, then inputs, then outputs.
  static constexpr int kFixed = -1, kArena = 0, kInputs = 1;
  /// A step of the list with its numbers.
  struct StepNumbers {
    const Node* node = nullptr;
    const ControlKernel* control = nullptr;  ///< The kernel, where it is one.
    size_t copy_bytes = 0;
    size_t first = 0, inputs = 0, outputs = 0;  ///< Its operands, of all.
    Operand scratch;
    StepFetch fetch;
    std::span<const std::byte> ahead;  ///< That stretch.
    int64_t samples = 1;
    size_t group_end = 0;
    int section = 0, stream = 0;
    bool fenced = false;
    Walk walk;
    const MovableConstants* movable = nullptr;  ///< The kernel, where its constants are elsewhere.
    size_t first_own = 0, own = 0;              ///< Their addresses, of all.
    size_t first_load = 0, loads = 0;           ///< That begin there, of all.
    int last_load = -1;                         ///< The last one that it reads; -1: none.
  };
  struct BoundStep : StepNumbers {
    std::unique_ptr<Kernel> kernel;  ///< Null: a plain copy of `copy_bytes`.
  };
  /// A copy of weights from the host.
  struct BoundLoad {
    Operand to;
    const void* from = nullptr;
    size_t bytes = 0;
  };
  /// The addresses of one run, in scratch memory of the caller's.
  struct Frame {
    std::span<void*> bases, operands, own, inner;  ///< The last are those of bodies.
    std::span<const std::string> ranges;
  };
  explicit Program(ConcreteGraph graph) : graph_(std::move(graph)) {}

  Status make_step(const Backend& backend, ConstantStore& constants, int threads,
                   MadeStep& step) const;
  Result<std::vector<MadeStep>> make_steps(const Backend& backend, ConstantStore& constants,
                                           int threads, const KnownProgram* known,
                                           const Makers& makers);
  std::vector<size_t> leaders_of(const Backend& backend, const std::vector<MadeStep>& steps,
                                 const KnownProgram* known) const;
  Result<bool> bind_like(Device& device, ConstantStore& constants, const KnownList& known,
                         std::vector<MadeStep>& made, size_t most_bytes);
  Status bind_operands_like(ConstantStore& constants, const KnownList& known,
                            std::span<const int64_t> numbers);
  bool has_kernels_like(const KnownList& known, const std::vector<MadeStep>& made) const;
  static bool has_samples_like(const KnownList& known, const std::vector<MadeStep>& made,
                               std::span<const int64_t> numbers);
  bool fits(const KnownList& known, const std::vector<MadeStep>& made,
            std::span<const int64_t> numbers) const;
  Status bind(Device& device, ConstantStore& constants, std::vector<MadeStep> made);
  Status bind_step(const Step& step, ConstantStore& constants, BoundStep& bound);
  Result<Operand> bind_operand(const Place& place, ConstantStore& constants,
                               const WeightRead* weight = nullptr) const;
  void plan_fetches();
  void bind_fetches();
  void bind_walks();
  const WeightRead* read_of(int step, int operand, bool is_own) const;
  static Operand fixed_at(const void* address);
  Operand in_arena(int buffer) const;
  void bind_own(int step);
  void bind_loads(int step);
  Status prepare_starts(Device& device) const;

  Frame frame(std::span<void* const> inputs, std::span<void* const> outputs, void* arena,
              std::span<void*> scratch, std::span<const std::string> ranges) const;
  size_t base_count() const {
    return static_cast<size_t>(kInputs + list_->inputs + list_->outputs);
  }
  static void* address(const Operand& operand, const Frame& frame, int64_t sample);
  Status run_step(Device& device, const BoundStep& step, const Frame& frame, int64_t sample,
                  Queue queue) const;
  Status launch(Device& device, const BoundStep& step, const Frame& frame, int64_t sample,
                Queue queue) const;
  Status show(const BoundStep& step, const Frame& frame, int64_t sample,
              StepObserver observer) const;
  Status begin_loads(Device& device, size_t first, const Frame& frame, Queue queue,
                     const SideStreams* side) const;
  Status await_loads(Device& device, size_t first, Queue queue, const SideStreams* side) const;
  Status run_kernel(const BoundStep& step, const LaunchArguments& arguments,
                    const Frame& frame) const;
  Status run_group(Device& device, size_t first, const Frame& frame, Queue queue,
                   StepTimer* timer) const;
  Status run_groups(const Backend& backend, const Frame& where, Queue queue, StepTimer* timer,
                    const SideStreams* side) const;
  Status run_section(const Backend& backend, size_t first, const Frame& frame, Queue queue,
                     const SideStreams& side) const;

  ConcreteGraph graph_;
  std::shared_ptr<const StepList> list_;  ///< Under values of its own: programs share it.
  SymbolValues numbers_;                  ///< Of the list's symbols in this program.
  ArenaPlaces places_;
  std::vector<BoundStep> steps_;
  std::vector<Operand> operands_;  ///< Of all steps: each one's inputs, then its outputs.
  std::vector<WeightRead> reads_;
  std::vector<Operand> own_;  ///< Of all steps: the constants of their kernels.
  std::vector<BoundLoad> loads_;
  size_t most_operands_ = 0;  ///< Of one step.
  size_t most_own_ = 0;       ///< The same.
  size_t most_inner_ = 0;     ///< Addresses that one step's bodies need.
  int side_stream_count_ = 0;
  Making making_;
};

}  // namespace tenon
