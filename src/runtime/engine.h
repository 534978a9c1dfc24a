#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "base/background.h"
#include "device/cpu/thread_pool.h"
#include "kernels/backend.h"
#include "ops/extent_rules.h"
#include "plan/plan.h"
#include "runtime/dynamic_run.h"
#include "runtime/graph_replay.h"
#include "runtime/known_program.h"
#include "runtime/library_starts.h"
#include "runtime/profile_replay.h"
#include "runtime/program.h"
#include "runtime/program_cache.h"
#include "runtime/retired_objects.h"
#include "runtime/weight_store.h"

namespace tenon {

/// Most bytes of the programs of a profile.
struct ProgramBounds {
  size_t arena = 0, loads = 0;
};

/// A loaded plan, ready to make contexts. Thread-safe.
class Engine {
 public:
  /// With `runs_code` false the device code in the plan is carried along and compiled anew.
  /// `starts`: libraries that the caller has begun to get ready; null for none.
  static Result<std::shared_ptr<Engine>> create(Plan plan, Backend backend, bool runs_code = true,
                                                std::unique_ptr<LibraryStarts> starts = nullptr);

  const Plan& plan() const { return plan_; }
  const Graph& graph() const { return *plan_.graph; }
  const Backend& backend() const { return backend_; }
  /// Threads of a context that asks for no number; 1 where kernels do not run on the host.
  int default_threads() const;
  ConstantStore& constants() { return *constants_; }
  /// Some shapes are data-dependent: contexts run part by part (DynamicRunner).
  bool data_dependent() const { return data_dependent_; }
  /// Assumptions of the graph about its extents.
  const ExtentRules& extent_rules() const { return extent_rules_; }
  bool runs_plugins() const { return has_plugins_; }
  /// Streams beside its own that a run may use.
  int aux_stream_count() const { return aux_streams(branches_); }
  /// Position among the graph's inputs or outputs.
  std::optional<int> input_index(std::string_view name) const;
  std::optional<int> output_index(std::string_view name) const;

  /// Whether the tensor's contents decide shapes: it lies on the host.
  bool is_on_host(std::string_view name) const;

  /// Takes over the operators, kernels and constants of a plan of the same inputs and outputs, and
  /// its network; its graph, too, where the weights have changed that, which is told of. Contexts
  /// make their kernels again; none may be running.
  Status refit(Plan fresh);
  /// Goes up with each refit.
  int generation() const { return generation_; }

  /// The program for these symbol values, made on first use; the most recent ones are kept
  /// (ProgramCache). Contexts share programs, except those with plugins, whose objects are
  /// `attachments` of one.
  Result<std::shared_ptr<const Program>> program(const SymbolValues& symbols, int threads,
                                                 Attachments* attachments = nullptr);
  /// The most bytes that a context takes of memory given by the application, for all shapes of the
  /// profile. Where an untried shape needs more, contexts take memory of their own. 0 where shapes
  /// are data-dependent: runs then ask for memory as they need it.
  Result<size_t> arena_bound(int profile);
  /// Loads the plan's code, and makes the programs of the shapes that its kernels were chosen for,
  /// once, where it has code: other shapes are made like them, by several threads. A shape that
  /// fails is told to who runs it. Shapes of libraries that are not ready yet are met on another
  /// thread, where these load their kernels' code, too, and all others where there are few.
  void meet_choices();
  /// Waits until that thread has met all shapes.
  void end_meeting() { meeting_.wait(); }
  /// Waits for the libraries that are got ready beside the loading.
  void end_starts() { starts_->end(); }
  /// The form of the graph that runs under these, and kernels in place of the ones its nodes name;
  /// may be null.
  struct Serving {
    const Graph* graph;
    const TacticTable* tactics = nullptr;
    auto operator<=>(const Serving&) const = default;
  };
  Serving serving(const SymbolValues& symbols) const;

  /// Bytes of the constants that can be streamed from the host: the large ones outside of bodies,
  /// on a device with streams where no shapes are data-dependent.
  size_t streamable_bytes() const;
  /// From now on so many bytes of these stay on the device; nullopt: all. An error while there are
  /// contexts.
  Status stream_weights(std::optional<size_t> budget);
  /// Bytes of weights for which the device has room beside what a context takes, as of now; without
  /// contexts.
  Result<size_t> automatic_weight_budget();
  /// The most bytes that streamed weights take of a context's memory, as of arena_bound().
  Result<size_t> load_bound();
  void count_context(int more) { contexts_ += more; }

