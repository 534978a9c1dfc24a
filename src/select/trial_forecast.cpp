#include "select/trial_forecast.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "select/time_left.h"

namespace tenon {
namespace {

/// First guesses, in seconds.
constexpr double kGuessedMake = 0.1, kGuessedRun = 0.005;
/// Stages of earlier builds weigh as much as so many of this one, and those of wider tactics.
constexpr double kRecalledStages = 8, kWider = 1;
/// Kernels of a build that count as much as those of a larger one for the next.
constexpr double kKeptKernels = 8;
/// The chance that a stage is followed by another, and kernels of one, before any was seen.
constexpr double kFollowed = 0.5, kKernels = 2;
/// That candidates which waited are tried.
constexpr double kLetGo = 0.1;
/// All cores are taken to be busy for so many seconds more.
constexpr double kSpan = 0.2;
/// So many of the last seconds tell how many cores are busy: libraries make few kernels at a time.
constexpr double kRecent = 2;
/// A first guess of a whole choice, and of each problem.
constexpr double kWhole = 0.5, kProblem = 0.12;
/// How far whole choices are off the guess, in logarithms.
constexpr double kSpread = 0.3;
/// The share of the estimate by earlier builds, where this one makes all of its kernels.
constexpr double kEarlierShare = 0.5;
/// A choice that takes longer than any before takes so much of that time more.
constexpr double kOverdue = 0.1;

constexpr const char* kTrialEntries = "trials of ";
constexpr size_t kTrialFigures = 6;
constexpr const char* kStageEntries = "stages of trials ";
constexpr size_t kStageFigures = 4;
constexpr const char* kWholeEntry = "whole choices";

}  // namespace

double TrialForecast::Problem::waiting() const {
  double sum = 0;
  for (const auto& [name, open] : tactics) sum += open.made - open.tried;
  return sum;
}

/// For the next build.
TrialForecast::Mean TrialForecast::Mean::behind(const Mean& earlier) const {
  if (count == 0) return earlier;
  const double share = std::min(kKeptKernels / count, 1.0);
  return {PaceBook::kEarlier * earlier.seconds + share * seconds,
          PaceBook::kEarlier * earlier.count + share * count};
}

void TrialForecast::recall(const PaceBook& book) {
  if (const auto wholes = book.find(kWholeEntry); wholes.size() == 2)
    wholes_ = {wholes[0], wholes[1]};
  for (const auto& [name, figures] : book.with_prefix(kTrialEntries)) {
    if (figures.size() != kTrialFigures) continue;
    Tactic& tactic = of(name);
    tactic.recalled_core = {figures[0], figures[1]};
    tactic.recalled_run = {figures[2], figures[3]};
    const double share = figures[4] > 0 ? std::min(kRecalledStages / figures[4], 1.0) : 0;
    tactic.waited = share * figures[4];
    tactic.let_go = share * figures[5];
  }
  for (const auto& [name, figures] : book.with_prefix(kStageEntries)) {
    if (figures.size() != kStages * kStageFigures) continue;
    Stages& stages = of(name).stages;
    for (size_t i = 0; i < kStages; ++i) {
      const auto one = figures.subspan(i * kStageFigures, kStageFigures);
      if (one[0] <= 0) continue;
      const double share = std::min(kRecalledStages / one[0], 1.0);
      stages[i] = {share * one[0], share * one[1], share * one[2], share * one[3]};
    }
  }
}

void TrialForecast::keep(PaceBook& book, bool is_whole) const {
  if (is_whole && problems_ > 0 && last_ > begun_) {
    const double weight = std::min(off(), 1.0);
    book.set(kWholeEntry, {PaceBook::kEarlier * wholes_.seconds +
                               weight * std::log((last_ - begun_) / guessed_whole()),
                           PaceBook::kEarlier * wholes_.count + weight});
  }
  for (const auto& [name, tactic] : tactics_) {
    const Mean core = tactic.core.behind(tactic.recalled_core);
    const Mean run = tactic.run.behind(tactic.recalled_run);
    book.set(kTrialEntries + name,
             {core.seconds, core.count, run.seconds, run.count, tactic.waited, tactic.let_go});
  }
  for (const auto& [name, tactic] : tactics_) {
    std::vector<double> figures;
    for (const Stage& one : tactic.stages)
      figures.insert(figures.end(), {one.count, one.kernels, one.ended, one.followed});
    book.set(kStageEntries + name, std::move(figures));
  }
}

TrialForecast::Tactic& TrialForecast::of(const std::string& name) {
  const auto [found, is_new] = tactics_.try_emplace(name);
  if (is_new && !name.empty()) {
    const size_t end = name.rfind('/');
    found->second.wider = &of(name.substr(0, end == std::string::npos ? 0 : end));
  }
  return found->second;
}

/// The tactic itself, and all that it is one of.
template <class Use> void TrialForecast::for_wider(const std::string& name, const Use& use) {
  for (Tactic* tactic = &of(name); tactic != nullptr; tactic = tactic->wider) use(*tactic);
}

void TrialForecast::may_try(const std::string& problem, const std::string& tactic) {
  const auto [open, is_new] = open_.try_emplace(problem);
  problems_ += is_new;
  ++open->second.tactics[tactic].candidates;
  of(tactic);  // Known from here on.
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

/// One decision, of whose share each problem tells.
void TrialForecast::let_go(const std::string& problem, const std::string& tactic, bool tries,
                           size_t problems) {
  Open* const open = find(problem, tactic);
  if (open == nullptr || !std::exchange(open->waits, false)) return;
  const double share = 1 / static_cast<double>(problems);
  for_wider(tactic, [share, tries](Tactic& one) {
    one.waited += share;
    one.let_go += tries ? share : 0;
  });
  if (!tries) open->candidates = open->made;
}

/// Of all tactics that had kernels in it, a stage has ended.
void TrialForecast::end_round(const Problem& problem) {
  for (const auto& [name, open] : problem.tactics) {
    if (open.stages == 0 || open.last_round != problem.rounds) continue;
    const size_t place = std::min(open.stages, kStages) - 1;
    for_wider(name, [place](Tactic& one) { ++one.stages[place].ended; });
  }
}

/// The first kernel behind the timing of all others begins a round, and the first of its tactic in
/// it a stage.
void TrialForecast::will_make(const std::string& problem, const std::string& tactic) {
  ++of(tactic).asked;
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
  for_wider(tactic, [&](Tactic& one) {
    if (is_first && follows) ++one.stages[std::min(open.stages - 1, kStages) - 1].followed;
    one.stages[place].count += is_first;
    ++one.stages[place].kernels;
  });
  ++open.made;
}

void TrialForecast::makes(const std::string& tactic, double now) {
  of(tactic).begun.push_back(now);
}

/// A thread tells of its kernel by the time that it took.
void TrialForecast::end(Tactic& tactic, double begun) {
  const auto found = std::ranges::min_element(
      tactic.begun, {}, [begun](double other) { return std::abs(other - begun); });
  if (found != tactic.begun.end()) tactic.begun.erase(found);
}

void TrialForecast::made(const std::string& tactic, const Making& seconds, double now) {
  Tactic& own = of(tactic);
  end(own, now - seconds.all);
  guessed_core_ += recalled_core_of(own);
  for_wider(tactic, [&](Tactic& one) {
    one.made.push_back(seconds);
    one.core.add(seconds.on_core);
    one.squares += seconds.on_core * seconds.on_core;
  });
  since_ = std::min(since_.value_or(now), now - seconds.all);
  last_ = last_made_ = now;
  spent_.emplace_back(now, spent(now));
}

void TrialForecast::tried(const std::string& problem, const std::string& tactic, double seconds,
                          double now) {
  guessed_run_ += recalled_run_of(of(tactic));
  for_wider(tactic, [seconds](Tactic& one) { one.run.add(seconds); });
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
    of(name).asked -= open.made - open.tried;  // Time was up.
  end_round(found->second);
  open_.erase(found);
}

/// That a problem with so many stages of the tactic gets another.
double TrialForecast::chance_behind(const Tactic& tactic, size_t stages) const {
  const double wider = tactic.wider == nullptr ? kFollowed : chance_behind(*tactic.wider, stages);
  const Stage& own = tactic.stages[std::min(stages, kStages) - 1];
  return (own.followed + kWider * wider) / (own.ended + kWider);
}

double TrialForecast::kernels_of(const Tactic& tactic, size_t stage) const {
  const double wider = tactic.wider == nullptr ? kKernels : kernels_of(*tactic.wider, stage);
  const Stage& own = tactic.stages[std::min(stage, kStages) - 1];
  return (own.kernels + kWider * wider) / (own.count + kWider);
}

/// Of candidates that waited. All tactics tell nothing of it: which of them win is their own.
double TrialForecast::chance_to_be_tried(const Tactic& tactic) {
  if (tactic.wider == nullptr) return kLetGo;
  return (tactic.let_go + kWider * chance_to_be_tried(*tactic.wider)) / (tactic.waited + kWider);
}

/// Of so many more stages of a tactic. One that had no kernels in the last round has ended.
std::array<double, TrialForecast::kStages> TrialForecast::chances(const Problem& problem,
                                                                  const std::string& name) const {
  std::array<double, kStages> chances{};
  const Open& open = problem.tactics.at(name);
  if (open.stages > 0 && open.last_round != problem.rounds) return chances;
  const Tactic& tactic = tactics_.at(name);
  double reaches = open.waits ? chance_to_be_tried(tactic) : 1, more = 0;
  for (size_t i = 0; i < kStages && more < open.candidates - open.made; ++i) {
    const size_t stages = open.stages + i;
    if (stages > 0) reaches *= chance_behind(tactic, stages);
    more += reaches * kernels_of(tactic, stages + 1);
    chances[i] = reaches;
  }
  return chances;
}

/// As earlier builds had it.
double TrialForecast::recalled_core_of(const Tactic& tactic) {
  return tactic.recalled_core.or_else(tactic.wider == nullptr ? kGuessedMake
                                                              : recalled_core_of(*tactic.wider));
}

double TrialForecast::recalled_run_of(const Tactic& tactic) {
  return tactic.recalled_run.or_else(tactic.wider == nullptr ? kGuessedRun
                                                             : recalled_run_of(*tactic.wider));
}

/// Seconds on cores in this build over the seconds of earlier builds: kernels that lie in a cache
/// are made at once.
double TrialForecast::off() const {
  const auto all = tactics_.find({});
  const double took = all == tactics_.end() ? 0 : all->second.core.seconds;
  return (took + kGuessedMake) / (guessed_core_ + kGuessedMake);
}

/// Seconds on a core of a kernel that takes longer than so many seconds in all. Earlier builds tell
/// how tactics differ; this one, by how much all are off.
double TrialForecast::core_of(const Tactic& tactic, double longer_than) const {
  const bool is_recalled = tactic.recalled_core.count > 0 || tactic.wider == nullptr;
  Mean mean{is_recalled ? tactic.recalled_core.or_else(kGuessedMake) * off()
                        : core_of(*tactic.wider, longer_than),
            1};
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
  const double off = (tactics_.at({}).run.seconds + kGuessedRun) / (guessed_run_ + kGuessedRun);
  const bool is_recalled = tactic.recalled_run.count > 0 || tactic.wider == nullptr;
  const double guess =
      is_recalled ? tactic.recalled_run.or_else(kGuessedRun) * off : run_of(*tactic.wider);
  return (tactic.run.seconds + guess) / (tactic.run.count + 1);
}

/// Seconds on cores so far, also of kernels that are not done.
double TrialForecast::spent(double now) const {
  double core = tactics_.at({}).core.seconds;
  for (const auto& [name, tactic] : tactics_)
    for (const double begun : tactic.begun)
      core += std::min((now - begun) * pace_of(tactic), core_of(tactic));
  return core;
}

/// On average of the last seconds in which kernels were made.
double TrialForecast::busy_cores(double now) const {
  const auto is_made = [](const auto& one) { return !one.second.begun.empty(); };
  const double end = std::ranges::any_of(tactics_, is_made) ? now : last_made_;
  double from = since_.value_or(end), before = 0;
  for (const auto& [at, core] : spent_)
    if (at <= end - kRecent) from = at, before = core;
  const double core = std::max(spent(now) - before, 0.0);
  return std::max((core + kSpan * cores_) / (end - from + kSpan), 1.0);
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
  for (const auto& [name, tactic] : tactics_) {
    for (const double begun : tactic.begun) {
      const double rest = rest_of(tactic, now - begun);
      sum.make += rest / cores;
      sum.first = std::max(sum.first, rest);
    }
    if (tactic.asked <= 0) continue;  // Those of wider tactics are no kernels of their own.
    const auto known = static_cast<double>(tactic.made.size() + tactic.begun.size());
    sum.make += std::max(tactic.asked - known, 0.0) * core_of(tactic) / cores;
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
      sum.make += tries * core_of(tactic) / cores;
      sum.run += (open.made - open.tried + tries) * run_of(tactic);
    }
    chain.add(rounds);
    behind.add(waiting);
  }
  sum.rounds = chain.seconds();
  sum.behind = behind.seconds();
  return sum;
}

double TrialForecast::by_work(double now) const {
  const Amounts sum = amounts(now);
  const double run = left_after(sum.run, last_ > 0 ? now - last_ : 0);
  return std::max({sum.make, run, sum.first + sum.rounds + sum.behind});
}

double TrialForecast::guessed_whole() const {
  return kWhole + kProblem * problems_;
}

/// The mean of the rest of a choice whose logarithm is normal, when so many seconds have passed.
double TrialForecast::by_earlier_builds(double passed) const {
  const double mean = std::log(guessed_whole()) + wholes_.seconds / (wholes_.count + 1);
  const auto beyond = [](double deviations) { return 0.5 * std::erfc(deviations / std::sqrt(2)); };
  // A choice differs from the mean, and so does the mean, which is that of few builds.
  const double spread = kSpread * std::sqrt(1 + 1 / (wholes_.count + 1));
  const double passed_at = (std::log(std::max(passed, 1e-3)) - mean) / spread;
  const double share = beyond(passed_at);
  const double rest =
      share > 0 ? std::exp(mean + spread * spread / 2) * beyond(passed_at - spread) / share - passed
                : 0;
  return std::max(rest, kOverdue * passed);
}

/// Each estimate is off by a factor, for reasons of its own.
double TrialForecast::left(double now) const {
  if (open_.empty()) return 0;
  const double by_work = this->by_work(now);
  const double share = kEarlierShare * std::min(off(), 1.0);
  return by_work > 0
             ? std::pow(by_work, 1 - share) * std::pow(by_earlier_builds(now - begun_), share)
             : 0;
}

}  // namespace tenon
