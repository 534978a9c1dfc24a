#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "select/pace_book.h"

namespace tenon {

/// How long candidates still take to be tried where kernels are made several at a time while others
/// are timed. Two estimates are joined. One counts the work that is known, from the times of
/// earlier kernels and from how often tactics went on to another stage of configurations. Three
/// things hold it up: the cores' seconds that kernels take, the kernels being made with the rounds
/// of the problem that has the most of them behind them, and the timing, which is one by one. The
/// other estimate knows how long the choices of earlier builds took for so many problems, also for
/// the work that shows late.
///
/// A tactic's name may have parts, each behind a slash: where "tactic/engine" is unknown, the
/// figures of "tactic" stand in, and where these are unknown, the figures of all tactics.
class TrialForecast {
 public:
  /// `begun`: seconds of the build, as below.
  explicit TrialForecast(double cores = 1, double begun = 0) : cores_(cores), begun_(begun) {}
  TrialForecast(TrialForecast&&) = default;
  TrialForecast& operator=(TrialForecast&&) = default;

  /// Starts from earlier builds, and keeps the paces of this one. `is_whole`: nothing that could be
  /// tried was left out for want of time.
  void recall(const PaceBook& book);
  void keep(PaceBook& book, bool is_whole = true) const;

  /// A problem has one more candidate of a tactic, which may be tried.
  void may_try(const std::string& problem, const std::string& tactic);
  /// The problem's candidates of a tactic wait for another problem (select/pilots.h); and that is
  /// decided, for so many problems at once: they may be tried, or will not be.
  void wait(const std::string& problem, const std::string& tactic);
  void let_go(const std::string& problem, const std::string& tactic, bool tries,
              size_t problems = 1);
  /// Its kernel is to be made.
  void will_make(const std::string& problem, const std::string& tactic);
  /// Some thread begins to make one. `now`: seconds since the build began, as below.
  void makes(const std::string& tactic, double now);
  /// It has made one in so many seconds, and was on a core for some of them.
  struct Making {
    double all = 0, on_core = 0;
  };
  void made(const std::string& tactic, const Making& seconds, double now);
  /// It was timed in so many seconds.
  void tried(const std::string& problem, const std::string& tactic, double seconds, double now);
  /// The rest of the problem's candidates will not be tried.
  void decided(const std::string& problem);

  double left(double now) const;
  /// The same by the work that is known, and by earlier builds alone, when so many seconds of the
  /// choice have passed.
  double by_work(double now) const;
  double by_earlier_builds(double passed) const;

 private:
  /// The sum of seconds, and of how many.
  struct Mean {
    double seconds = 0, count = 0;
    void add(double one) { seconds += one, ++count; }
    double or_else(double guess) const { return count > 0 ? seconds / count : guess; }
    Mean behind(const Mean& earlier) const;
  };
  /// The n-th stages of a tactic for its problems: how many there were, with how many kernels; how
  /// many have ended, and were followed by another.
  struct Stage {
    double count = 0, kernels = 0, ended = 0, followed = 0;
  };
  static constexpr size_t kStages = 6;
  using Stages = std::array<Stage, kStages>;  ///< The last one stands for all behind it.
  struct Tactic {
    Tactic* wider = nullptr;  ///< All tactics that it is one of.
    std::vector<Making> made;
    Mean core, run;             ///< To make one, on a core; to time one.
    double squares = 0;         ///< The sum of those of seconds on a core.
    std::vector<double> begun;  ///< When those began that are being made.
    double asked = 0;           ///< Kernels to be made in this build, also the finished ones.
    Mean recalled_core, recalled_run;
    Stages stages;
    double waited = 0, let_go = 0;  ///< Problems that were waited for; and let candidates be tried.
  };
  /// Candidates of one tactic.
  struct Open {
    double candidates = 0, made = 0, tried = 0;  ///< `made`: or to be made.
    bool waits = false;
    size_t stages = 0;      ///< That have begun.
    size_t last_round = 0;  ///< Of the problem, in which there were some of its kernels.
  };
  struct Problem {
    std::map<std::string, Open> tactics;
    size_t rounds = 0;  ///< That have begun.
    double waiting() const;
  };
  /// Seconds of each thing that may hold up the rest.
  struct Amounts {
    double make = 0, run = 0, first = 0, rounds = 0, behind = 0;
  };

  struct RoundsToCome;
  struct Chain;
  Tactic& of(const std::string& name);
  template <class Use> void for_wider(const std::string& name, const Use& use);
  Open* find(const std::string& problem, const std::string& tactic);
  static void end(Tactic& tactic, double begun);
  void end_round(const Problem& problem);
  double chance_behind(const Tactic& tactic, size_t stages) const;
  double kernels_of(const Tactic& tactic, size_t stage) const;
  static double chance_to_be_tried(const Tactic& tactic);
  std::array<double, kStages> chances(const Problem& problem, const std::string& tactic) const;
  static double recalled_core_of(const Tactic& tactic);
  static double recalled_run_of(const Tactic& tactic);
  double off() const;
  double core_of(const Tactic& tactic, double longer_than = 0) const;
  double rest_of(const Tactic& tactic, double age) const;
  double slowest_of(const Tactic& tactic, double kernels) const;
  double run_of(const Tactic& tactic) const;
  double pace_of(const Tactic& tactic) const;
  double spent(double now) const;
  double busy_cores(double now) const;
  Amounts amounts(double now) const;
  double guessed_whole() const;

  double cores_, begun_;
  std::map<std::string, Tactic> tactics_;  ///< That of no name stands for all.
  std::map<std::string, Problem> open_;
  double problems_ = 0;
  /// Of earlier builds' whole choices: logarithms of their seconds over the guess of them.
  Mean wholes_;
  double guessed_core_ = 0, guessed_run_ = 0;  ///< Of those made and timed, by earlier builds.
  std::optional<double> since_;  ///< The first that was made, less the time that it took.
  double last_made_ = 0;         ///< When the last one was made.
  /// When each one was made, and the seconds on cores of all until then.
  std::vector<std::pair<double, double>> spent_;
  double last_ = 0;  ///< When the last one was made or timed.
};

}  // namespace tenon
