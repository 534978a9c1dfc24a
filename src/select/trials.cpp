#include "select/trials.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "select/effort.h"
#include "select/sequence_tuning.h"

namespace tenon {
namespace {

/// Whether it is not run again.
bool is_hopeless(double once, double best) {
  return once > effort::kShortMilliseconds && once > best * effort::kHopeless;
}

}  // namespace

Prepared Trials::make(const Problem& problem, const Option& option) {
  if (!scope_.backend.device->activate().ok()) return std::nullopt;
  Prepared kernel = work_.create(*option.tactic, problem, option.config);
  // It is timed behind itself as it will run: behind others that start it early.
  if (kernel->ok() && (**kernel)->waits_for_previous())
    if (const Status status = (**kernel)->let_next_start(); !status.ok()) kernel = status.error();
  return kernel;
}

void Trials::run(const Problem& problem, Shortlist& list, size_t index) {
  Stopwatch watch;
  Trial& trial = list.trials[index];
  const Option& option = list.fitting[index];
  const bool is_known = times_.find(problem, option).has_value();
  making_ = 0;
  launches_ = 0;
  packed_ = 0;
  const double launched = measurer_->in_launches();
  if (!is_known) schedule_.tries(problem, option);
  trial.time = time_of(problem, list, index);
  if (!on_host()) trial.kernel.reset();
  const double took = watch.lap();
  seconds_ += took;
  if (!is_known)
    schedule_.did(problem, option,
                  {.make = making_,
                   .all = took,
                   .launches = launches_,
                   .is_preferred = index == 0,
                   .packed = packed_,
                   .around = took - making_ - (measurer_->in_launches() - launched)});
  if (!trial.time->ok()) report_failure(problem, option.text(), trial.time->error().message);
}

bool Trials::on_host() const {
  return scope_.backend.device->capabilities().host_cores;
}

void Trials::run_again(const Problem& problem, Shortlist& list) {
  if (!on_host()) return;
  Stopwatch watch;
  for (const double limit : {effort::kMayHaveWaited, effort::kClose}) {
    const double most = list.best() * limit;
    const auto may_win = [&](const Trial& trial) {
      return trial.time && trial.time->ok() && **trial.time <= most;
    };
    if (std::ranges::count_if(list.trials, may_win) < 2 || schedule_.is_out_of_time()) break;
    for (size_t i = 0; i < list.trials.size(); ++i) {
      Trial& trial = list.trials[i];
      if (!may_win(trial) || !trial.kernel) continue;
      const int runs = std::min(effort::kRunsAgain, effort::runs_for(**trial.time, 1));
      const auto again = measurer_->time(problem, ***trial.kernel, runs, nullptr);
      if (!again.ok() || *again >= **trial.time) continue;
      trial.time = *again;
      times_.insert(problem, list.fitting[i], *again);
    }
  }
  for (Trial& trial : list.trials) trial.kernel.reset();
  seconds_ += watch.lap();
}

std::vector<size_t> Trials::next(const Problem& problem, Shortlist& list) {
  std::vector<size_t> next;
  while (next.empty() && !stopped_ && !schedule_.is_out_of_time()) {
    const std::vector<size_t> wanted = schedule_.wanted(list);
    if (wanted.empty()) break;
    for (const size_t option : wanted) {
      if (times_.find(problem, list.fitting[option]))
        run(problem, list, option);
      else
        next.push_back(option);
    }
  }
  if (next.empty())
    for (Trial& trial : list.trials) trial.left_out = !trial.time.has_value();
  return next;
}

Result<double> Trials::time_of(const Problem& problem, Shortlist& list, size_t index) {
  const Option& option = list.fitting[index];
  Trial& trial = list.trials[index];
  if (const auto known = times_.find(problem, option)) {
    if (*known == effort::kWrong)
      return unsupported("it computed something else when it was measured");
    if (*known == effort::kFailed) return unsupported("it failed when it was to be timed");
    TENON_TRY(check_workspace(times_.workspace(problem, option)));
    return *known;
  }
  if (scope_.options.fail_on_cache_miss) {
    stop(missing_time(problem.layer, option.text()));
    return *stopped_;
  }
  Prepared& prepared = trial.kernel;
  Stopwatch watch;
  if (!prepared) prepared = make(problem, option);
  making_ = watch.lap();
  if (!prepared) return resource_error("the device is not there for this thread");
  if (!prepared->ok()) return failed(problem, option, prepared->error());
  const Kernel& kernel = **prepared.value();
  packed_ = static_cast<double>(kernel.packed().size());
  const auto workspace = static_cast<double>(kernel.workspace_bytes());
  TENON_TRY(check_workspace(workspace));
  const auto time = measured(problem, kernel, trial.sample, list);
  if (!time.ok()) return failed(problem, option, time.error());
  times_.insert(problem, option, *time, workspace);
  return time;
}

Result<double> Trials::measured(const Problem& problem, const Kernel& kernel, Sample& sample,
                                const Shortlist& list) {
  const int asked = scope_.options.average_runs;
  // A device with streams sees for itself how long a launch is.
  if (scope_.backend.device->streams() != nullptr)
    return measurer_->time(problem, kernel, effort::asked_of_streams(asked, list.is_brief),
                           &sample);
  const double best = list.best();
  TENON_ASSIGN(double once, measurer_->time(problem, kernel, 1, &sample));
  launches_ = 1 + Measurer::kWarmUps;
  if (is_hopeless(once, best) && once < best * effort::kDoubtful) {
    TENON_ASSIGN(const double again, measurer_->time(problem, kernel, 1, nullptr));
    launches_ *= 2;
    once = std::min(once, again);
  }
  if (is_hopeless(once, best)) return once;
  const int runs = effort::runs_for(once, asked);
  const int more =
      effort::launches_of_trial(once, asked, is_timed_cold(problem)) - effort::kFirstLaunches;
  schedule_.launched(problem, 1e-3 * once * more, more);
  launches_ += more;
  return measurer_->time(problem, kernel, runs, nullptr);
}

Status Trials::check_workspace(double bytes) const {
  const size_t limit = scope_.options.workspace_limit;
  if (bytes <= static_cast<double>(limit)) return {};
  return unsupported("its workspace of {:.0f} bytes is over the limit of {}", bytes, limit);
}

Status Trials::check_alone(const Problem& problem, const Option& option) const {
  const bool limited = scope_.options.workspace_limit != SIZE_MAX || limits_shared_memory(problem);
  if (!limited || scope_.described) return {};
  TENON_ASSIGN(const auto kernel, create_kernel(*option.tactic, problem, option.config));
  return check_workspace(static_cast<double>(kernel->workspace_bytes()));
}

bool Trials::can_be_made(const Problem& problem, const Option& option) const {
  const auto kernel = create_kernel(*option.tactic, problem, option.config);
  return kernel.ok() && check_workspace(static_cast<double>((*kernel)->workspace_bytes())).ok();
}

/// Remembered, unless it may be otherwise next time: failures take long too.
Error Trials::failed(const Problem& problem, const Option& option, const Error& error) const {
  if (error.kind != ErrorKind::kResource) times_.insert(problem, option, effort::kFailed);
  return error;
}

/// A kernel that reads outside its operands may take the device along: nothing after it runs.
void Trials::report_failure(const Problem& problem, const std::string& tactic,
                            const std::string& reason) {
  if (scope_.options.logger != nullptr)
    scope_.options.logger->verbose("{}: {}: {}", problem.layer, tactic, reason);
  if (scope_.described) return;
  const Status well = measurer_->check_device();
  if (!well.ok())
    stop(Error{ErrorKind::kInternal,
               fmt::format("the device no longer answers since {} ran for '{}': {}", tactic,
                           problem.layer, well.error().message)});
}

}  // namespace tenon
