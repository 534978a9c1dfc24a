#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "select/agreement.h"
#include "select/select.h"

namespace tenon {

/// Everything that a choice of kernels is made from.
struct SelectScope {
  const Backend& backend;
  const SelectOptions& options;
  TimingCache& cache;
  bool described;  ///< The device is not there.
};

/// A tactic in one configuration.
struct Option {
  const Tactic* tactic;
  std::string config;
  size_t place = 0;  ///< Among the tactic's configurations, which come best first.
  /// Of the stage at the end of a range (select/stages.h).
  bool of_end_stage = false;

  std::string text() const { return join_tactic(tactic->name, config); }
  /// For each problem anew, by a library.
  bool is_planned() const { return tactic->traits.planned_each; }
};

/// Empty: not made yet.
using Prepared = std::optional<Result<std::unique_ptr<Kernel>>>;

/// Outcome of an option.
struct Trial {
  Prepared kernel;
  std::optional<Result<double>> time;  ///< Empty: not tried yet, or left out.
  Sample sample;
  bool left_out = false;
  bool late = false;  ///< Left out for lack of time.
};

/// The tactics that fit a problem, in the table's order, and the reasons against the rest.
struct Shortlist {
  std::vector<Option> fitting;
  std::vector<Trial> trials;  ///< Of `fitting`, where more than one fits.
  std::vector<Candidate> unfit;
  std::vector<Option> spare;  ///< Of `unfit`: for where all that fits fails.
  bool made = false;
  bool is_brief = false;  ///< Timed by fewer launches.
  RangeEnd end = RangeEnd::kNone;
  bool is_short = false;            ///< Of kernels that were good elsewhere.
  bool remembered = false;          ///< From the timing cache: exactly the options tried then.
  std::vector<const Tactic*> held;  ///< Are not tried, as yet or at all (select/pilots.h).
  bool waits = false;               ///< Until it is known whether these are tried.
  std::optional<std::vector<Candidate>> measured;  ///< The best first.

  /// Milliseconds of the fastest that was tried.
  double best() const;
  /// Whether one that is no fallback takes the problem and is not planned for it.
  bool serves_without_planned() const;
  bool is_held(const Option& option) const;
  /// Kernels that are made for the same layer under the usual shapes have code here as well.
  void take_made(const Shortlist& usual);
};

/// Lists the candidates of problems. Thread-safe as long as the cache does not change.
class Shortlister {
 public:
  explicit Shortlister(const SelectScope& scope) : scope_(scope) {}
  /// From the timing cache, where it has all of it: libraries take their time to propose.
  Shortlist list(const Problem& problem) const { return list(problem, scope_.options.end); }
  /// The same under the usual shapes or at an end.
  Shortlist list(const Problem& problem, RangeEnd end) const;
  /// Some tactics, and what their rows propose beside them.
  Shortlist list_among(const Problem& problem, std::span<const std::string> tactics,
                       Proposals proposals) const;
  /// Keeps in the cache how many candidates there were, once the times of all are known.
  void remember(const Problem& problem, const Shortlist& list);

 private:
  Shortlist list(const Problem& problem,
                 FunctionRef<std::vector<std::string>(const Tactic&)> configs) const;
  bool is_outdone_in_f32(const Tactic& tactic, const Problem& problem) const;
  size_t limit() const;
  bool keeps_lists() const;
  std::string list_key(const Problem& problem, RangeEnd end, bool is_short = false) const;
  std::vector<std::string> configs_of(const Tactic& tactic, const Problem& problem) const;

  const SelectScope& scope_;
};

}  // namespace tenon
