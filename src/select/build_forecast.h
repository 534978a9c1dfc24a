#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/data_type.h"
#include "select/local_rates.h"
#include "select/machine_pace.h"
#include "select/pace_book.h"
#include "select/two_rates.h"

namespace tenon {

/// Amounts that decide how long a kernel takes to be made and run.
struct KernelWork {
  double operations = 0;               ///< Multiplications.
  double bytes = 0;                    ///< Of operands, read and written.
  double weights = 0;                  ///< Bytes of constants, which it keeps in a form of its own.
  std::string_view kind = {};          ///< The operation that most of it goes to: paces differ.
  DataType type = DataType::kFloat32;  ///< Of its operands: paces differ.
  bool is_cold = false;                ///< Its trials empty caches ahead of each launch.
  /// Tells convolutions of other windows, strides and groups apart: a tactic runs them at paces of
  /// their own. 0: of no form.
  int form = 0;
};

/// How long a build's candidates will take to be tried, and its kernels to be made and run, where
/// kernels are made and timed one after the other: from the times of those that were tried. No
/// figure is a machine's: first guesses give way to measurements. Paces hold for an idle machine;
/// times that are told and asked for include its present load.
class BuildForecast {
 public:
  BuildForecast() : BuildForecast(1, {kUsualStep, kUsualByte}, 1) {}
  /// `threads`: that kernels run with. `pace`: of the machine, for first guesses. `runs`: that are
  /// asked for of each candidate, at least.
  BuildForecast(int threads, const MachinePace& pace, int runs);

  /// Starts from the paces of earlier builds, and keeps those of this one.
  void recall(const PaceBook& book);
  void keep(PaceBook& book) const;

  /// Work takes so many times as long as on a quiet machine, from here on.
  void beside(double load) { load_ = load; }
  double load() const { return load_; }

  /// A candidate will be tried, was tried, or will not be.
  void will_try(const std::string& tactic, const KernelWork& work);
  /// Real seconds: to make the kernel, and for all of the trial.
  struct TrialTimes {
    double make = 0, all = 0;
    int launches = 0;           ///< 0: the kernel failed.
    bool is_preferred = false;  ///< The choice where nothing is timed.
    double packed = 0;          ///< Bytes of weights in the kernel's own form.
    double around = 0;          ///< Of `all`: neither to make it nor in its launches.
  };
  void tried(const std::string& tactic, const KernelWork& work, const TrialTimes& times);
  void left_out(const std::string& tactic, const KernelWork& work);
  /// The kernel for it is of that tactic: made as its trial made it.
  void decided(const std::string& tactic, const KernelWork& work);

  /// The trial of a candidate begins.
  void trying(const std::string& tactic, const KernelWork& work);
  /// Its first launches have ended; so many follow, which take so many seconds.
  void launched(double seconds, int launches);

  /// Of the candidates that are still to be tried, without the one that is being tried.
  double trials_left() const;
  /// Seconds that the trial under way still takes from the last message on; nothing outside trials.
  std::optional<double> trial_left() const { return current_; }

  /// A layer's kernel will be made for the plan.
  void will_make(const KernelWork& work);
  /// It was made, in so many seconds, and keeps so many bytes of weights in a form of its own.
  void made(const KernelWork& work, double kept, double seconds);
  /// A kernel that is not the plan's was made in so many seconds, and keeps so many bytes. Its time
  /// tells something until others were made: it gets new memory.
  void made_other(const KernelWork& work, double kept, double seconds);
  /// It ran once, in so many seconds: the same.
  void ran_other(const KernelWork& work, double seconds);
  /// The plan ran for a check: so many kernels, whose values were kept, in so many bytes; with the
  /// weights, where these went to another device.
  void ran_there(double kernels, double bytes, double seconds);
  double running_there(double kernels, double bytes) const;
  /// The same on the host's own cores, without the kernels' known times: values that go to memory
  /// of their own.
  void kept_values(double kernels, double bytes, double seconds);
  double keeping_values(double kernels, double bytes) const;
  /// An evaluation with rounding took so much longer than one without, for constants of so many
  /// bytes that are rounded first; and will.
  void rounded(double bytes, double seconds);
  double rounding(double bytes) const { return load_ * rounding_.seconds(1, bytes); }
  /// To make and run such kernels one after the other, where this or an earlier build did: of all
  /// kernels, by their number, weights, multiplications and bytes.
  std::optional<double> others(double kernels, const KernelWork& work) const;
  /// Of the plan's kernels: as their trials had it, or as usual for weights that others keep too.
  double making_left() const;
  /// The same of any kernels, by their number and weights.
  double making(double kernels, double weights) const;
  /// Bytes that the plan has more of, because kernels keep larger forms of their weights.
  double packed_more() const;
  /// Plans of so many bytes were put together in so many seconds; and will be.
  void wrote(double bytes, double seconds);
  double writing(double bytes) const { return load_ * writing_.seconds(1, bytes); }
  /// To run the plan's kernels once; all of a network's, before these are known.
  double running(double operations, double bytes) const;
  /// Outputs of a plan with rounded products were compared: whether they deviated; and how likely
  /// those of the next one do.
  void compared_outputs(bool deviate);
  double chance_to_deviate() const;
  /// As it was measured.
  const MachinePace& pace() const { return pace_; }

