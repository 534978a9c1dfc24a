#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/core_time.h"
#include "select/build_forecast.h"
#include "select/sequence_forecast.h"
#include "select/trial_forecast.h"

namespace tenon {

/// How far a build is, and how much longer it takes: each step is foreseen from the work that was
/// done so far, and from that of earlier builds. The first step begins with the watch. Thread-safe.
class BuildWatch {
 public:
  enum class Step { kOptimize, kChoose, kSequence, kCheck, kWrite };
  static constexpr size_t kSteps = 5;

  struct State {
    Step step = Step::kOptimize;
    double done = 0;                    ///< Share of the whole build.
    double elapsed = 0;                 ///< Seconds.
    double remaining = 0;               ///< Seconds; negative: not known yet.
    std::array<double, kSteps> left{};  ///< Of these, those of each step.
  };

  /// `ended` is told of each step that has ended, may be null. `budget`: seconds that the build may
  /// take, 0 for no limit.
  using Ended = std::function<void(Step step, double seconds, const std::string& facts)>;
  explicit BuildWatch(Ended ended = nullptr, double budget = 0);

  /// A step begins; one that runs has ended. Steps that are begun again add up.
  void begin(Step step);
  /// Work of a later step is done while another one runs, and has ended: the other goes on. Its
  /// seconds are the later step's.
  void begin_aside(Step step);
  void end_aside();
  /// Estimates start from the paces of earlier builds on this machine; those of this build are
  /// added to the file when it ends.
  void recall(std::filesystem::path file);
  /// The facts of a forecast.
  struct Known {
    const BuildForecast& kernels;
    MachinePace pace;  ///< Of the machine, beside the load that it has.
    double stretch;    ///< Times so much work takes as on a quiet machine, because of that load.
    double passes;     ///< Real seconds of the optimization passes so far.
    double before;     ///< Seconds that all steps ahead of this one take, as far as it is known.
  };
  /// Seconds of a step, asked for by any thread until the next one is given: of all of it, for
  /// steps that tell nothing of their progress, or of the work that it has not begun.
  using Forecast = std::function<double(const Known& known)>;
  enum class Span : uint8_t { kWhole, kRest };
  void foresee(Step step, Span span, Forecast forecast);
  /// The network that is built, as a number of six digits, and the number of the same network in
  /// any precision, `kin`. Of one that was built before, or else of its kin, the choice and the
  /// sequence are expected to take as long as then, until candidates are announced.
  void is_of(int network, int kin = 0);
  /// All that may be tried is known. Until then, estimates would leave out most of a build.
  void announced();
  /// The forecast of kernels, which run with so many threads and so often, starts anew.
  void begin_kernels(int threads, const MachinePace& pace, int runs);
  /// Uses the forecast of kernels, under the lock; tells it of what has just been done.
  template <class Use> void kernels(const Use& use) {
    const std::lock_guard lock(mutex_);
    kernels_.beside(core_time_.stretch());
    use(kernels_);
    kernel_done_ = Clock::now();
  }
  /// The same of kernels that are made several at a time, and of layers in their sequence; both are
  /// part of the rest of their steps. `use` of the former gets the seconds since the build
  /// began too.
  template <class Use> void trials(const Use& use) {
    const std::lock_guard lock(mutex_);
    use(trials_, elapsed());
  }
  template <class Use> void sequence(const Use& use) {
    const std::lock_guard lock(mutex_);
    use(sequence_);
    sequence_told_ = elapsed();
  }
  /// For the line that tells that the step has ended.
  void note(Step step, std::string facts);
  /// The last step has ended: all are told.
  void finish();

  State state() const;
  /// Real seconds of the step so far.
  double seconds(Step step) const;
  double elapsed() const;
  /// Whether there is a budget, and its rest is for the steps behind the choice of kernels: a check
  /// that would take more than half of it is not waited for.
  bool tuning_is_over() const;
  /// Whether there is a budget, and the check would go beyond it.
  bool has_no_time_to_check() const;
  /// Seconds of the budget that a check may still take; infinity without one.
  double left_to_check() const;
  bool has_budget() const { return budget_ > 0; }
  /// Whether tuning_is_over() was true when asked.
  bool was_cut_short() const { return cut_short_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Part {
    double seconds = 0;  ///< Of ended work.
    bool told = false;
    std::string facts;
    Forecast forecast;
    Span span = Span::kWhole;  ///< Of the forecast.
  };

  /// The first step that is not over.
  Step first() const { return waiting_.value_or(running_); }
  double seconds_in(const Part& part, Step step) const;
  double remaining_of(Step step, double before) const;
  double foreseen(Step step, double before) const;
  double trials_left() const;
  double sequence_left() const;
  double whole(Step step) const;
  void note_network();
  void stop_running();
  void tell_up_to(size_t count);

  const Ended ended_;
  const double budget_;
  const Clock::time_point start_ = Clock::now();
  mutable std::atomic<bool> cut_short_ = false;
  mutable std::mutex mutex_;
  std::array<Part, kSteps> parts_;
  std::filesystem::path file_;
  PaceBook book_;
  BuildForecast kernels_;
  Clock::time_point kernel_done_ = start_;  ///< When it last was told something.
  TrialForecast trials_;
  SequenceForecast sequence_;
  double sequence_told_ = 0;  ///< When it last was told something, in seconds of the build.
  bool is_announced_ = false;
  std::array<int, 2> networks_{};  ///< Of is_of(); 0: not told.
  /// Seconds of the steps of the last build of that network; all but two are 0.
  std::optional<std::array<double, kSteps>> before_;
  Step running_ = Step::kOptimize;
  std::optional<Step> waiting_;  ///< The step that goes on when the work aside has ended.
  bool is_running_ = true;
  CoreTime core_time_;
  Clock::time_point running_since_ = start_;
};

}  // namespace tenon
