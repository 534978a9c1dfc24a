#include "select/sequence_tuning.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/stopwatch.h"
#include "device/described_device.h"
#include "select/effort.h"
#include "select/problem_key.h"
#include "select/sequence_runner.h"

namespace tenon {
namespace {

/// How many rivals are tried, and how much slower they may be alone: a part of the best's time, and
/// milliseconds.
constexpr size_t kRivals = 4;
constexpr double kRivalMargin = 1.3, kRivalSlack = 0.001;
/// The same for our own kernels, which may make up for it all together.
constexpr double kOwnMargin = 1.7;
/// The gain that a rival must have over the whole sequence, besides the spread of its times.
constexpr double kMargin = 0.998;
/// The least gain of libraries where shapes vary: opening one takes longer than all else that a
/// plan needs to be ready, and its kernels are loaded while the first shape that has them waits.
constexpr double kLibraryGain = 0.01;

/// Layers of one problem play one role.
struct Role {
  std::vector<size_t> layers;
  std::string key, tactic;
  std::string assigned;  ///< The tactic that the runner has.
};

class Sequence {
 public:
  Sequence(const SequenceTuning& tuning, const std::vector<std::string>& tactics)
      : tuning_(tuning), runner_(tuning.backend, tuning.measurer, tuning.layers) {
    std::map<std::string, size_t> known;
    for (size_t i = 0; i < tuning.layers.problems.size(); ++i) {
      const std::string key = problem_key(tuning.layers.problems[i]);
      const auto [entry, is_new] = known.try_emplace(key, roles_.size());
      if (is_new) roles_.push_back({{}, key, tactics[i], {}});
      roles_[entry->second].layers.push_back(i);
      order_ += fmt::format("{},", entry->second);
    }
  }

  std::vector<Role>& roles() { return roles_; }
  /// How many times were measured, from the last call on.
  int take_measured() { return std::exchange(measured_, 0); }
  /// An error where a time was to be known and is not.
  Status complete() const { return missing_ ? Status(*missing_) : Status(); }

  /// The role's tactics to come, unless the cache will know.
  void expect(Role& role, std::span<const std::string> tactics) {
    std::vector<std::string> unknown;
    const std::string own = role.tactic;
    for (const std::string& tactic : tactics) {
      role.tactic = tactic;
      const bool known = tuning_.options.use_cache && tuning_.cache.find(key()).has_value();
      if (tactic != own && !known) unknown.push_back(tactic);
    }
    role.tactic = own;
    const bool may_measure =
        !tuning_.options.fail_on_cache_miss && !is_described(*tuning_.backend.device);
    if (!unknown.empty() && may_measure) runner_.prepare(role.layers, unknown);
  }

  /// With the tactics that the roles have now, from the cache or measured.
  Result<SequenceTime> time() {
    const std::string entry = key();
    if (tuning_.options.use_cache)
      if (const auto known = tuning_.cache.find(entry)) {
        if (*known == effort::kFailed) return unsupported("it failed when it was to be timed");
        return SequenceTime{*known, tuning_.cache.find_note(entry).value_or(0)};
      }
    if (is_described(*tuning_.backend.device)) return unsupported("the device is not there");
    if (tuning_.options.fail_on_cache_miss) {
      missing_ = missing_time("the layers in their sequence", roles_[0].tactic);
      return *missing_;
    }
    const Result<SequenceTime> time = measure();
    if (time.ok() || time.error().kind != ErrorKind::kResource)
      tuning_.cache.insert(entry, time.ok() ? time->median : effort::kFailed);
    if (time.ok()) tuning_.cache.insert_note(entry, time->spread);
    return time;
  }

 private:
  std::string key() const {
    std::string text = order_;
    for (const Role& role : roles_) {
      const Tactic* tactic = tuning_.backend.find(split_tactic(role.tactic).name);
      text +=
          fmt::format("{}|{}v{}\n", role.key, role.tactic, tactic == nullptr ? 0 : tactic->version);
    }
    return fmt::format("sequence {:016x}", XXH3_64bits(text.data(), text.size()));
  }

  Result<SequenceTime> measure() {
    ++measured_;
    std::vector<std::pair<size_t, std::string>> changed;
    for (const Role& role : roles_)
      if (role.assigned != role.tactic) changed.emplace_back(role.layers[0], role.tactic);
    if (changed.size() > 1) runner_.prepare(changed);
    for (Role& role : roles_) {
      if (role.assigned == role.tactic) continue;
      TENON_TRY(runner_.assign(role.layers, role.tactic));
      role.assigned = role.tactic;
    }
    return runner_.time();
  }

