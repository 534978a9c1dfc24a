#include "select/trial_forecast.h"

#include <algorithm>
#include <string_view>

#include "select/time_left.h"

namespace tenon {
namespace {

/// First guesses, in seconds.
constexpr double kGuessedMake = 0.05, kGuessedRun = 0.005;
/// So many candidates of earlier builds, and of all tactics together, weigh as much as those of a
/// tactic itself.
constexpr double kRecalledCandidates = 4, kCommonCandidates = 2;
/// The part of a tactic's candidates that is tried, before any problem is decided.
constexpr double kTriedShare = 0.5;
/// Kernels of a stage behind the first.
constexpr double kStageKernels = 2;
/// Of a kernel that is being made, so much is left on average.
constexpr double kHalfMade = 0.5;
/// A tactic's makers are as many as usual until kernels were made for so many seconds.
constexpr double kSpan = 0.2;

constexpr const char* kTrialEntries = "trials of ";
constexpr size_t kTrialFigures = 6;

}  // namespace

void TrialForecast::recall(const PaceBook& book) {
  for (const auto& [name, figures] : book.with_prefix(kTrialEntries)) {
    if (figures.size() != kTrialFigures) continue;
    Tactic& tactic = tactics_[name];
    tactic.recalled_make = {figures[0], figures[1]};
    tactic.recalled_run = {figures[2], figures[3]};
    const double weight = figures[4] > 0 ? std::min(kRecalledCandidates / figures[4], 1.0) : 0;
    for (Tactic* one : {&tactic, &all_}) {
      one->candidates += weight * figures[4];
      one->needed += weight * figures[5];
    }
  }
}

void TrialForecast::keep(PaceBook& book) const {
  for (const auto& [name, tactic] : tactics_) {
    const Mean& make = tactic.make.count > 0 ? tactic.make : tactic.recalled_make;
    const Mean& run = tactic.run.count > 0 ? tactic.run : tactic.recalled_run;
    book.set(kTrialEntries + name,
             {make.seconds, make.count, run.seconds, run.count, tactic.candidates, tactic.needed});
  }
}

void TrialForecast::may_try(const std::string& problem, const std::string& tactic,
                            bool of_library) {
  ++open_[problem][tactic].candidates;
  tactics_[tactic].of_library = of_library;
}

void TrialForecast::will_make(const std::string& problem, const std::string& tactic) {
  if (const auto found = open_.find(problem); found != open_.end()) ++found->second[tactic].made;
  ++tactics_[tactic].asked;
}

void TrialForecast::made(const std::string& tactic, double seconds, double now) {
  Tactic& own = tactics_[tactic];
  guessed_make_ += own.recalled_make.or_else(kGuessedMake);
  for (Tactic* one : {&own, &all_}) {
    one->make.seconds += seconds;
    ++one->make.count;
    one->since = std::min(one->since.value_or(now), now - seconds);
    one->last = now;
  }
  last_ = now;
}

void TrialForecast::tried(const std::string& problem, const std::string& tactic, double seconds,
                          double now) {
  Tactic& own = tactics_[tactic];
  guessed_run_ += own.recalled_run.or_else(kGuessedRun);
  for (Tactic* one : {&own, &all_}) {
    one->run.seconds += seconds;
    ++one->run.count;
  }
  last_ = now;
  if (const auto found = open_.find(problem); found != open_.end()) {
    Open& open = found->second[tactic];
    ++open.tried;
    open.made = std::max(open.made, open.tried);
  }
}

void TrialForecast::decided(const std::string& problem) {
  const auto found = open_.find(problem);
  if (found == open_.end()) return;
  for (const auto& [name, open] : found->second) {
    Tactic& own = tactics_[name];
    own.asked -= open.made - open.tried;  // Time was up.
    for (Tactic* one : {&own, &all_}) {
      one->candidates += open.candidates;
      one->needed += open.tried;
    }
  }
  open_.erase(found);
}

double TrialForecast::share_of(const Tactic& tactic) const {
  const double common =
      (all_.needed + kCommonCandidates * kTriedShare) / (all_.candidates + kCommonCandidates);
  return (tactic.needed + kCommonCandidates * common) / (tactic.candidates + kCommonCandidates);
}

/// Earlier builds tell how tactics differ; this one, by how much all are off: kernels that lie in a
/// cache are made at once.
double TrialForecast::make_of(const Tactic& tactic) const {
  const double off = guessed_make_ > 0 ? all_.make.seconds / guessed_make_ : 1;
  const double guess = tactic.recalled_make.or_else(kGuessedMake) * off;
  return (tactic.make.seconds + guess) / (tactic.make.count + 1);
}

double TrialForecast::run_of(const Tactic& tactic) const {
  const double off = guessed_run_ > 0 ? all_.run.seconds / guessed_run_ : 1;
  const double guess = tactic.recalled_run.or_else(kGuessedRun) * off;
  return (tactic.run.seconds + guess) / (tactic.run.count + 1);
}

/// Seconds of making that go by in one of the build's, so far; first, as many as usual.
double TrialForecast::makers_of(const Tactic& tactic, double usual) const {
  const double span = tactic.since ? tactic.last - *tactic.since : 0;
  const double makers = (tactic.make.seconds + kSpan * usual) / (span + kSpan);
  return std::max(makers, 1.0);
}

TrialForecast::Amounts TrialForecast::amounts() const {
  Amounts sum;
  const double all = makers_of(all_, makers_);
  std::map<std::string_view, double> work;  // Seconds of each tactic's makers.
  double kernels = 0, waiting = 0;
  for (const auto& [name, tactic] : tactics_) {
    const double open = std::max(tactic.asked - tactic.make.count, 0.0);
    if (open <= 0) continue;
    work[name] = open * make_of(tactic);
    kernels += open;
    waiting += work[name];
  }
  for (const auto& [problem, tactics] : open_)
    for (const auto& [name, open] : tactics) {
      const Tactic& tactic = tactics_.at(name);
      const double make = make_of(tactic), run = run_of(tactic);
      const double tries = std::max(share_of(tactic) * open.candidates, open.made);
      work[name] += (tries - open.made) * make;
      sum.run += (tries - open.tried) * run;
      const double first = open.made > open.tried ? kHalfMade : 0;
      sum.longest =
          std::max(sum.longest, (first + (tries - open.made) / kStageKernels) * make + run);
    }
  // Threads are halfway through theirs.
  double seconds = kernels > 0 ? -kHalfMade * std::min(kernels, all) * waiting / kernels : 0;
  for (const auto& [name, one] : work) {
    const Tactic& tactic = tactics_.find(std::string(name))->second;
    if (tactic.of_library) sum.make = std::max(sum.make, one / makers_of(tactic, all));
    seconds += one;
  }
  sum.make = std::max(sum.make, seconds / all);
  return sum;
}

double TrialForecast::left(double now) const {
  const Amounts sum = amounts();
  const double left = std::max({sum.make, sum.run, sum.longest});
  const double ago = last_ > 0 ? std::max(now - last_, 0.0) : 0;
  return left_after(left, ago);
}

}  // namespace tenon
