#include "select/trial_forecast.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "select/time_left.h"

namespace tenon {
namespace {

/// First guesses, in seconds.
constexpr double kGuessedMake = 0.1, kGuessedRun = 0.005;
/// Stages of earlier builds weigh as much as so many of this one, and those of all tactics, and
/// first guesses.
constexpr double kRecalledStages = 8, kCommonStages = 1, kGuessedStages = 1;
/// The chance that a stage is followed by another, and kernels of one, before any was seen.
constexpr double kFollowed = 0.5, kKernels = 2;
/// That candidates which waited are tried.
constexpr double kLetGo = 0.1;
/// All cores are taken to be busy until kernels were made for so many seconds.
constexpr double kSpan = 0.2;

constexpr const char* kTrialEntries = "trials of ";
constexpr size_t kTrialFigures = 6;
constexpr const char* kStageEntries = "stages of trials ";
constexpr size_t kStageFigures = 4;

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
    tactic.recalled_core = {figures[0], figures[1]};
    tactic.recalled_run = {figures[2], figures[3]};
    const double share = figures[4] > 0 ? std::min(kRecalledStages / figures[4], 1.0) : 0;
    tactic.waited = share * figures[4];
    tactic.let_go = share * figures[5];
  }
  for (const auto& [name, figures] : book.with_prefix(kStageEntries)) {
    if (figures.size() != kStages * kStageFigures) continue;
    Stages& stages = name.empty() ? stages_ : tactics_[name].stages;
    for (size_t i = 0; i < kStages; ++i) {
      const auto one = figures.subspan(i * kStageFigures, kStageFigures);
      if (one[0] <= 0) continue;
      const double share = std::min(kRecalledStages / one[0], 1.0);
      stages[i] = {share * one[0], share * one[1], share * one[2], share * one[3]};
    }
  }
}

void TrialForecast::keep(PaceBook& book) const {
  for (const auto& [name, tactic] : tactics_) {
    const Mean& core = tactic.core.count > 0 ? tactic.core : tactic.recalled_core;
    const Mean& run = tactic.run.count > 0 ? tactic.run : tactic.recalled_run;
    book.set(kTrialEntries + name,
             {core.seconds, core.count, run.seconds, run.count, tactic.waited, tactic.let_go});
  }
  const auto keep_stages = [&](const std::string& name, const Stages& stages) {
    std::vector<double> figures;
    for (const Stage& one : stages)
      figures.insert(figures.end(), {one.count, one.kernels, one.ended, one.followed});
    book.set(kStageEntries + name, std::move(figures));
  };
  keep_stages({}, stages_);
  for (const auto& [name, tactic] : tactics_) keep_stages(name, tactic.stages);
}

void TrialForecast::may_try(const std::string& problem, const std::string& tactic,
                            bool of_library) {
  ++open_[problem].tactics[tactic].candidates;
  tactics_[tactic].of_library = of_library;
}

TrialForecast::Open* TrialForecast::find(const std::string& problem, const std::string& tactic) {
  const auto found = open_.find(problem);
  if (found == open_.end()) return nullptr;
  const auto own = found->second.tactics.find(tactic);
  return own == found->second.tactics.end() ? nullptr : &own->second;
}

void TrialForecast::wait(const std::string& problem, const std::string& tactic) {
  if (Open* const open = find(problem, tactic)) open->waits = true;
}

void TrialForecast::let_go(const std::string& problem, const std::string& tactic, bool tries) {
  Open* const open = find(problem, tactic);
  if (open == nullptr || !std::exchange(open->waits, false)) return;
  Tactic& own = tactics_[tactic];
  ++own.waited;
  own.let_go += tries;
  if (!tries) open->candidates = open->made;
}

/// Of all tactics that had kernels in it, a stage has ended.
void TrialForecast::end_round(const Problem& problem) {
  for (const auto& [name, open] : problem.tactics) {
    if (open.stages == 0 || open.last_round != problem.rounds) continue;
    const size_t place = std::min(open.stages, kStages) - 1;
    for (Stages* stages : {&stages_, &tactics_[name].stages}) ++(*stages)[place].ended;
  }
}

/// The first kernel behind the timing of all others begins a round, and the first of its tactic in
/// it a stage.
void TrialForecast::will_make(const std::string& problem, const std::string& tactic) {
  Tactic& own = tactics_[tactic];
  ++own.asked;
  const auto found = open_.find(problem);
  if (found == open_.end()) return;
  if (found->second.waiting() <= 0) {
    end_round(found->second);
    ++found->second.rounds;
  }
  Open& open = found->second.tactics[tactic];
  const bool follows = open.stages > 0;
  const bool is_first = !follows || open.last_round != found->second.rounds;
  open.stages += is_first;
  open.last_round = found->second.rounds;
  const size_t place = std::min(open.stages, kStages) - 1;
  for (Stages* stages : {&stages_, &own.stages}) {
    if (is_first && follows) ++(*stages)[std::min(open.stages - 1, kStages) - 1].followed;
    (*stages)[place].count += is_first;
    ++(*stages)[place].kernels;
  }
  ++open.made;
}

