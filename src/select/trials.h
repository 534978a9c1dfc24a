#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "select/known_times.h"
#include "select/measure.h"
#include "select/schedule.h"
#include "select/shortlist.h"
#include "select/work_log.h"

namespace tenon {

/// Makes and times candidates, or takes their times from the cache.
class Trials {
 public:
  /// `measurer` null: one of its own.
  Trials(const SelectScope& scope, const Schedule& schedule, Measurer* measurer)
      : scope_(scope), schedule_(schedule), times_(scope) {
    if (measurer == nullptr) own_.emplace(scope.backend, scope.options.threads, scope.options.warm);
    measurer_ = measurer == nullptr ? &*own_ : measurer;
  }

  /// Makes a kernel to be timed, on any thread. Empty where nothing can be made on this one.
  Prepared make(const Problem& problem, const Option& option);
  /// Times an option, by the cache or a kernel that is there or made now.
  void run(const Problem& problem, Shortlist& list, size_t index);
  /// Times options that may be the fastest again, where they run on the host's cores: what else
  /// went on there during the first time has ended by then, or slows all of them down. Of options
  /// whose kernels were made for run().
  void run_again(const Problem& problem, Shortlist& list);
  /// The options to make now; cached ones are tried at once, and when nothing is left to make
  /// those that are not worth it are left out.
  std::vector<size_t> next(const Problem& problem, Shortlist& list);
  /// Options that are not timed are made where a limit is set.
  Status check_alone(const Problem& problem, const Option& option) const;
  bool can_be_made(const Problem& problem, const Option& option) const;

  /// Why nothing more can be tried: the device was lost, a time is not in the cache, or a monitor
  /// stopped the build.
  const std::optional<Error>& stopped() const { return stopped_; }
  void stop(Error error) { stopped_ = std::move(error); }

  Measurer& measurer() { return *measurer_; }
  double seconds() const { return seconds_; }  ///< Spent in run().
  std::string describe_work() const { return work_.describe(); }

 private:
  bool on_host() const;
  Result<double> time_of(const Problem& problem, Shortlist& list, size_t index);
  Result<double> measured(const Problem& problem, const Kernel& kernel, Sample& sample,
                          const Shortlist& list);
  Status check_workspace(double bytes) const;
  Error failed(const Problem& problem, const Option& option, const Error& error) const;
  void report_failure(const Problem& problem, const std::string& tactic, const std::string& reason);

  const SelectScope& scope_;
  const Schedule& schedule_;
  KnownTimes times_;
  std::optional<Measurer> own_;
  Measurer* measurer_ = nullptr;
  WorkLog work_;
  std::optional<Error> stopped_;
  double seconds_ = 0;
  // Of the last kernel: seconds to make it, launches to time it, and bytes of weights that it
  // packs.
  double making_ = 0;
  int launches_ = 0;
  double packed_ = 0;
};

}  // namespace tenon
