#include "select/build_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "select/effort.h"

namespace tenon {
namespace {

/// First guesses weigh as much as so many seconds of measured work.
constexpr double kGuessSeconds = 2e-3;
/// How steeply the chance that a candidate is given up grows around the limit.
constexpr double kSteep = 4;
/// Trials of earlier builds weigh as much as so many of this one.
constexpr double kRecalledTrials = 3;
/// New memory of earlier plans weighs as much as so many seconds of this one's.
constexpr double kRecalledMemory = 0.02;

// First guesses, in units of the machine's pace: steps to make a kernel, and for a multiplication
// of one that runs, of which vectors do many at a time; copies of a byte of weights, and of an
// operand.
constexpr double kMake = 3e4, kOperation = 0.01, kWeightByte = 2.5, kByte = 0.5;
// And around launches: to bind operands and look at a result, or to empty a core's caches; of a
// byte of operands, few of which are looked at.
constexpr double kBind = 1e4, kEmpty = 6e4, kByteAround = 0.05;

constexpr std::string_view kAnyKind;
constexpr const char *kKeeping = "keeping values", *kRounding = "rounding", *kWriting = "writing",
                     *kNewMemory = "new memory", *kDeviating = "deviating",
                     *kWeights = "weights of ", *kAroundWarm = "around warm launches",
                     *kAroundCold = "around cold launches";

bool is_same(const KernelWork& a, const KernelWork& b) {
  return a.operations == b.operations && a.bytes == b.bytes && a.weights == b.weights;
}

/// Kernels of one name that compute in other types go at another pace.
std::string named(std::string_view name, DataType type) {
  return fmt::format("{} {}", name_of(type), name);
}

/// And with one form of work.
std::string named(std::string_view name, const KernelWork& work) {
  return fmt::format("{} form {}", named(name, work.type), work.form);
}

double weight_count(const KernelWork& work) {
  return work.weights / std::max(byte_size(work.type), 1);
}

}  // namespace

LocalRates& BuildForecast::of_kind(Kinds& kinds, std::string_view kind) const {
  const auto found = kinds.find(kind);
  if (found != kinds.end()) return found->second;
  return kinds.try_emplace(std::string(kind), kOperation * pace_.step, kByte * pace_.byte)
      .first->second;
}

BuildForecast::BuildForecast(int threads, const MachinePace& pace, int runs)
    : threads_(threads < 1 ? 1 : threads),
      runs_(runs),
      pace_(pace),
      all_(new_trials()),
      around_warm_(kBind * pace.step, kByteAround * pace.byte),
      around_cold_(kEmpty * pace.step, kByteAround * pace.byte),
      other_making_(kMake * pace.step, kWeightByte * pace.byte),
      other_run_(kOperation * pace.step, kByte * pace.byte),
      there_(kMake * pace.step, pace.byte),
      keeping_(kBind * pace.step, pace.byte),
      rounding_(0, pace.byte),
      writing_(kMake * pace.step, pace.byte) {}

BuildForecast::Trials BuildForecast::new_trials() const {
  return {{kMake * pace_.step, kWeightByte * pace_.byte},
          {kOperation * pace_.step, kByte * pace_.byte}};
}

std::string BuildForecast::prefix_of(std::string_view entries) const {
  return fmt::format("{} threads, {} ", threads_, entries);
}

std::vector<double> BuildForecast::learned(const Trials& trials) {
  std::vector<double> all{trials.count};
  std::ranges::copy(trials.make.learned(), std::back_inserter(all));
  std::ranges::copy(trials.launch.learned(), std::back_inserter(all));
  return all;
}

void BuildForecast::recall(Trials& trials, std::span<const double> learned) {
  if (learned.size() < 1 + 2 * TwoRates::kLearned || learned[0] <= 0) return;
  trials.count += std::min(kRecalledTrials, learned[0]);
  trials.make.recall(learned.subspan(1, TwoRates::kLearned));
  trials.launch.recall(learned.subspan(1 + TwoRates::kLearned));
}

void BuildForecast::recall(const PaceBook& book) {
  for (const auto& [tactic, figures] : book.with_prefix(prefix_of("tactic")))
    recall(trials_.try_emplace(tactic, new_trials()).first->second, figures);
  for (const auto& [kind, figures] : book.with_prefix(prefix_of("kind")))
    of_kind(kinds_, kind).recall(figures);
  recall(all_, book.find(prefix_of("all")));
  for (const auto& [kind, figures] : book.with_prefix(prefix_of("making")))
    making_.try_emplace(kind, new_trials().make).first->second.recall(figures);
  const auto others_made = book.find(prefix_of("others' making"));
  const auto others_ran = book.find(prefix_of("others' run"));
  knows_others_ = !others_made.empty() && !others_ran.empty();
  other_making_.recall(others_made);
  other_run_.recall(others_ran);
  around_warm_.recall(book.find(prefix_of(kAroundWarm)));
  around_cold_.recall(book.find(prefix_of(kAroundCold)));
  there_.recall(book.find(prefix_of("there")));
  keeping_.recall(book.find(prefix_of(kKeeping)));
  rounding_.recall(book.find(prefix_of(kRounding)));
  writing_.recall(book.find(kWriting));
  for (const auto& [kind, figures] : book.with_prefix(kWeights))
    if (figures.size() == 2 && figures[1] > 0)
      weights_[kind] = {PaceBook::kEarlier * figures[0], PaceBook::kEarlier * figures[1]};
  if (const auto memory = book.find(kNewMemory); memory.size() == 2 && memory[0] > 0)
    new_before_ = {memory[0], memory[1]};
  if (const auto plans = book.find(kDeviating); plans.size() == 2 && plans[1] > 0) {
    deviating_ = plans[0];
    outputs_compared_ = plans[1];
  }
}

void BuildForecast::keep(PaceBook& book) const {
  for (const auto& [tactic, trials] : trials_)
    book.set(prefix_of("tactic") + tactic, learned(trials));
  for (const auto& [kind, rates] : kinds_) book.set(prefix_of("kind") + kind, rates.learned());
  book.set(prefix_of("all"), learned(all_));
  for (const auto& [kind, rates] : making_) book.set(prefix_of("making") + kind, rates.learned());
  book.set(prefix_of(kAroundWarm), around_warm_.learned());
  book.set(prefix_of(kAroundCold), around_cold_.learned());
  book.set(prefix_of("there"), there_.learned());
  book.set(prefix_of(kKeeping), keeping_.learned());
  book.set(prefix_of(kRounding), rounding_.learned());
  book.set(kWriting, writing_.learned());
  for (const auto& [kind, weights] : weights_)
    book.set(kWeights + kind, {weights.kept, weights.given});
  book.set(kNewMemory, {PaceBook::kEarlier * new_before_.guessed + new_memory_.guessed,
                        PaceBook::kEarlier * new_before_.took + new_memory_.took});
  book.set(kDeviating, {deviating_, outputs_compared_});
  if (!has_others_) return;
  book.set(prefix_of("others' making"), other_making_.learned());
  book.set(prefix_of("others' run"), other_run_.learned());
}

void BuildForecast::will_try(const std::string& tactic, const KernelWork& work) {
  open_.push_back({tactic, work});
  layers_[key(work)].tactics.insert(tactic);
}

void BuildForecast::left_out(const std::string& tactic, const KernelWork& work) {
  const auto found = std::ranges::find_if(open_, [&](const Candidate& candidate) {
    return candidate.tactic == tactic && is_same(candidate.work, work);
  });
  if (found != open_.end()) open_.erase(found);
}

void BuildForecast::trying(const std::string& tactic, const KernelWork& work) {
  const Candidate candidate{tactic, work};
  const double launch = launch_of(candidate);
  current_ = load_ * trial_of(candidate, launch, std::min(launch, best_tried(work)));
  running_ = work;
  left_out(tactic, work);
}

void BuildForecast::launched(double seconds, int launches) {
  if (!current_.has_value()) return;
  current_ = seconds + (running_.is_cold ? load_ * around(running_, launches) : 0);
}

void BuildForecast::tried(const std::string& tactic, const KernelWork& work,
                          const TrialTimes& times) {
  if (!std::exchange(current_, std::nullopt).has_value()) left_out(tactic, work);
  Layers& layers = layers_[key(work)];
  const double make = times.make / load_;
  layers.makes[tactic] = make;
  if (times.packed > 0) layers.packs[tactic] = times.packed;
  const double rest = std::max((times.all - times.around) / load_ - make, 0.0);
  const double launch = times.launches > 0 ? rest / times.launches : 0;
  const auto trials_named = [this](const std::string& name) {
    return &trials_.try_emplace(name, new_trials()).first->second;
  };
  std::vector<Trials*> told{trials_named(named(tactic, work.type)), &all_};
  if (work.form != 0) told.push_back(trials_named(named(tactic, work)));
  for (Trials* const trials : told) {
    trials->make.add(1, work.weights, make);
    ++trials->count;
    if (times.launches == 0) continue;
    trials->launch.add(work.operations / threads_, work.bytes, launch);
  }
  if (times.launches == 0) return;
  const double share = work.is_cold ? times.launches : 1;
  (work.is_cold ? around_cold_ : around_warm_).add(share, share * work.bytes, times.around / load_);
  layers.launch = std::min(layers.launch, launch);
  if (times.is_preferred)
    of_kind(kinds_, named(work.kind, work.type))
        .add(work.operations / threads_, work.bytes, launch);
}

void BuildForecast::ran_other(const KernelWork& work, double seconds) {
  seconds /= load_;
  other_run_.add(work.operations / threads_, work.bytes, seconds);
  knows_others_ = has_others_ = true;
  const double guess = guessed_launch(work);
  if (guess <= 0) return;
  std::vector<double>& ratios = other_kinds_[named(work.kind, work.type)];
  const double ratio = seconds / guess;
  ratios.insert(std::ranges::upper_bound(ratios, ratio), ratio);
}

void BuildForecast::ran_there(double kernels, double bytes, double seconds) {
  there_.add(kernels, bytes, seconds / load_);
}

double BuildForecast::running_there(double kernels, double bytes) const {
  return load_ * there_.seconds(kernels, bytes);
}

void BuildForecast::kept_values(double kernels, double bytes, double seconds) {
  keeping_.add(kernels, bytes, std::max(seconds, 0.0) / load_);
}

double BuildForecast::keeping_values(double kernels, double bytes) const {
  return load_ * keeping_.seconds(kernels, bytes);
}

void BuildForecast::rounded(double bytes, double seconds) {
  rounding_.add(1, bytes, std::max(seconds, 0.0) / load_);
}

void BuildForecast::decided(const std::string& tactic, const KernelWork& work) {
  Layers& layers = layers_[key(work)];
  const auto found = layers.makes.find(tactic);
  if (found != layers.makes.end()) layers.make = found->second;
  std::erase_if(layers.packs, [&](const auto& packed) { return packed.first != tactic; });
}

/// Before a kernel was decided for, each that was tried is as likely.
double BuildForecast::Layers::packed(double otherwise) const {
  if (packs.empty()) return otherwise;
  double all = 0;
  for (const auto& [tactic, bytes] : packs) all += bytes;
  return all / static_cast<double>(packs.size());
}

double BuildForecast::packed_more() const {
  double more = 0;
  for (const auto& [place, layers] : layers_)
    more += layers.count * (layers.packed(layers.weights) - layers.weights);
  return more;
}

double BuildForecast::guessed(double kernels, double weights) const {
  return kernels * kMake * pace_.step + weights * kWeightByte * pace_.byte;
}

double BuildForecast::guessed_launch(const KernelWork& work) const {
  return work.operations / threads_ * kOperation * pace_.step + work.bytes * kByte * pace_.byte;
}

/// As of kernels of its kind, of any kind, or that are not the plan's.
const TwoRates& BuildForecast::making_of(std::string_view kind) const {
  for (const std::string_view one : {kind, kAnyKind})
    if (const auto found = making_.find(one); found != making_.end()) return found->second;
  return other_making_;
}

double BuildForecast::making(double kernels, double weights) const {
  return load_ * making_of(kAnyKind).seconds(kernels, weights);
}

std::optional<double> BuildForecast::others(double kernels, const KernelWork& work) const {
  if (!knows_others_) return std::nullopt;
  return load_ * (other_making_.seconds(kernels, work.weights) +
                  other_run_.seconds(work.operations / threads_, work.bytes));
}

void BuildForecast::will_make(const KernelWork& work) {
  Layers& layers = layers_[key(work)];
  ++layers.open;
  ++layers.count;
  layers.weights = work.weights;
  layers.type = work.type;
  layers.kind = work.kind;
}

void BuildForecast::made_other(const KernelWork& work, double kept, double seconds) {
  other_making_.add(1, kept, seconds / load_);
  if (work.weights <= 0) return;
  const double share = kept / work.weights;
  double& least = others_.try_emplace(weight_count(work), share).first->second;
  least = std::min(least, share);
}

void BuildForecast::made(const KernelWork& work, double kept, double seconds) {
  seconds /= load_;
  if (work.weights > 0) {
    Weights& weights = weights_[std::string(work.kind)];
    weights.kept += kept;
    weights.given += work.weights;
  }
  if (const auto found = layers_.find(key(work));
      found != layers_.end() && found->second.open > 0) {
    // As it would have been said of the weights that it keeps: a table that is read as it is says
    // nothing of the pace.
    const double tried = found->second.make;
    const double packed = found->second.packed(kept);
    said_ += tried >= 0 ? tried + new_memory(packed) : making_of(work.kind).seconds(1, kept);
    took_ += seconds;
    if (tried >= 0) {
      new_memory_.guessed += packed * pace_.byte;
      new_memory_.took += seconds - tried;
    }
    --found->second.open;
  }
  const auto add_to = [&](std::string_view kind) {
    making_.try_emplace(std::string(kind), new_trials().make).first->second.add(1, kept, seconds);
  };
  add_to(kAnyKind);
  if (work.kind != kAnyKind) add_to(work.kind);
}

/// By how much longer than its trial a plan's kernel takes that keeps so many bytes.
double BuildForecast::new_memory(double bytes) const {
  const double share =
      new_before_.guessed > 0 ? std::min(kRecalledMemory / new_before_.guessed, 1.0) : 0;
  const double took = std::max(new_memory_.took + share * new_before_.took, 0.0) + kGuessSeconds;
  const double guessed = new_memory_.guessed + share * new_before_.guessed + kGuessSeconds;
  return bytes * pace_.byte * took / guessed;
}

/// As others keep of as many weights, or else kernels of its kind of theirs.
double BuildForecast::kept_of(const KernelWork& work) const {
  if (const auto found = others_.find(weight_count(work)); found != others_.end())
    return found->second * work.weights;
  const auto of_kind = weights_.find(work.kind);
  return of_kind == weights_.end() ? work.weights
                                   : of_kind->second.kept / of_kind->second.given * work.weights;
}

double BuildForecast::make_of(const KernelWork& work, const Layers& layers) const {
  const double kept = kept_of(work);
  const double more = new_memory(layers.packed(kept));
  if (layers.make >= 0) return layers.make + more;
  if (layers.tactics.empty()) return making_of(work.kind).seconds(1, kept);
  double all = 0;
  for (const std::string& tactic : layers.tactics) {
    const auto tried = layers.makes.find(tactic);
    all += tried != layers.makes.end() ? tried->second : make_of({tactic, work});
  }
  return all / static_cast<double>(layers.tactics.size()) + more;
}

/// Scaled by the ratio of measured and predicted seconds of the kernels made so far.
double BuildForecast::making_left() const {
  double left = 0;
  for (const auto& [place, layers] : layers_)
    if (layers.open > 0)
      left +=
          layers.open *
          make_of({place.first, place.second, layers.weights, layers.kind, layers.type}, layers);
  return load_ * left * (took_ + kGuessSeconds) / (said_ + kGuessSeconds);
}

/// Plans count by how fast they were: now and then one takes twice as long, for memory that the
/// machine does not have at hand. A mean of times would be too long for all others.
void BuildForecast::wrote(double bytes, double seconds) {
  if (seconds <= 0) return;
  const double share = kGuessSeconds * load_ / seconds;
  writing_.add(share, share * bytes, kGuessSeconds);
}

double BuildForecast::running(double operations, double bytes) const {
  double all = 0;
  for (const auto& [place, layers] : layers_) {
    const auto& [of_layer, moved] = place;
    const KernelWork work{of_layer, moved, layers.weights, layers.kind, layers.type};
    if (layers.count > 0)
      all += layers.count * (std::isfinite(layers.launch) ? layers.launch : usual_launch(work));
  }
  return load_ * (all > 0 ? all : other_run_.seconds(operations / threads_, bytes));
}

void BuildForecast::compared_outputs(bool deviate) {
  deviating_ = PaceBook::kEarlier * deviating_ + (deviate ? 1 : 0);
  outputs_compared_ = PaceBook::kEarlier * outputs_compared_ + 1;
}

/// As likely as not, before any was seen: that counts as one plan.
double BuildForecast::chance_to_deviate() const {
  return (deviating_ + 0.5) / (outputs_compared_ + 1);
}

/// What ran and is the most like it: preferred kernels of the kind, else others of it. Other kinds
/// say less of it than the machine's pace does.
double BuildForecast::usual_launch(const KernelWork& work) const {
  for (const DataType type : {work.type, DataType::kFloat32}) {
    const std::string kind = named(work.kind, type);
    if (const auto found = kinds_.find(kind); found != kinds_.end())
      return found->second.seconds(work.operations / threads_, work.bytes);
    if (const auto found = other_kinds_.find(kind); found != other_kinds_.end())
      return found->second[found->second.size() / 2] * guessed_launch(work);
  }
  return guessed_launch(work);
}

double BuildForecast::usual_make(const KernelWork& work) const {
  if (!making_.empty() || all_.count == 0) return making_of(work.kind).seconds(1, work.weights);
  return all_.make.seconds(1, work.weights);
}

/// Short kernels run more often; long ones that are far behind the best are given up behind their
/// first run, or another one where that may have been disturbed: as likely as not at the limit,
/// since neither time is known better than by half.
double BuildForecast::launches(const KernelWork& work, double launch, double best) const {
  // As it is measured beside the machine's load.
  const double once = 1e3 * load_ * launch;
  const double all = effort::launches_of_trial(once, runs_, work.is_cold);
  if (once <= effort::kShortMilliseconds) return all;
  const double goes_on = 1 / (1 + std::pow(launch / (effort::kHopeless * best), kSteep));
  const double again = launch < effort::kDoubtful * best ? effort::kFirstLaunches : 0;
  return effort::kFirstLaunches + goes_on * (all - effort::kFirstLaunches) + (1 - goes_on) * again;
}

/// Null where there were none.
const BuildForecast::Trials* BuildForecast::trials_of(const std::string& name) const {
  const auto found = trials_.find(name);
  return found == trials_.end() ? nullptr : &found->second;
}

/// Those of a tactic follow its own trials, the more the more there were, and the ones of their
/// form the most; of others it is known how fast the usual ones of their kind run, and how fast
/// weights are moved.
double BuildForecast::launch_of(const Candidate& candidate) const {
  const KernelWork& work = candidate.work;
  double launch = usual_launch(work);
  const auto follow = [&](const std::string& name) {
    if (const Trials* const own = trials_of(name))
      launch +=
          own->share() * (own->launch.seconds(work.operations / threads_, work.bytes) - launch);
  };
  follow(named(candidate.tactic, work.type));
  if (work.form != 0) follow(named(candidate.tactic, work));
  return launch;
}

double BuildForecast::make_of(const Candidate& candidate) const {
  const double usual = usual_make(candidate.work);
  const Trials* const own = trials_of(named(candidate.tactic, candidate.work.type));
  if (own == nullptr) return usual;
  return usual + own->share() * (own->make.seconds(1, candidate.work.weights) - usual);
}

double BuildForecast::best_tried(const KernelWork& work) const {
  const auto layers = layers_.find(key(work));
  return layers == layers_.end() ? Layers().launch : layers->second.launch;
}

/// `best`: of the layer's candidates.
double BuildForecast::trial_of(const Candidate& candidate, double launch, double best) const {
  const double launches = this->launches(candidate.work, launch, best);
  return make_of(candidate) + launch * launches + around(candidate.work, launches);
}

/// Ahead of the first launch, or of each cold one.
double BuildForecast::around(const KernelWork& work, double launches) const {
  return work.is_cold ? around_cold_.seconds(launches, launches * work.bytes)
                      : around_warm_.seconds(1, work.bytes);
}

double BuildForecast::trials_left() const {
  std::vector<double> launches;
  std::map<Key, double> best;  // Of the candidates tried and the candidates to come.
  for (const Candidate& candidate : open_) {
    launches.push_back(launch_of(candidate));
    const auto layers = best.try_emplace(key(candidate.work), best_tried(candidate.work)).first;
    layers->second = std::min(layers->second, launches.back());
  }
  double left = 0;
  for (size_t i = 0; i < open_.size(); ++i)
    left += trial_of(open_[i], launches[i], best.at(key(open_[i].work)));
  return load_ * left;
}

}  // namespace tenon
