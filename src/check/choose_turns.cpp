#include "check/choose_turns.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "check/plan_trial.h"
#include "device/described_device.h"
#include "ir/text.h"
#include "runtime/sample_steps.h"

namespace tenon {
namespace {

/// The gain that another size must have over the usual one.
constexpr double kMargin = 0.97;
constexpr int kTimedRuns = 10;

/// The usual way, by which the others are measured, first.
std::vector<SampleTurns> ways_of(const TurnSearch& search, const Device& device) {
  const SampleTurns usual{usual_turns(device).samples, search.most_bytes};
  std::vector<SampleTurns> ways{usual};
  if (search.sizes > 0)
    for (int i = -1, samples = 0; i < search.sizes; ++i, samples = 1 << i)
      if (samples != usual.samples) ways.push_back({samples, search.most_bytes});
  return ways;
}

/// A plan that runs in one way. Equal steps need no trial of their own.
struct Way {
  SampleTurns turns;
  std::vector<int64_t> steps;  ///< Turns of each step.
  double milliseconds = 0;
};

std::vector<int64_t> turns_of_steps(const Program& program) {
  std::vector<int64_t> turns;
  for (const Step& step : program.list().steps)
    turns.push_back(step.samples.evaluate(program.list().symbols).value_or(0));
  return turns;
}

class Search {
 public:
  Search(const Plan& plan, const Backend& backend, TimingCache& cache)
      : plan_(plan), backend_(backend), cache_(cache) {
    const std::string text = print(*plan.graph);
    const DeviceProperties& device = backend.device->properties();
    key_ = fmt::format("turns {} {} {} {:016x}|", device.name, device.compute_units,
                       device.libraries, XXH3_64bits(text.data(), text.size()));
  }

  /// Times one way, unless an earlier one has the same steps or it gives other results.
  Status add(const SampleTurns& turns) {
    Plan plan = copy_of(plan_);
    plan.settings[kTurnsSetting] = to_text(turns);
    PlanTrial trial(backend_);
    TENON_TRY(trial.prepare(plan));
    Way way{turns, turns_of_steps(trial.program())};
    if (std::ranges::find(ways_, way.steps, &Way::steps) != ways_.end()) return {};
    TENON_ASSIGN(auto results, trial.results());
    if (ways_.empty())
      expected_ = std::move(results);
    else if (results != expected_)
      return internal_error("turns of {} samples give other results", turns.samples);
    const std::string key = key_ + to_text(turns);
    if (const auto known = cache_.find_note(key)) {
      way.milliseconds = *known;
    } else {
      TENON_ASSIGN(way.milliseconds, trial.time(kTimedRuns));
      cache_.insert_note(key, way.milliseconds);
    }
    ways_.push_back(std::move(way));
    return {};
  }

  /// The fastest; the usual one unless another is faster by a margin.
  const Way& best() const {
    const auto fastest = std::ranges::min_element(ways_, {}, &Way::milliseconds);
    const bool gains = fastest->milliseconds < ways_.front().milliseconds * kMargin;
    return gains ? *fastest : ways_.front();
  }
  const std::vector<Way>& ways() const { return ways_; }

 private:
  const Plan& plan_;
  const Backend& backend_;
  TimingCache& cache_;
  std::string key_;
  std::vector<Way> ways_;
  std::vector<std::vector<std::byte>> expected_;
};

std::string text_of(const SampleTurns& turns) {
  if (turns.samples == 0) return "whole batches";
  return fmt::format("turns of {} {}", turns.samples, turns.samples == 1 ? "sample" : "samples");
}

}  // namespace

Status choose_turns(Plan& plan, const Backend& backend, const TurnSearch& search,
                    TimingCache& cache, Logger& logger) {
  const std::vector<SampleTurns> ways = ways_of(search, *backend.device);
  const bool is_bounded = search.most_bytes != INT64_MAX;
  if (is_bounded) plan.settings[kTurnsSetting] = to_text(ways.front());
  if (search.sizes == 0 || is_described(*backend.device)) return {};
  Search found(plan, backend, cache);
  for (const SampleTurns& turns : ways)
    if (const Status added = found.add(turns); !added.ok()) {
      logger.verbose("Tiling: {} left out: {}", text_of(turns), added.error().message);
      if (found.ways().empty()) return {};
    }
  std::string times;
  for (const Way& way : found.ways())
    times += fmt::format("{}{} {:.3f} ms", times.empty() ? "" : ", ", text_of(way.turns),
                         way.milliseconds);
  logger.info("Tiling: {} (of {})", text_of(found.best().turns), times);
  if (is_bounded || found.best().turns != ways.front())
    plan.settings[kTurnsSetting] = to_text(found.best().turns);
  return {};
}

}  // namespace tenon
