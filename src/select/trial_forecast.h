#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "select/pace_book.h"

namespace tenon {

/// How long candidates still take to be tried where kernels are made several at a time while others
/// are timed: from the times of earlier ones, and from how many of a tactic's candidates
/// problems that are decided needed. Four things may hold up the rest, and the longest counts: all
/// kernels by the rate at which they were made so far, those of a library by its own, since it
/// makes one at a time, the stages of one problem, which follow each other, and the timing, which
/// is one by one. Seconds are real ones.
class TrialForecast {
 public:
  explicit TrialForecast(double makers = 1) : makers_(makers) {}

  /// Starts from earlier builds, and keeps the paces of this one.
  void recall(const PaceBook& book);
  void keep(PaceBook& book) const;

  /// A problem has one more candidate of a tactic, which may be tried.
  void may_try(const std::string& problem, const std::string& tactic, bool of_library = false);
  /// Its kernel is to be made.
  void will_make(const std::string& problem, const std::string& tactic);
  /// Some thread has made one in so many seconds. `now`: since the build began, as below.
  void made(const std::string& tactic, double seconds, double now);
  /// It was timed in so many seconds.
  void tried(const std::string& problem, const std::string& tactic, double seconds, double now);
  /// The rest of the problem's candidates will not be tried.
  void decided(const std::string& problem);

  double left(double now) const;

 private:
  /// The sum of seconds, and of how many.
  struct Mean {
    double seconds = 0, count = 0;
    double or_else(double guess) const { return count > 0 ? seconds / count : guess; }
  };
  struct Tactic {
    Mean make, run;
    double asked = 0;  ///< Kernels to be made in this build, also the finished ones.
    /// Of decided problems: candidates, and how many of them were tried.
    double candidates = 0, needed = 0;
    Mean recalled_make, recalled_run;
    std::optional<double> since;  ///< The first that was made, less the time that it took.
    double last = 0;              ///< When the last one was made.
    bool of_library = false;
  };
  /// Candidates of one tactic.
  struct Open {
    double candidates = 0, made = 0, tried = 0;  ///< `made`: or to be made.
  };
  using OpenTactics = std::map<std::string, Open>;
  struct Amounts {
    double make = 0, run = 0, longest = 0;  ///< Seconds; of makers that work side by side.
  };

  double share_of(const Tactic& tactic) const;
  double make_of(const Tactic& tactic) const;
  double run_of(const Tactic& tactic) const;
  Amounts amounts() const;
  double makers_of(const Tactic& tactic, double usual) const;

  double makers_;  ///< Threads, before any kernel was made.
  std::map<std::string, Tactic> tactics_;
  Tactic all_;
  std::map<std::string, OpenTactics> open_;
  double guessed_make_ = 0, guessed_run_ = 0;  ///< Of those made and timed, by earlier builds.
  double last_ = 0;                            ///< When the last one was made or timed.
};

}  // namespace tenon
