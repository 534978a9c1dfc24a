#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "select/machine_pace.h"

namespace tenon {

/// Seconds that work takes which is the sum of two amounts, each at a rate of its own: learned from
/// what was measured, and where that does not tell the rates apart, both go at the common pace.
class TwoRates {
 public:
  /// First guesses of seconds for one of each amount; their ratio matters, until both were seen.
  TwoRates(double first, double second) : first_(first), second_(second) {}
  void add(double first, double second, double seconds);
  double seconds(double first, double second) const;

 private:
  double first_, second_;
  /// Sums over what was measured of the guesses x and y, seconds t, with the weight 1 / (x + y).
  double xx_ = 0, xy_ = 0, yy_ = 0, xt_ = 0, yt_ = 0, guessed_ = 0, took_ = 0;
};

/// Amounts that decide how long a kernel takes to be made and run.
struct KernelWork {
  double operations = 0;  ///< Multiplications.
  double bytes = 0;       ///< Of operands, read and written.
  double weights = 0;     ///< Bytes of constants, which it keeps in a form of its own.
};

/// How long a build's candidates will take to be tried, and its kernels to be made and run, where
/// kernels are made and timed one after the other: from the times of those that were tried. No
/// figure is a machine's: first guesses give way to what was measured.
class BuildForecast {
 public:
  BuildForecast() : BuildForecast(1, {kUsualStep, kUsualByte, kUsualByte}, 1) {}
  /// `threads`: that kernels run with. `pace`: of the machine, for first guesses. `runs`: that are
  /// asked for of each candidate, at least.
  BuildForecast(int threads, const MachinePace& pace, int runs);

  /// A candidate will be tried, was tried, or will not be.
  void will_try(const std::string& tactic, const KernelWork& work);
  /// Real seconds: to make the kernel, and for all of the trial.
  struct TrialTimes {
    double make = 0, all = 0;
    int launches = 0;           ///< 0: the kernel failed.
    bool is_preferred = false;  ///< The choice where nothing is timed.
  };
  void tried(const std::string& tactic, const KernelWork& work, const TrialTimes& times);
  void left_out(const std::string& tactic, const KernelWork& work);
  /// The plan's kernels for these are of that tactic: made as its trial made them.
  void decided(const std::string& tactic, const KernelWork& work);

  /// Of the candidates that are still to be tried.
  double trials_left() const;
  size_t count_left() const { return open_.size(); }
  /// To make kernels of a plan that keep so many bytes of weights: as trials had it, as far as
  /// there were any, until the first ones were made.
  double making(double kernels, double weights) const;
  /// The same of kernels of which nothing was measured.
  double making_others(double kernels, double weights) const;
  void made(double kernels, double weights, double seconds);
  /// To run preferred kernels once.
  double running(double operations, double bytes) const;
  /// As it was measured.
  const MachinePace& pace() const { return pace_; }

 private:
  struct Candidate {
    std::string tactic;
    KernelWork work;
    double make = 0;  ///< Seconds, once it was tried.
  };
  /// Of the trials of a tactic: making kernels, and a launch of them. Those that are far behind the
  /// best are given up: the time of all launches, and that of as many as a trial has.
  struct Trials {
    TwoRates make, launch;
    int count = 0;
    double ran = 0, planned = 0;
  };
  Trials new_trials() const;
  double seconds(const Trials& trials, const KernelWork& work) const;
  double all_launches(double launch) const;

  /// Of no machine in particular, for forecasts that are not told of one.
  static constexpr double kUsualStep = 1.5e-9, kUsualByte = 4e-10;

  double threads_;
  int runs_;
  MachinePace pace_;
  std::vector<Candidate> open_, tried_;
  std::map<std::string, Trials> trials_;
  Trials all_;
  TwoRates decided_, run_;
  double tried_weights_ = 0,
         other_weights_ = 0;  ///< Of decided kernels, by whether they were tried.
  std::optional<TwoRates> made_;
};

}  // namespace tenon