  const SequenceTuning& tuning_;
  SequenceRunner runner_;
  std::vector<Role> roles_;
  std::optional<Error> missing_;
  std::string order_;  ///< The roles of all layers.
  int measured_ = 0;
};

/// Tells the watch of the sequences since the last time, by `tell(forecast, tried)`.
template <class Tell>
void tell_of(const SequenceTuning& tuning, Sequence& sequence, Stopwatch& watch,
             const SequenceTime& best, const Tell& tell) {
  const SequenceForecast::Tried tried{sequence.take_measured(), watch.lap(), 1e-3 * best.median};
  if (tuning.options.watch == nullptr) return;
  tuning.options.watch->sequence([&](SequenceForecast& forecast) { tell(forecast, tried); });
}

/// Whether a sequence is faster than the best so far, by more than either's times lie apart.
bool betters(const Result<SequenceTime>& time, const SequenceTime& best) {
  return time.ok() && time->median < best.median * kMargin &&
         time->median + std::max(time->spread, best.spread) < best.median;
}

void report(const SequenceTuning& tuning, const Role& role, const Result<SequenceTime>& time) {
  Logger* const logger = tuning.options.logger;
  if (logger == nullptr) return;
  const std::string& name = tuning.layers.nodes[role.layers[0]]->name;
  if (time.ok())
    logger->verbose("{}: {} in sequence: {:.4f} ms, spread {:.4f} ms", name, role.tactic,
                    time->median, time->spread);
  else
    logger->verbose("{}: {} in sequence: {}", name, role.tactic, time.error().message);
}

bool uses_library(const SequenceTuning& tuning, Sequence& sequence) {
  return std::ranges::any_of(sequence.roles(), [&](const Role& role) {
    return is_library(tuning.backend.origin_of(role.tactic));
  });
}

/// Gives all roles our own kernels where that is faster than `best`, or where libraries gain too
/// little; the time with them.
SequenceTime try_own(const SequenceTuning& tuning, Sequence& sequence, const SequenceTime& best) {
  std::vector<std::string> kept;
  bool differs = false;
  for (Role& role : sequence.roles()) {
    const std::string& own = tuning.rivals.at(role.key).own;
    kept.push_back(role.tactic);
    if (own.empty() || own == role.tactic) continue;
    role.tactic = own;
    differs = true;
  }
  if (!differs) return best;
  const Result<SequenceTime> time = sequence.time();
  if (tuning.options.logger != nullptr && time.ok())
    tuning.options.logger->verbose("Kernels of no library in sequence: {:.4f} ms", time->median);
  const bool is_enough = tuning.options.many_shapes && time.ok() &&
                         time->median < best.median * (1 + kLibraryGain) &&
                         !uses_library(tuning, sequence);
  if (is_enough || betters(time, best)) return *time;
  for (size_t i = 0; i < kept.size(); ++i) sequence.roles()[i].tactic = std::move(kept[i]);
  return best;
}

}  // namespace

Error missing_time(std::string_view layer, std::string_view tactic) {
  return user_error(
      "timing cache miss: '{}' with {} is not in the timing cache, and "
      "kERROR_ON_TIMING_CACHE_MISS (--errorOnTimingCacheMiss) forbids to measure it; build once "
      "without it, on this device and with the same settings",
      layer, tactic);
}

void put_best_first(std::vector<Candidate>& candidates) {
  constexpr double kLater = 0.97;  // What a later one must better the best so far by.
  size_t best = 0;
  for (size_t i = 1; i < candidates.size(); ++i)
    if (candidates[i].milliseconds >= 0 &&
        candidates[i].milliseconds < candidates[best].milliseconds * kLater)
      best = i;
  if (!candidates.empty())
    std::rotate(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(best),
                candidates.begin() + static_cast<std::ptrdiff_t>(best) + 1);
}

/// The best of each tactic comes before others of its configurations.
Rivals rivals_of(const Backend& backend, std::span<const Candidate> best_first) {
  if (best_first.empty()) return {};
  Rivals rivals{best_first[0].milliseconds, {best_first[0].tactic}, {}};
  std::vector<const Candidate*> near;
  for (const Candidate& candidate : best_first.subspan(1))
    if (candidate.milliseconds >= 0 &&
        candidate.milliseconds < rivals.best * kRivalMargin + kRivalSlack)
      near.push_back(&candidate);
  std::stable_sort(near.begin(), near.end(), [](const Candidate* a, const Candidate* b) {
    return a->milliseconds < b->milliseconds;
  });
  std::set<std::string_view> seen = {split_tactic(best_first[0].tactic).name};
  std::stable_partition(near.begin(), near.end(), [&](const Candidate* candidate) {
    return seen.insert(split_tactic(candidate->tactic).name).second;
  });
  for (const Candidate* candidate : near)
    if (rivals.tactics.size() <= kRivals) rivals.tactics.push_back(candidate->tactic);
  double own = rivals.best * kOwnMargin + kRivalSlack;
  for (const Candidate& candidate : best_first) {
    const bool is_own = !is_library(backend.origin_of(candidate.tactic));
    if (!is_own || candidate.milliseconds < 0 || candidate.milliseconds >= own) continue;
    own = candidate.milliseconds;
    rivals.own = candidate.tactic;
  }
  return rivals;
}

Result<std::optional<double>> tune_in_sequence(const SequenceTuning& tuning,
                                               std::vector<std::string>& tactics) {
  Stopwatch watch;
  Sequence sequence(tuning, tactics);
  const Result<SequenceTime> first = sequence.time();
  TENON_TRY(sequence.complete());
  if (!first.ok()) return std::optional<double>();
  SequenceTime best = try_own(tuning, sequence, *first);
  using Tried = SequenceForecast::Tried;
  tell_of(tuning, sequence, watch, best,
          [](SequenceForecast& forecast, const Tried& tried) { forecast.began(tried); });
  const bool own_alone = tuning.options.many_shapes && !uses_library(tuning, sequence);
  for (Role& role : sequence.roles()) {
    Rivals rivals = tuning.rivals.at(role.key);
    rivals.tactics.resize(std::min(rivals.tactics.size(), tuning.options.rivals + 1));
    if (own_alone)
      std::erase_if(rivals.tactics, [&](const std::string& tactic) {
        return is_library(tuning.backend.origin_of(tactic));
      });
    if (!tuning.advance(role.layers.size()))
      return user_error("the progress monitor stopped the build");
    if (tuning.options.watch != nullptr && tuning.options.watch->tuning_is_over()) break;
    if (rivals.best * static_cast<double>(role.layers.size()) < best.median * effort::kLeastPart)
      continue;
    sequence.expect(role, rivals.tactics);
    for (const std::string& rival : rivals.tactics) {
      if (rival == role.tactic) continue;
      std::string kept = std::exchange(role.tactic, rival);
      const Result<SequenceTime> time = sequence.time();
      report(tuning, role, time);
      if (betters(time, best))
        best = *time;
      else
        role.tactic = std::move(kept);
    }
    tell_of(tuning, sequence, watch, best, [&](SequenceForecast& forecast, const Tried& tried) {
      forecast.tried(role.key, tried);
    });
  }
  TENON_TRY(sequence.complete());
  for (const Role& role : sequence.roles())
    for (const size_t layer : role.layers) tactics[layer] = role.tactic;
  if (tuning.options.logger != nullptr && best.median < first->median)
    tuning.options.logger->verbose("Layers in sequence: {:.4f} ms, from {:.4f} ms", best.median,
                                   first->median);
  return std::optional(best.median);
}

Result<std::optional<size_t>> fastest_in_sequence(const SequenceTuning& tuning,
                                                  const std::vector<std::string>& now,
                                                  std::span<const std::vector<std::string>> ways) {
  constexpr double kClearly = 0.99;
  Sequence sequence(tuning, now);
  const Result<SequenceTime> before = sequence.time();
  TENON_TRY(sequence.complete());
  std::optional<size_t> fastest;
  double least = before.ok() ? before->median * kClearly : effort::kFailed;
  for (size_t i = 0; i < ways.size(); ++i) {
    for (Role& role : sequence.roles()) role.tactic = ways[i][role.layers[0]];
    const Result<SequenceTime> after = sequence.time();
    TENON_TRY(sequence.complete());
    if (tuning.options.logger != nullptr && after.ok())
      tuning.options.logger->verbose("Layers in sequence: {:.4f} ms, others {:.4f} ms",
                                     before.ok() ? before->median : effort::kFailed, after->median);
    if (!after.ok() || after->median >= least) continue;
    least = after->median;
    fastest = i;
  }
  return fastest;
}

}  // namespace tenon
