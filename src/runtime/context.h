#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/cpu/thread_pool.h"
#include "runtime/dynamic_run.h"
#include "runtime/engine.h"
#include "runtime/graph_replay.h"
#include "runtime/profile_replay.h"
#include "runtime/program.h"
#include "runtime/retired_objects.h"
#include "runtime/side_streams.h"

namespace tenon {

/// One thread's use of an engine: shapes, addresses, memory. Not thread-safe; contexts are
/// independent of each other.
class Context {
 public:
  /// `threads`: of a CPU context; 0 means the device's number.
  static Result<std::unique_ptr<Context>> create(std::shared_ptr<Engine> engine, int threads = 0);
  ~Context();

  Engine& engine() { return *engine_; }
  /// Must lie within the profile's range.
  Status set_input_shape(std::string_view name, const Extents& extents);
  Status set_profile(int index);
  int profile() const { return profile_; }
  /// Inputs: as set (static ones are always set). Outputs: as inferred, with -1 for the extents
  /// that the run's data decides: the last run says nothing of the next.
  Result<Extents> shape(std::string_view name) const;
  /// Extents that no run under the shapes that are set exceeds; INT64_MAX where there is no bound.
  Extents most_extents(const Value& tensor) const;
  bool all_shapes_set() const { return unset_shapes() == 0; }
  int unset_shapes() const;
  /// Its contents decide shapes, and it has no address yet.
  bool lacks_values(std::string_view input) const;
  /// Whether the settings agree with themselves, the profile and the network. Makes no kernels.
  Status infer_shapes();
  /// Reads the contents of shape inputs (plan/shape_values.h) from where they lie on the host.
  Status read_values();

  /// Address of an input or output, of at least its size; on the host for shape inputs.
  Status set_address(std::string_view name, void* address);
  void* address(std::string_view name) const;
  /// Names an output whose memory is asked for at run time, with its extents and the run's stream.
  /// Needed where they are data-dependent.
  using Allocate = std::function<void*(const Extents& extents, size_t bytes, void* stream)>;
  Status set_allocator(std::string_view output, Allocate allocate);
  /// An output as the last run gave it, also where its shape depends on data.
  struct Written {
    Extents extents;
    const void* address = nullptr;
  };
  Result<Written> written(std::string_view output) const;

  /// Everything that the shapes decide: program and arena. enqueue() does it when it was not done.
  Status prepare();
  /// Memory that runs use from now on instead of the context's own; null gives that back. For
  /// applications that share it between contexts. kBoundOfEngine: as much as the engine asks for.
  void set_arena(void* memory, size_t bytes);
  static constexpr size_t kBoundOfEngine = SIZE_MAX;
  /// How much of it the shapes that are set need, whatever was given so far.
  Result<size_t> needed_arena();
  /// Source of the memory that runs with data-dependent shapes need until they end; empty: as all
  /// other memory.
  using RunMemory = std::function<Result<DeviceBuffer>(size_t bytes, void* stream)>;
  void set_run_memory(RunMemory memory) { run_memory_ = std::move(memory); }
  /// The context allocates no memory of its own: set_arena() must come before a run.
  void expect_arena() { expects_arena_ = true; }
  /// Does now all that the first enqueue would do, where all shapes are known: makes kernels and
  /// takes memory. On a GPU the first run may then be captured; on a CPU failures are reported
  /// there.
  Status get_ready();
  /// Runs replay one captured graph for each shape and set of addresses, or none does. On a device
  /// with streams. Until it is called, runs that come again and again are replayed where nothing
  /// sees the difference (TENON_GRAPH_REPLAY=0: never).
  bool set_graph_replay(bool replay);
  bool replays_graphs() const { return replay_ != nullptr; }
  /// Why runs are no longer replayed by themselves; empty: nothing new.
  std::string take_replay_failure();
  const Program* program() const { return program_.get(); }
  /// On a CPU returns when the results are there; on a GPU when the work is on the stream.
  Status enqueue(void* stream = nullptr);
  /// enqueue() for a caller that looks at each step's results where they are written: returns when
  /// the results are there. Fails where shapes are data-dependent.
  Status enqueue_observed(StepObserver observer);
  /// Times of the steps of coming runs, each of which then waits until it has ended; null stops it.
  /// With `deferred` runs on a device with streams do not wait, and report_steps() tells the times.
  /// ProfileReplay explains the parts of a time.
  void set_step_times(StepTimes* times, bool deferred = false) {
    times_ = times;
    deferred_ = deferred;
  }
  /// Times of the last profiled run that were not reported yet, or, where it was put into a graph
  /// that the application captures, of that graph's last launch. Waits for it.
  Status report_steps(StepTimes& times);
  /// The last profiled run was put into a graph that the application captures.
  bool is_profile_captured() const;
  /// The communicator of the devices that collectives of coming runs run among (an ncclComm_t). An
  /// error where there is no such device.
  Status set_communicator(void* communicator);
  /// The application's streams for branches instead of the context's own, as far as they go.
  void set_aux_streams(std::span<void* const> streams) { side_.give(streams); }
  /// The ranges that profilers of a GPU see around each layer's launches.
  enum class Ranges : uint8_t { kNone, kNames, kDetailed };
  void set_ranges(Ranges ranges) {
    ranges_ = ranges;
    range_texts_.clear();
  }