  /// The program is used again, by a context that kept sight of it.
  void touch(const Program& program) { programs_.touch(program); }
  /// Lets go of the programs with these.
  void forget(const Attachments* attachments);

 private:
  Engine(Plan plan, Backend backend);
  /// What a program is made for.
  enum class Purpose : uint8_t {
    kRun,
    kChoice,   ///< Ahead of runs, by several threads.
    kMeeting,  ///< Beside runs, by one thread, which tells the application nothing.
  };
  Result<std::shared_ptr<const Program>> make_program(const SymbolValues& symbols, int threads,
                                                      Attachments* attachments, Purpose purpose);
  Result<std::shared_ptr<const Program>> find_program(const SymbolValues& symbols, int threads,
                                                      Attachments* attachments, Purpose purpose);
  std::vector<SymbolValues> choice_shapes() const;
  std::vector<SymbolValues> shapes_by_libraries(const std::vector<SymbolValues>& shapes) const;
  void add_few_others(const std::vector<SymbolValues>& met,
                      std::vector<SymbolValues>& shapes) const;
  void note_met(size_t bytes);
  void meet(const std::vector<SymbolValues>& shapes, const std::stop_token& stop);
  Status examine_graph();
  void start_libraries();
  Status replace_graph(Plan& fresh, const Error& reason);
  void make_stores();
  void forget_programs();
  Result<ProgramBounds> bounds(int profile);
  std::shared_ptr<const StepList> known_list(const Serving& serving, const SymbolValues& symbols);
  void keep_list(const Serving& serving, const SymbolValues& symbols, const StepList& list);
  /// Kernels depend on the choice of kernels and on threads.
  using MakingKey = std::pair<Serving, int>;
  std::shared_ptr<const KnownProgram> known_program(const MakingKey& key);
  void keep_known(const MakingKey& key, const std::shared_ptr<const Program>& program);

  Plan plan_;
  std::vector<std::unique_ptr<Graph>> replaced_;  ///< Former graphs, which programs may refer to.
  Backend backend_;
  std::optional<size_t> weight_budget_;
  /// Of all constants; where weights are streamed, of the small ones and of bodies.
  std::unique_ptr<ConstantStore> constants_;
  std::unique_ptr<WeightStore> weights_;       ///< Null: none are streamed.
  std::unique_ptr<ConstantStore> of_kernels_;  ///< Of the constants that kernels keep, likewise.
  std::shared_ptr<CodeLibrary> code_;
  std::atomic<int> contexts_ = 0;
  std::vector<TacticTable> tables_;  ///< One a choice of the plan.
  std::shared_ptr<const ConstantPlaces> constant_places_;
  bool data_dependent_ = false, has_plugins_ = false;
  ExtentRules extent_rules_;
  Branches branches_;
  std::atomic<int> generation_ = 0;
  ProgramCache programs_;
  std::mutex lists_mutex_;
  /// The lists of the largest shapes so far, for each choice of kernels.
  std::map<Serving, std::shared_ptr<const StepList>> lists_;
  std::map<MakingKey, std::shared_ptr<const KnownProgram>> known_programs_;
  std::atomic<size_t> most_met_bytes_ = 0;  ///< Of the arenas of programs made ahead of runs.
  std::atomic<int> met_generation_ = -1;    ///< Of the engine, when choices were met.
  /// Shared by those who make programs, which a refit waits for; plugins are made one at a time.
  std::shared_mutex making_;
  std::mutex bounds_mutex_;
  std::map<int, ProgramBounds> program_bounds_;  ///< By profile.
  int bounds_generation_ = 0;
  std::shared_ptr<const void> loaded_code_;  ///< That of meet_choices().
  /// For one new shape at a time, behind meet_choices(); null: there are none.
  std::unique_ptr<cpu::ThreadPool> helpers_;
  std::mutex helping_;
  std::unique_ptr<LibraryStarts> starts_ = std::make_unique<LibraryStarts>();
  Background meeting_;  ///< Last: it ends first.
};

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
