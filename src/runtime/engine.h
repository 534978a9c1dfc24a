#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "base/background.h"
#include "device/cpu/thread_pool.h"
#include "kernels/backend.h"
#include "ops/extent_rules.h"
#include "plan/plan.h"
#include "runtime/known_program.h"
#include "runtime/library_starts.h"
#include "runtime/program.h"
#include "runtime/program_cache.h"
#include "runtime/weight_store.h"

namespace tenon {

/// Bytes that no program of a profile exceeds: of its arena, and of streamed weights within it.
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
  /// Whether the assumptions of a form of the graph about its extents hold.
  Status check_extents(const SymbolValues& symbols) const;
  bool runs_plugins() const { return has_plugins_; }
  /// Streams beside its own that a run may use.
  int aux_stream_count() const { return aux_streams(branches_); }
  /// Position among the graph's inputs or outputs.
  std::optional<int> input_index(std::string_view name) const;
  std::optional<int> output_index(std::string_view name) const;

  /// An output in the form of the graph in which it is the largest.
  const Value& widest(const Value& tensor) const;

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
  /// Where the plan has code: loads it, and makes the programs of the shapes that kernels were
  /// chosen for, after which others are made from these. Does so once. An error of a shape is
  /// reported when that shape runs. Shapes with kernels of libraries that are not ready yet are
  /// left to another thread, which also has these load their kernels' code, and then makes the
  /// programs of all shapes of the plan where these are few.
  void meet_choices();
  /// Waits for that thread to end.
  void end_meeting() { meeting_.wait(); }
  /// Waits for the libraries that are got ready beside the loading.
  void end_starts() { starts_->end(); }
  /// The form of the graph that runs under some shapes, and the kernels in place of the ones that
  /// its nodes name; null: none.
  struct Serving {
    const Graph* graph;
    const TacticTable* tactics = nullptr;
    auto operator<=>(const Serving&) const = default;
  };
  Serving serving(const SymbolValues& symbols) const;

  /// Bytes of the constants that can be streamed from the host: the large ones outside of bodies,
  /// on a device with streams where no shapes are data-dependent.
  size_t streamable_bytes() const;
  /// Sets how many bytes of these stay on the device; nullopt: all. Fails while there are contexts.
  Status stream_weights(std::optional<size_t> budget);
  /// Bytes of weights for which the device has room beside what a context takes, as of now; without
  /// contexts.
  Result<size_t> automatic_weight_budget();
  /// The most bytes that streamed weights take of a context's memory, as of arena_bound().
  Result<size_t> load_bound();
  void count_context(int more) { contexts_ += more; }

  /// Counts as a use of the program: those used longest ago are dropped first.
  void touch(const Program& program) { programs_.touch(program); }
  /// Drops the programs that were made with these attachments.
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
  KnownPrograms known_programs(const MakingKey& key);
  void keep_known(const MakingKey& key, const std::shared_ptr<const Program>& program,
                  bool shares_list);

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
  ExtentRules extent_rules_;    ///< Of the graph.
  Graph* open_form_ = nullptr;  ///< For broadcasts that the graph does not allow for; may be null.
  ExtentRules open_rules_;      ///< Of that form.
  Branches branches_;
  std::atomic<int> generation_ = 0;
  ProgramCache programs_;
  std::mutex lists_mutex_;
  /// The lists of the largest shapes so far, for each choice of kernels.
  std::map<Serving, std::shared_ptr<const StepList>> lists_;
  /// The last ones whose lists are their own.
  std::map<MakingKey, KnownPrograms> known_programs_;
  std::atomic<size_t> most_met_bytes_ = 0;  ///< Of the arenas of programs so far.
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

}  // namespace tenon