void TrialForecast::pass_to(double now) {
  if (in_library_ > 1) queued_.count += std::max(now - told_, 0.0);
  told_ = now;
}

void TrialForecast::makes(const std::string& tactic, double now) {
  pass_to(now);
  Tactic& own = tactics_[tactic];
  own.begun.push_back(now);
  in_library_ += own.of_library;
}

/// A thread tells of its kernel by the time that it took.
void TrialForecast::end(Tactic& tactic, double begun) {
  const auto found = std::ranges::min_element(
      tactic.begun, {}, [begun](double other) { return std::abs(other - begun); });
  if (found == tactic.begun.end()) return;
  tactic.begun.erase(found);
  in_library_ -= tactic.of_library;
}

void TrialForecast::made(const std::string& tactic, const Making& seconds, double now) {
  pass_to(now);
  Tactic& own = tactics_[tactic];
  if (own.of_library && in_library_ > 1) queued_.seconds += seconds.on_core;
  guessed_core_ += own.recalled_core.or_else(kGuessedMake);
  end(own, now - seconds.all);
  own.made.push_back(seconds);
  own.core.add(seconds.on_core);
  own.squares += seconds.on_core * seconds.on_core;
  core_.add(seconds.on_core);
  since_ = std::min(since_.value_or(now), now - seconds.all);
  last_ = last_made_ = now;
}

void TrialForecast::tried(const std::string& problem, const std::string& tactic, double seconds,
                          double now) {
  Tactic& own = tactics_[tactic];
  guessed_run_ += own.recalled_run.or_else(kGuessedRun);
  own.run.add(seconds);
  run_.add(seconds);
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
  end_round(found->second);
  open_.erase(found);
}

/// That a problem with so many stages of the tactic gets another.
double TrialForecast::chance_behind(const Tactic& tactic, size_t stages) const {
  const size_t place = std::min(stages, kStages) - 1;
  const Stage &own = tactic.stages[place], &all = stages_[place];
  const double common = (all.followed + kGuessedStages * kFollowed) / (all.ended + kGuessedStages);
  return (own.followed + kCommonStages * common) / (own.ended + kCommonStages);
}

double TrialForecast::kernels_of(const Tactic& tactic, size_t stage) const {
  const size_t place = std::min(stage, kStages) - 1;
  const Stage &own = tactic.stages[place], &all = stages_[place];
  const double common = (all.kernels + kGuessedStages * kKernels) / (all.count + kGuessedStages);
  return (own.kernels + kCommonStages * common) / (own.count + kCommonStages);
}

/// Of so many more stages of a tactic. One that had no kernels in the last round has ended.
std::array<double, TrialForecast::kStages> TrialForecast::chances(const Problem& problem,
                                                                  const std::string& name) const {
  std::array<double, kStages> chances{};
  const Open& open = problem.tactics.at(name);
  if (open.stages > 0 && open.last_round != problem.rounds) return chances;
  const Tactic& tactic = tactics_.at(name);
  double reaches = 1, more = 0;
  if (open.waits)
    reaches = (tactic.let_go + kGuessedStages * kLetGo) / (tactic.waited + kGuessedStages);
  for (size_t i = 0; i < kStages && more < open.candidates - open.made; ++i) {
    const size_t stages = open.stages + i;
    if (stages > 0) reaches *= chance_behind(tactic, stages);
    more += reaches * kernels_of(tactic, stages + 1);
    chances[i] = reaches;
  }
  return chances;
}

/// Seconds on a core of a kernel that takes longer than so many seconds in all. Earlier builds tell
/// how tactics differ; this one, by how much all are off: kernels that lie in a cache are made at
/// once.
double TrialForecast::core_of(const Tactic& tactic, double longer_than) const {
  const double off = (core_.seconds + kGuessedMake) / (guessed_core_ + kGuessedMake);
  Mean mean{tactic.recalled_core.or_else(kGuessedMake) * off, 1};
  for (const Making& one : tactic.made)
    if (one.all > longer_than) mean.add(one.on_core);
  return mean.or_else(0);
}

/// Seconds on a core for each that goes by while a kernel is made: others have the cores, or the
/// library, for part of the time.
double TrialForecast::pace_of(const Tactic& tactic) const {
  const double guess = core_of(tactic);
  double all = guess;
  for (const Making& one : tactic.made) all += one.all;
  return (tactic.core.seconds + guess) / all;
}

