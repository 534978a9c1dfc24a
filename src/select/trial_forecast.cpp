#include "select/trial_forecast.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "select/time_left.h"

namespace tenon {
namespace {

/// First guesses, in seconds.
constexpr double kGuessedMake = 0.05, kGuessedRun = 0.005;
/// Rounds of earlier builds weigh as much as so many of this one, and first guesses.
constexpr double kRecalledRounds = 8, kGuessedRounds = 1;
/// The chance that a round is followed by another, and kernels of one, before any was seen.
constexpr double kFollowed = 0.5, kKernels = 2;
/// Of a kernel that is being made, so much is left on average.
constexpr double kHalfMade = 0.5;
/// A tactic's makers are as many as usual until kernels were made for so many seconds.
constexpr double kSpan = 0.2;

constexpr const char* kTrialEntries = "trials of ";
constexpr size_t kTrialFigures = 4;
constexpr const char* kRoundEntries = "rounds of trials ";
constexpr size_t kRoundFigures = 4;

}  // namespace

double TrialForecast::Problem::waiting() const {
  double sum = 0;
  for (const auto& [name, open] : tactics) sum += open.made - open.tried;
  return sum;
}

void TrialForecast::recall(const PaceBook& book) {
  for (const auto& [name, figures] : book.with_prefix(kTrialEntries)) {
    if (figures.size() != kTrialFigures) continue;
    Tactic& tactic = tactics_[name];
    tactic.recalled_make = {figures[0], figures[1]};
    tactic.recalled_run = {figures[2], figures[3]};
  }
  for (size_t i = 0; i < kRounds; ++i) {
    const auto figures = book.find(kRoundEntries + std::to_string(i));
    if (figures.size() != kRoundFigures || figures[0] <= 0) continue;
    const double share = std::min(kRecalledRounds / figures[0], 1.0);
    rounds_[i] = {share * figures[0], share * figures[1], share * figures[2], share * figures[3]};
  }
}

void TrialForecast::keep(PaceBook& book) const {
  for (const auto& [name, tactic] : tactics_) {
    const Mean& make = tactic.make.count > 0 ? tactic.make : tactic.recalled_make;
    const Mean& run = tactic.run.count > 0 ? tactic.run : tactic.recalled_run;
    book.set(kTrialEntries + name, {make.seconds, make.count, run.seconds, run.count});
  }
  for (size_t i = 0; i < kRounds; ++i)
    book.set(kRoundEntries + std::to_string(i),
             {rounds_[i].count, rounds_[i].kernels, rounds_[i].ended, rounds_[i].followed});
}

void TrialForecast::may_try(const std::string& problem, const std::string& tactic,
                            bool of_library) {
  ++open_[problem].tactics[tactic].candidates;
  tactics_[tactic].of_library = of_library;
}

void TrialForecast::hold(const std::string& problem, const std::string& tactic, bool held) {
  const auto found = open_.find(problem);
  if (found == open_.end()) return;
  if (const auto own = found->second.tactics.find(tactic); own != found->second.tactics.end())
    own->second.held = held;
}

/// The first kernel behind the timing of all others begins a round.
void TrialForecast::will_make(const std::string& problem, const std::string& tactic) {
  ++tactics_[tactic].asked;
  const auto found = open_.find(problem);
  if (found == open_.end()) return;
  Problem& open = found->second;
  if (open.waiting() <= 0) {
    if (open.rounds > 0) {
      Round& last = round(open.rounds);
      ++last.ended;
      ++last.followed;
    }
    ++round(++open.rounds).count;
  }
  ++round(open.rounds).kernels;
  ++open.tactics[tactic].made;
}

void TrialForecast::makes(const std::string& tactic, double now) {
  tactics_[tactic].begun.push_back(now);
}

/// A thread tells of its kernel by the time that it took.
void TrialForecast::end(Tactic& tactic, double begun) {
  const auto found = std::ranges::min_element(
      tactic.begun, {}, [begun](double other) { return std::abs(other - begun); });
  if (found != tactic.begun.end()) tactic.begun.erase(found);
}

void TrialForecast::made(const std::string& tactic, double seconds, double now) {
  Tactic& own = tactics_[tactic];
  guessed_make_ += own.recalled_make.or_else(kGuessedMake);
  end(own, now - seconds);
  for (Tactic* one : {&own, &all_}) {
    one->make.seconds += seconds;
    ++one->make.count;
    one->squares += seconds * seconds;
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
    Open& open = found->second.tactics[tactic];
    ++open.tried;
    open.made = std::max(open.made, open.tried);
  }
}

void TrialForecast::decided(const std::string& problem) {
  const auto found = open_.find(problem);
  if (found == open_.end()) return;
  for (const auto& [name, open] : found->second.tactics)
    tactics_[name].asked -= open.made - open.tried;  // Time was up.
  if (found->second.rounds > 0) ++round(found->second.rounds).ended;
  open_.erase(found);
}

/// That problems with so many rounds get another.
double TrialForecast::chance_behind(size_t rounds) const {
  const Round& last = round(rounds);
  return (last.followed + kGuessedRounds * kFollowed) / (last.ended + kGuessedRounds);
}

double TrialForecast::kernels_of(size_t number) const {
  const Round& one = round(number);
  return (one.kernels + kGuessedRounds * kKernels) / (one.count + kGuessedRounds);
}

/// Earlier builds tell how tactics differ; this one, by how much all are off: kernels that lie in a
/// cache are made at once. The slow ones end last: kernels that are being made for longer than the
/// mean count already.
double TrialForecast::make_of(const Tactic& tactic, double now) const {
  const double off = guessed_make_ > 0 ? all_.make.seconds / guessed_make_ : 1;
  const double guess = tactic.recalled_make.or_else(kGuessedMake) * off;
  double seconds = tactic.make.seconds + guess, count = tactic.make.count + 1;
  const double mean = seconds / count;
  for (const double begun : tactic.begun) {
    if (now - begun <= mean) continue;
    seconds += now - begun;
    ++count;
  }
  return seconds / count;
}

/// Of so many that are made side by side. The largest of n numbers lies up to (n - 1) / sqrt(2 n -
/// 1) standard deviations above their mean.
double TrialForecast::slowest_of(const Tactic& tactic, double kernels, double now) const {
  const double make = make_of(tactic, now);
  if (tactic.make.count < 1 || kernels <= 1) return make;
  const double mean = tactic.make.seconds / tactic.make.count;
  const double variance = std::max(tactic.squares / tactic.make.count - mean * mean, 0.0);
  return make + (kernels - 1) / std::sqrt(2 * kernels - 1) * std::sqrt(variance);
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

/// Rounds to come of the problem that has the most of them.
struct TrialForecast::Chain {
  struct Link {
    double none = 1;  ///< The chance that no problem gets so many more rounds.
    double reaches = 0, seconds = 0;
  };
  std::array<Link, kRounds> links;
  void add(size_t more, double chance, double seconds) {
    links[more].none *= 1 - chance;
    links[more].reaches += chance;
    links[more].seconds += chance * seconds;
  }
  double seconds() const {
    double sum = 0;
    for (const Link& link : links)
      if (link.reaches > 0) sum += (1 - link.none) * link.seconds / link.reaches;
    return sum;
  }
};

/// Work that open problems may still ask for, by how many rounds problems had so far.
TrialForecast::Amounts TrialForecast::amounts(double now) const {
  Amounts sum;
  const double all = makers_of(all_, makers_);
  std::map<std::string_view, double> work;  // Seconds of each tactic's makers.
  double kernels = 0, waiting = 0, first = 0;  // Seconds until the rounds end that have begun.
  for (const auto& [name, tactic] : tactics_) {
    for (const double begun : tactic.begun)
      first = std::max(first, left_after(make_of(tactic, now), now - begun));
    const double open = std::max(tactic.asked - tactic.make.count, 0.0);
    if (open <= 0) continue;
    work[name] = open * make_of(tactic, now);
    kernels += open;
    waiting += work[name];
  }
  Chain chain;
  for (const auto& [key, problem] : open_) {
    double candidates = 0, more = 0, reaches = 1, round = 0;
    for (const auto& [name, open] : problem.tactics) {
      candidates += open.open();
      round += open.open() * (slowest_of(tactics_.at(name), kernels_of(problem.rounds + 1), now) +
                              run_of(tactics_.at(name)));
      sum.run += (open.made - open.tried) * run_of(tactics_.at(name));
    }
    for (size_t i = 0; i < kRounds && more < candidates; ++i) {
      const size_t rounds = problem.rounds + i;
      if (rounds > 0) reaches *= chance_behind(rounds);
      more += reaches * kernels_of(rounds + 1);
      chain.add(i, reaches, round / candidates);
    }
    const double share = candidates > 0 ? std::min(more / candidates, 1.0) : 0;
    for (const auto& [name, open] : problem.tactics) {
      const Tactic& tactic = tactics_.at(name);
      const double tries = share * open.open();
      work[name] += tries * make_of(tactic, now);
      sum.run += tries * run_of(tactic);
    }
  }
  sum.longest = first + chain.seconds();
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
  const Amounts sum = amounts(now);
  const double ago = last_ > 0 ? std::max(now - last_, 0.0) : 0;
  return std::max(left_after(std::max(sum.make, sum.run), ago), sum.longest);
}

}  // namespace tenon
