#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "ir/graph.h"
#include "kernels/backend.h"
#include "plan/concrete_graph.h"
#include "select/build_watch.h"
#include "select/timing_cache.h"

namespace tenon {

class BuildRecord;
class Measurer;
class KernelChooser;

/// Why each tactic was or was not taken for a node: one line each, the chosen one first.
struct Candidate {
  std::string tactic;        ///< With its configuration.
  double milliseconds = -1;  ///< -1: not measured.
  std::string reason;        ///< Why not, where it does not fit.
  size_t workspace = 0;      ///< Bytes, of one that was timed.
};

/// Shapes of a range beside the usual ones.
struct RangeShapes {
  std::vector<SymbolValues> ends;     ///< All kernels are candidates there.
  std::vector<SymbolValues> between;  ///< Those near the best at the ends are, and proposals.
  std::vector<SymbolValues> others;   ///< The best of both neighbours are, and a proposal.
  /// Other forms of the graph, with views, for the usual shapes and the ends. Layers of
  /// theirs alone are tried by the kernels that were near the best for a layer of as much work.
  std::vector<const Graph*> forms;
};

/// Where shapes lie in a range.
enum class RangeEnd : uint8_t { kNone, kSmaller, kLarger };

/// How many configurations tactics propose for a problem itself, beside the ones that others offer.
struct Proposals {
  size_t most = 1;
  bool of_first_alone = false;  ///< Of the tactic that is offered first alone.
  bool unless_there = false;    ///< None where the one that it expects to be the best is offered.
};
inline constexpr Proposals kNoProposals{0}, kOneOfFirst{1, true};

struct SelectOptions {
  /// 0: the first kernel that fits, no timing. 3: all tactics, those that take long to make in
  /// stages (select/stages.h). From 4 on every candidate.
  int level = 3;
  int average_runs = 8;     ///< Launches a candidate is timed over, at least.
  bool brief = false;       ///< Fewer launches, on a device with streams.
  int max_candidates = -1;  ///< Per layer; -1: by level.
  int threads = 1;          ///< CPU.
  bool use_cache = true;
  bool fail_on_cache_miss = false;
  /// Layers have entries of their own in the cache, which the application may change
  /// (select/operation_cache.h), and the log lists the candidates of each.
  bool editable_cache = false;
  size_t workspace_limit = SIZE_MAX;
  /// By node name: tactics that were chosen before and are taken without a look at others.
  std::map<std::string, std::string> chosen;
  bool warm = false;  ///< The device was busy until now.
  /// Kernels will meet shapes while an application waits: kernels planned for each
  /// shape anew, for milliseconds, are candidates only where nothing else but fallbacks is.
  bool many_shapes = false;
  /// Of each layer, how many kernels near the best are tried in its place in sequence.
  size_t rivals = 4;
  RangeEnd end = RangeEnd::kNone;  ///< There tactics have fewer stages (select/stages.h).
  bool of_form = false;            ///< RangeShapes::forms may have been tried by few kernels.
  /// Other shapes whose candidates are tried at the same time, so that choose_tactics() finds their
  /// times in the cache. Not where the build's time is limited.
  RangeShapes beside;
  /// By problem_key(): the only tactics to look at, where one of them fits.
  std::map<std::string, std::vector<std::string>> offered;
  Proposals proposals = kOneOfFirst;  ///< Beside these.
  /// Told after each layer; false stops the build. May be null.
  std::function<bool(int step, int steps)> progress;
  /// False for tactics that may not be used; null allows all.
  std::function<bool(const Tactic&)> allowed;
  /// Told of layers for which the device has kernels that are left out, since the plan is for a
  /// family of GPUs; from several threads. May be null.
  std::function<void(std::string_view layer)> left_out;
  /// Told of each layer that gets a kernel and of all that it was chosen from; may be null.
  std::function<void(const Node& node, std::span<const Candidate> candidates)> record;
  /// Chooses among all candidates of each layer, which then has that kernel under all shapes; may
  /// be null.
  KernelChooser* chooser = nullptr;
  /// Called when the first candidates are listed and none is tried yet, for work that must not run
  /// beside trials; may be null.
  std::function<void()> before_trials;
  /// Called when all candidates were tried and layers are about to be timed in their sequence,
  /// which leaves most cores idle; may be null.
  std::function<void(const Graph& graph)> after_trials;
  /// Told how far the choice is; ends it early where the build's time is up. May be null.
  BuildWatch* watch = nullptr;
  Logger* logger = nullptr;
  /// Is told what was tried and found, for reports; may be null.
  BuildRecord* notes = nullptr;
};

/// Gives every node of the graph its tactic: views first, then for each layer the fastest of the
/// candidates, measured under the usual extents. A later candidate must win by a margin, so that
/// builds repeat. Layers whose shapes are data-dependent are left open: the runtime takes the first
/// kernel that fits.
Status select_tactics(Graph& graph, const Backend& backend, const SymbolValues& symbols,
                      const SelectOptions& options, TimingCache& cache);

struct Layers;  // select/sequence_runner.h

/// For each layer its tactic, the tactics close to it, the best first, and the times of all tactics
/// that were timed.
struct Tactics {
  std::vector<std::string> best;
  std::vector<std::vector<std::string>> near;
  std::vector<std::map<std::string, double>> milliseconds;
  std::optional<double> sequence;  ///< Milliseconds of all, where they were tried in sequence.
};
/// The same for layers by themselves, which keep what they have; `in_sequence`: nothing else stands
/// between them. `measurer` has memory from problem to problem; null: one of their own.
Result<Tactics> choose_tactics(const Layers& layers, const Backend& backend,
                               const SelectOptions& options, TimingCache& cache, bool in_sequence,
                               Measurer* measurer = nullptr);

/// Tries the candidates of all problems at once, so that choose_tactics() finds their times in the
/// cache.
Status try_candidates(std::span<const Problem> problems, const Backend& backend,
                      const SelectOptions& options, TimingCache& cache, Measurer* measurer);

/// The candidates of select_tactics() for one problem.
Result<std::vector<Candidate>> list_candidates(const Backend& backend, const Problem& problem,
                                               const SelectOptions& options, TimingCache& cache);

}  // namespace tenon