 private:
  explicit Context(std::shared_ptr<Engine> engine);
  Status enqueue_work(Queue queue);
  Status find_memory(void* stream);
  Status run_static(Queue queue);
  Status note_run(Queue queue);
  Status run_program(Queue queue, StepTimer* timer = nullptr);
  Status run_profiled(Queue queue);
  GraphReplay* replay_of_run();
  Result<SymbolValues> bound_symbols() const;
  Status make_ready();
  Status prepare_program();
  Status prepare_dynamic();
  Status find_program();
  Status take_program(std::shared_ptr<const Program> program);
  Status make_arena();
  Result<bool> fits_given_arena(size_t bytes);
  Status grow_arena(size_t bytes);
  void retire(DeviceBuffer arena);
  Status run_dynamic(Queue queue);
  Status check_addresses() const;
  Status check_alignment() const;
  void* arena() const { return uses_given_arena_ ? given_arena_ : arena_.get(); }

  std::shared_ptr<Engine> engine_;
  int threads_ = 1;
  int profile_ = 0;
  std::unique_ptr<cpu::ThreadPool> pool_;
  std::vector<std::optional<Extents>> input_shapes_;
  ShapeValues values_;  ///< Of shape inputs, as last read.
  bool has_shape_inputs_ = false;
  std::vector<void*> inputs_, outputs_;
  std::vector<Allocate> allocators_;
  std::vector<Written> written_;  ///< Outputs of the last run; empty: see shape() and address().
  bool stale_ = true;
  SymbolValues symbols_;
  Attachments attachments_;
  RetiredObjects retired_;
  std::shared_ptr<const Program> program_;
  /// Shapes that were met most recently, found again without memory of the heap.
  struct Met {
    std::vector<std::optional<Extents>> shapes;
    std::weak_ptr<const Program> program;
  };
  static constexpr size_t kMostMet = 16;
  std::vector<Met> met_;
  size_t next_met_ = 0;
  std::unique_ptr<DynamicRunner> dynamic_;
  RunMemory run_memory_;
  void* run_stream_ = nullptr;  ///< Of the run that is being put on it.
  DeviceBuffer arena_;
  size_t arena_size_ = 0;
  void* given_arena_ = nullptr;  ///< The application's, instead of arena_.
  size_t given_arena_size_ = 0;
  bool uses_given_arena_ = false;
  bool expects_arena_ = false;
  bool arena_is_ready_ = false;                    ///< For program_.
  int generation_ = 0;                             ///< Of the engine, as of the last prepare().
  std::unique_ptr<GraphReplay> replay_;            ///< Null: not asked for.
  std::unique_ptr<GraphReplay> own_replay_;        ///< Of runs that came again; null: none yet.
  bool replays_itself_;                            ///< Until set_graph_replay() decides.
  std::unique_ptr<ProfileReplay> profile_replay_;  ///< Null: nothing was profiled yet.
  std::vector<void*> pointers_;
  StepTimes* times_ = nullptr;
  bool deferred_ = false;  ///< Reports of times.
  Ranges ranges_ = Ranges::kNames;
  std::vector<std::string> range_texts_;  ///< Of program_; empty: to be made, or none.
  SideStreams side_;
  DeviceHandle last_run_;  ///< An event behind it, where memory is the application's.
};

}  // namespace tenon
