#include "api/progress.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/builder_config.h"
#include "base/call_number.h"
#include "base/environment.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {

static_assert(static_cast<int>(BuildStep::kWRITE) == static_cast<int>(BuildWatch::Step::kWrite));
static_assert(kBuildSteps == BuildWatch::kSteps);

TENON_EXPORT bool setBuildObserver(nvinfer1::IBuilderConfig& config,
                                   IBuildObserver* observer) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr) return false;
  settings->progress().observer = observer;
  return true;
}

TENON_EXPORT bool setBuildBudget(nvinfer1::IBuilderConfig& config, double seconds) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr || !(seconds >= 0)) return false;
  settings->progress().budget = seconds;
  return true;
}

namespace api {
namespace {

constexpr const char* kBuild = "Building the plan";
constexpr const char* kKernels = "Choosing kernels";
/// Phases of evaluations on the host, by the build's step.
constexpr std::array<const char*, BuildWatch::kSteps> kEvaluations = {
    "Folding constants", "Timing kernels", "Timing kernels", "Checking the plan",
    "Writing the plan"};
/// Of such a phase: each is a part of the time that the build's step is expected to take.
constexpr int kEvaluationSteps = 100;
/// In the cache folder.
constexpr const char* kPaces = "paces";
constexpr std::chrono::milliseconds kMoment{100};
/// No question follows for as long after the last time in the same evaluation.
constexpr std::chrono::seconds kPause{1};
/// How often an observer is told, and a monitor is looked after.
constexpr std::chrono::milliseconds kBeat{200};
/// The same in a build's first second: many end in it.
constexpr std::chrono::milliseconds kFirstBeat{20};
/// Of a build that has not ended.
constexpr double kMostDone = 0.99;
/// After so long a monitor is told its last step again.
constexpr std::chrono::milliseconds kSilence{500};

}  // namespace

Progress::Progress(nvinfer1::IProgressMonitor* monitor, IBuildObserver* observer, double budget)
    : monitor_(monitor),
      observer_(observer),
      watch_([this](BuildWatch::Step step, double seconds,
                    const std::string& facts) { step_ended(step, seconds, facts); },
             budget) {
  const bool is_watched = monitor_ != nullptr || observer_ != nullptr || budget > 0;
  if (const auto folder = cache_folder(); is_watched && !folder.empty())
    watch_.recall(folder / kPaces);
  if (monitor_ != nullptr) monitor_->phaseStart(kBuild, nullptr, 2);
  if (monitor_ != nullptr || observer_ != nullptr)
    heart_ = std::thread(with_call_number([this] { beat(); }));
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wakes_.notify_all();
  if (heart_.joinable()) heart_.join();
  if (monitor_ == nullptr) return;
  end_evaluations();
  if (choosing_) monitor_->phaseFinish(kKernels);
  monitor_->phaseFinish(kBuild);
}

std::function<bool()> Progress::for_evaluations() {
  if (monitor_ == nullptr) return {};
  return [this] { return stops_evaluations(); };
}

bool Progress::stops_evaluations() {
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    const auto since = now - asked_;
    if (since < kMoment) return false;
    asked_ = now;
    // Another evaluation, which may be short.
    if (since > kPause) return false;
  }
  // Outside of the lock: the watch tells under its own.
  const BuildWatch::State state = watch_.state();
  const double spent = watch_.seconds(state.step);
  const std::lock_guard lock(mutex_);
  return !tell_evaluation(state, spent);
}

/// Under the lock, of the step that took so many seconds so far; false where the monitor has
/// stopped the build.
bool Progress::tell_evaluation(const BuildWatch::State& state, double spent) {
  const char* const phase = kEvaluations[static_cast<size_t>(state.step)];
  if (evaluations_ != phase) {
    end_evaluations();
    monitor_->phaseStart(phase, choosing_ ? kKernels : kBuild, kEvaluationSteps);
    evaluations_ = phase;
    evaluation_steps_ = 0;
  }
  const double left = state.left[static_cast<size_t>(state.step)];
  const double share = left > 0 ? spent / (spent + left) : 0;
  const int step = std::min(static_cast<int>(kEvaluationSteps * share), kEvaluationSteps - 1);
  evaluation_steps_ = std::max(evaluation_steps_, step);
  last_told_ = Clock::now();
  return !stopped_ && monitor_->stepComplete(phase, evaluation_steps_);
}

/// Under the lock: phases end inside one another.
void Progress::end_evaluations() {
  if (evaluations_ != nullptr) monitor_->phaseFinish(std::exchange(evaluations_, nullptr));
}

void Progress::step_ended(BuildWatch::Step step, double seconds, const std::string& facts) {
  const std::lock_guard lock(mutex_);
  if (observer_ != nullptr)
    observer_->stepEnded(static_cast<BuildStep>(step), seconds, facts.c_str());
}

void Progress::tell_observer(const BuildWatch::State& state) {
  done_ = std::max(done_, std::min(state.done, kMostDone));
  BuildState told{static_cast<BuildStep>(state.step), done_, state.elapsed, state.remaining, {}};
  std::ranges::copy(state.left, told.left);
  observer_->progress(told);
}

void Progress::beat() {
  for (;;) {
    const BuildWatch::State state =
        watch_.state();  // Before the lock: the watch tells under its own.
    std::unique_lock lock(mutex_);
    if (over_) return;
    if (observer_ != nullptr) tell_observer(state);
    if (monitor_ != nullptr && Clock::now() - last_told_ > kSilence) tell_again();
    const auto pause = state.elapsed < 1 ? kFirstBeat : kBeat;
    if (wakes_.wait_for(lock, pause, [this] { return over_; })) return;
  }
}

/// Under the lock: the last step of the innermost phase.
void Progress::tell_again() {
  const bool evaluates = evaluations_ != nullptr;
  if (!evaluates && last_phase_ == nullptr) return;
  const char* const phase = evaluates ? evaluations_ : last_phase_;
  if (!monitor_->stepComplete(phase, evaluates ? evaluation_steps_ : last_step_)) stopped_ = true;
  last_told_ = Clock::now();
}

bool Progress::tell(const char* phase, int number) {
  const std::lock_guard lock(mutex_);
  end_evaluations();
  last_phase_ = phase;
  last_step_ = number;
  last_told_ = Clock::now();
  if (!monitor_->stepComplete(phase, number)) stopped_ = true;
  return !stopped_;
}

Status Progress::step(int number) {
  if (monitor_ == nullptr || tell(kBuild, number)) return {};
  return user_error("the progress monitor stopped the build");
}

std::function<bool(int, int)> Progress::for_kernels() {
  if (monitor_ == nullptr) return {};
  return [this](int step, int steps) {
    if (!choosing_) {
      const std::lock_guard lock(mutex_);
      end_evaluations();
      monitor_->phaseStart(kKernels, kBuild, steps);
      choosing_ = true;
    }
    const bool goes_on = tell(kKernels, step);
    if (step + 1 == steps) end_kernels();
    return goes_on;
  };
}

/// The check of the plan may follow.
void Progress::end_kernels() {
  const std::lock_guard lock(mutex_);
  if (!choosing_) return;
  end_evaluations();
  monitor_->phaseFinish(kKernels);
  last_phase_ = kBuild;
  last_step_ = 0;
  choosing_ = false;
}

Status Progress::kernels_done() {
  end_kernels();
  return step(1);
}

}  // namespace api
}  // namespace tenon