 private:
  struct Candidate {
    std::string tactic;
    KernelWork work;
  };
  /// Of the trials of a tactic: making kernels, and a launch of them.
  struct Trials {
    TwoRates make;
    LocalRates launch;
    double count = 0;
    double share() const { return count * count / (count * count + 1); }  ///< Beside usual ones.
  };
  static std::vector<double> learned(const Trials& trials);
  static void recall(Trials& trials, std::span<const double> learned);
  /// Of entries in the book: kernels run with a number of threads.
  std::string prefix_of(std::string_view entries) const;
  /// Layers of the same work.
  struct Layers {
    int open = 0;
    int count = 0;
    double weights = 0;
    DataType type = DataType::kFloat32;
    std::string kind;
    double make = -1;  ///< Seconds, of the kernel that was decided for; -1: it was not tried.
    /// Seconds, of the fastest that was tried.
    double launch = std::numeric_limits<double>::infinity();
    std::map<std::string, double> makes;  ///< Seconds, of each tactic's trial.
    std::map<std::string, double> packs;  ///< Bytes of weights in a tactic's own form.
    std::set<std::string> tactics;        ///< That may be decided for.
    /// Bytes of weights in the kernel's own form, `otherwise` where no trial told.
    double packed(double otherwise) const;
  };
  using Key = std::pair<double, double>;
  static Key key(const KernelWork& work) { return {work.operations, work.bytes}; }
  using Kinds = std::map<std::string, LocalRates, std::less<>>;
  LocalRates& of_kind(Kinds& kinds, std::string_view kind) const;
  const TwoRates& making_of(std::string_view kind) const;
  Trials new_trials() const;
  double launches(const KernelWork& work, double launch, double best) const;
  double make_of(const KernelWork& work, const Layers& layers) const;
  double new_memory(double bytes) const;
  double usual_launch(const KernelWork& work) const;
  double usual_make(const KernelWork& work) const;
  double kept_of(const KernelWork& work) const;
  const Trials* trials_of(const std::string& name) const;
  double launch_of(const Candidate& candidate) const;
  double make_of(const Candidate& candidate) const;
  double best_tried(const KernelWork& work) const;
  double trial_of(const Candidate& candidate, double launch, double best) const;
  double around(const KernelWork& work, double launches) const;
  double guessed(double kernels, double weights) const;
  double guessed_launch(const KernelWork& work) const;

  /// Of no machine in particular, for forecasts that are not told of one.
  static constexpr double kUsualStep = 1.5e-9, kUsualByte = 4e-10;

  double threads_;
  double load_ = 1;
  int runs_;
  MachinePace pace_;
  std::vector<Candidate> open_;
  std::map<std::string, Trials> trials_;  ///< Of tactics and types, and of these with a form.
  Trials all_;
  /// Work of trials besides making kernels and launching them: binding operands, comparing results,
  /// emptying caches between cold launches.
  TwoRates around_warm_, around_cold_;
  std::map<Key, Layers> layers_;
  /// The share of weights that kernels which are not the plan's keep, by the number of weights.
  std::map<double, double> others_;
  std::map<std::string, TwoRates, std::less<>> making_;  ///< Of the plan's kernels, by kind.
  TwoRates other_making_, other_run_;                    ///< Of kernels that are not the plan's.
  TwoRates there_;                                  ///< On another device, by kernels and bytes.
  TwoRates keeping_;                                ///< Of a plan's values, by both.
  TwoRates rounding_;                               ///< Of constants.
  bool knows_others_ = false, has_others_ = false;  ///< From any build; from this one.
  Kinds kinds_;                                     ///< Of preferred kernels, by kind.
  /// Of kernels that are not the plan's, by kind, in ascending order: the seconds of a run over the
  /// guess of them. Each ran once: the median tells nothing of runs that were stopped on the way.
  std::map<std::string, std::vector<double>, std::less<>> other_kinds_;
  std::optional<double> current_;
  KernelWork running_;          ///< Of the trial under way.
  double said_ = 0, took_ = 0;  ///< Of the plan's kernels that were made.
  /// Trials find memory that is there, the plan's kernels need new one: a first guess of the time
  /// for that, and how much longer than its trial each kernel took; of this build and earlier ones.
  struct NewMemory {
    double guessed = 0, took = 0;
  };
  NewMemory new_memory_, new_before_;
  /// Bytes of weights that the plan's kernels of a kind keep, and have: tables are read as they
  /// are.
  struct Weights {
    double kept = 0, given = 0;
  };
  std::map<std::string, Weights, std::less<>> weights_;
  TwoRates writing_;                             ///< Of a plan, and of its bytes.
  double deviating_ = 0, outputs_compared_ = 0;  ///< Plans, of all builds.
};

}  // namespace tenon