/// Of a kernel that is being made for so long: the slow ones end last.
double TrialForecast::rest_of(const Tactic& tactic, double age) const {
  Mean all;
  for (const Making& one : tactic.made) all.add(one.all);
  return left_after(core_of(tactic, std::min(age, all.or_else(age))), age * pace_of(tactic));
}

/// Of so many that are made side by side, each on a core of its own. The largest of n numbers lies
/// up to (n - 1) / sqrt(2 n - 1) standard deviations above their mean.
double TrialForecast::slowest_of(const Tactic& tactic, double kernels) const {
  const double core = core_of(tactic);
  if (tactic.made.empty() || kernels <= 1) return core;
  const double mean = tactic.core.or_else(0);
  const double variance = std::max(tactic.squares / tactic.core.count - mean * mean, 0.0);
  return core + (kernels - 1) / std::sqrt(2 * kernels - 1) * std::sqrt(variance);
}

double TrialForecast::run_of(const Tactic& tactic) const {
  const double off = (run_.seconds + kGuessedRun) / (guessed_run_ + kGuessedRun);
  const double guess = tactic.recalled_run.or_else(kGuessedRun) * off;
  return (tactic.run.seconds + guess) / (tactic.run.count + 1);
}

/// On average so far, also by kernels that are not done.
double TrialForecast::busy_cores(double now) const {
  double core = core_.seconds, end = last_made_;
  for (const auto& [name, tactic] : tactics_)
    for (const double begun : tactic.begun) {
      core += std::min((now - begun) * pace_of(tactic), core_of(tactic));
      end = now;
    }
  const double span = since_ ? end - *since_ : 0;
  return std::max((core + kSpan * cores_) / (span + kSpan), 1.0);
}

/// The n-th rounds to come of a problem: the chance that there is none, and means of the others.
struct TrialForecast::RoundsToCome {
  struct One {
    double none = 1, reaches = 0, seconds = 0;
    void add(double chance, double sum) {
      none *= 1 - chance;
      reaches += chance;
      seconds += sum;
    }
  };
  std::array<One, kStages> rounds;
  void add(size_t number, double chance, double seconds) {
    rounds[number].add(chance, chance * seconds);
  }
};

/// Those of the problem that has the most of them.
struct TrialForecast::Chain : RoundsToCome {
  void add(const RoundsToCome& problem) {
    for (size_t i = 0; i < kStages; ++i)
      if (const RoundsToCome::One& one = problem.rounds[i]; one.reaches > 0)
        rounds[i].add(1 - one.none, (1 - one.none) * one.seconds / one.reaches);
  }
  double seconds() const {
    double sum = 0;
    for (const One& one : rounds)
      if (one.reaches > 0) sum += (1 - one.none) * one.seconds / one.reaches;
    return sum;
  }
};

/// Work that open problems may still ask for, by how many rounds problems had so far.
TrialForecast::Amounts TrialForecast::amounts(double now) const {
  Amounts sum;
  const double cores = busy_cores(now);
  const double library = (queued_.seconds + kSpan) / (queued_.count + kSpan);
  const auto make = [&](const Tactic& tactic, double seconds) {
    sum.make += seconds / cores;
    if (tactic.of_library) sum.library += seconds / library;
  };
  for (const auto& [name, tactic] : tactics_) {
    for (const double since : tactic.begun) {
      const double rest = rest_of(tactic, now - since);
      make(tactic, rest);
      sum.first = std::max(sum.first, rest);
    }
    const auto known = static_cast<double>(tactic.made.size() + tactic.begun.size());
    make(tactic, std::max(tactic.asked - known, 0.0) * core_of(tactic));
  }
  Chain chain, behind;
  for (const auto& [key, problem] : open_) {
    RoundsToCome rounds, waiting;
    for (const auto& [name, open] : problem.tactics) {
      const Tactic& tactic = tactics_.at(name);
      const std::array<double, kStages> chance = chances(problem, name);
      double tries = 0;
      for (size_t i = 0; i < kStages; ++i) {
        const double kernels = kernels_of(tactic, open.stages + i + 1);
        tries += chance[i] * kernels;
        (open.waits ? waiting : rounds)
            .add(i, chance[i], slowest_of(tactic, kernels) + run_of(tactic));
      }
      tries = std::min(tries, open.candidates - open.made);
      make(tactic, tries * core_of(tactic));
      sum.run += (open.made - open.tried + tries) * run_of(tactic);
    }
    chain.add(rounds);
    behind.add(waiting);
  }
  sum.rounds = chain.seconds();
  sum.behind = behind.seconds();
  return sum;
}

double TrialForecast::left(double now) const {
  const Amounts sum = amounts(now);
  const double run = left_after(sum.run, last_ > 0 ? now - last_ : 0);
  return std::max({sum.make, sum.library, run, sum.first + sum.rounds + sum.behind});
}

}  // namespace tenon
