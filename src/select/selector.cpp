#include "select/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "base/guard.h"
#include "base/parallel.h"
#include "base/stopwatch.h"
#include "base/work_queue.h"
#include "ops/application.h"
#include "ops/ops.h"
#include "select/effort.h"
#include "select/expected_time.h"
#include "select/pilots.h"
#include "select/problem_key.h"

namespace tenon {
namespace {

/// When the time is up, candidates without a time are left out, but for the first where there is
/// nothing else.
void leave_out_late(Shortlist& list, size_t first, bool keep_first) {
  for (size_t i = first; i < list.trials.size(); ++i) {
    Trial& trial = list.trials[i];
    if (trial.time.has_value()) continue;
    trial.left_out = trial.late = i > first || !keep_first;
  }
}

std::string reason_of(const Trial& left_out, const Option& option, const Shortlist& list) {
  if (left_out.late) return "not tried: the build's time was up";
  if (list.is_held(option))
    return "not tried: it did not win where the operation takes the longest";
  return "not tried: others of its tactic were not fast enough";
}

}  // namespace

Result<std::vector<Candidate>> Selector::list(const Problem& problem) {
  Shortlist& shortlist = shortlist_of(problem);
  if (!shortlist.measured) finish(problem, shortlist);
  if (trials_.stopped()) return *trials_.stopped();
  std::vector<Candidate> candidates = *shortlist.measured;
  candidates.insert(candidates.end(), shortlist.unfit.begin(), shortlist.unfit.end());
  return candidates;
}

const Rivals& Selector::rivals(const Problem& problem) const {
  return rivals_.at(problem_key(problem));
}

Result<std::vector<std::string>> Selector::choose(const Layers& layers, bool in_sequence,
                                                  TrialsAhead* beside) {
  std::vector<std::string> tactics(layers.nodes.size());
  trials_.measurer().expect(layers.problems);
  for (const size_t i : prepare(layers.problems, beside)) {
    TENON_ASSIGN(tactics[i],
                 guarded(fmt::format("choosing a kernel for node \"{}\"", layers.nodes[i]->name),
                         [&] { return best(layers.problems[i]); }));
  }
  if (in_sequence && scope_.options.after_trials) scope_.options.after_trials(layers.graph.graph());
  if (in_sequence) TENON_TRY(tune(layers, tactics));
  if (scope_.backend.device->capabilities().compiles_kernels && !layers.nodes.empty())
    report_times();
  return tactics;
}

Status Selector::try_candidates(std::span<const Problem> problems) {
  prepare(problems, nullptr);
  report_times();
  return trials_.stopped() ? Status(*trials_.stopped()) : Status();
}

Result<std::string> Selector::best(const Problem& problem) {
  TENON_ASSIGN(const std::vector<Candidate> candidates, list(problem));
  for (const Candidate& candidate : candidates)
    if (candidate.reason.empty()) return candidate.tactic;
  // For the application's nodes, refusals of other kernels are of no interest.
  const bool is_plugin = problem.operation.is<Plugin>();
  std::string reasons;
  for (const Candidate& candidate : candidates)
    if (!is_plugin || scope_.backend.origin_of(candidate.tactic) == TacticOrigin::kPlugin)
      reasons += fmt::format("; {}: {}", candidate.tactic, candidate.reason);
  return unsupported("no kernel for '{}' ({}){}", problem.layer, problem.operation.name(), reasons);
}

/// Tries problems with more than one option each, and problems that follow from them: kernels are
/// made by a work queue and timed by one thread.
class Selector::Round {
 public:
  Round(Selector& selector, const Open& open, TrialsAhead* ahead)
      : selector_(selector), schedule_(selector.schedule_), ahead_(ahead) {
    const SelectOptions& options = selector.scope_.options;
    if (options.level <= effort::kStagedLevel && options.chooser == nullptr) pilots_.emplace(open);
    for (const auto& [problem, list] : open) {
      if (list->waits) schedule_.tell_held(*problem, *list);
      problems_.push_back({problem, list});
    }
  }

  void run() {
    const size_t count = problems_.size();
    for (size_t i = 0; i < count && !is_stopped(); ++i) go_on(i);
    while (const auto task = is_stopped() ? std::nullopt : queue_.take_done()) {
      const auto& [i, problem, list, option] = *task;
      let_go(*task);
      selector_.trials_.run(*problem, *list, option);
      if (--problems_[i].pending == 0 && !is_stopped()) go_on(i);
    }
  }

 private:
  struct Tried {
    const Problem* problem;
    Shortlist* list;
    size_t pending = 0;
    bool begun = false;
    std::string code = {};  ///< TrialsAhead::code_of().
  };
  struct Task {
    size_t number;
    const Problem* problem;
    Shortlist* list;
    size_t option;
  };
  /// Tasks that wait for another one by whose code their kernels are made, too: as many threads
  /// would wait for it.
  using Waiting = std::vector<Task>;

  bool is_stopped() const { return selector_.trials_.stopped().has_value(); }

  void make(const Task& task) {
    const Option& option = task.list->fitting[task.option];
    schedule_.makes(*task.problem, option);
    Stopwatch watch;
    CoreStopwatch core_watch;
    task.list->trials[task.option].kernel = selector_.trials_.make(*task.problem, option);
    schedule_.made(*task.problem, option, {watch.lap(), core_watch.lap()});
  }

  void go_on(size_t i) {
    Tried& tried = problems_[i];
    const auto [problem, list] = std::pair(tried.problem, tried.list);
    const bool begun = std::exchange(tried.begun, true);
    if (ahead_ != nullptr && tried.code.empty())
      tried.code = ahead_->code_of(problem_key(*problem));
    Trials& trials = selector_.trials_;
    std::vector<size_t> next = trials.next(*problem, *list);
    const bool calls = calls_application(problem->operation.node());
    for (; calls && !next.empty() && !is_stopped(); next = trials.next(*problem, *list))
      for (const size_t option : next) trials.run(*problem, *list, option);
    for (const size_t option : next) {
      schedule_.will_make(*problem, list->fitting[option]);
      // Others wait until a pilot is decided: its own stages are not to wait for theirs, nor later
      // stages for first ones. Kernels of many shapes are timed while there is nothing else to
      // time: no kernel is made behind them.
      add({i, problem, list, option}, begun || (pilots_ && pilots_->is_pilot(i)));
    }
    problems_[i].pending = next.size();
    if (!next.empty() || list->waits) return;
    selector_.finish(*problem, *list);
    if (!is_stopped()) follow(i);
  }

  void add(const Task& task, bool is_urgent) {
    if (const std::string code = code_of(task); !code.empty()) {
      const auto [waiting, is_first] = in_making_.try_emplace(code);
      if (!is_first) return waiting->second.push_back(task);
    }
    queue_.add(task, is_urgent, task.list->is_brief);
  }
  /// Tasks that waited for this one, whose kernel is made: theirs take no compiler.
  void let_go(const Task& task) {
    const auto found = in_making_.find(code_of(task));
    if (found == in_making_.end()) return;
    for (const Task& waited : found->second) queue_.add(waited, true, waited.list->is_brief);
    in_making_.erase(found);
  }
  /// What tells apart the code that the task's kernel is made of; nothing where no other needs it.
  std::string code_of(const Task& task) const {
    const Option& option = task.list->fitting[task.option];
    if (ahead_ == nullptr || option.tactic->traits.origin != TacticOrigin::kOwn) return {};
    return problems_[task.number].code + option.text();
  }

  /// A problem is decided.
  void follow(size_t i) {
    const auto [problem, list] = std::pair(problems_[i].problem, problems_[i].list);
    if (pilots_) {
      const std::vector<size_t> waiting = pilots_->decided(i, selector_.row_of_best(*list));
      for (const size_t waited : waiting) {
        const Tried& other = problems_[waited];
        schedule_.tell_held(*other.problem, *other.list, waiting.size());
        if (other.begun && other.pending == 0) go_on(waited);
      }
    }
    if (ahead_ == nullptr) return;
    const std::string key = problem_key(*problem);
    for (const TrialsAhead::Wanted& wanted :
         ahead_->decided(key, *list->measured, selector_.rivals_.at(key)))
      if (!is_stopped()) add(wanted);
  }

  void add(const TrialsAhead::Wanted& wanted) {
    const auto [entry, is_new] = selector_.shortlists_.try_emplace(problem_key(*wanted.problem));
    if (!is_new) return;
    Shortlist& list = entry->second;
    list = selector_.shortlister_.list_among(*wanted.problem, wanted.tactics, wanted.proposals);
    // None of these takes it.
    if (list.fitting.empty() && !wanted.is_brief)
      list = selector_.shortlister_.list(*wanted.problem, RangeEnd::kNone);
    list.is_brief = wanted.is_brief;
    if (list.fitting.size() < 2) return;
    // Nor is it to wait for first stages, behind which all of its layer would be timed at the end.
    problems_.push_back({.problem = wanted.problem, .list = &list, .begun = true});
    go_on(problems_.size() - 1);
  }

  Selector& selector_;
  Schedule& schedule_;
  TrialsAhead* const ahead_;
  std::optional<Pilots> pilots_;
  std::deque<Tried> problems_;
  std::map<std::string, Waiting> in_making_;  ///< By code.
  // A few more threads than cores: libraries make few kernels at a time, and other threads wait.
  // With twice as many each kernel takes a tenth more of the cores.
  WorkQueue<Task> queue_{helper_threads() + effort::kMoreMakers,
                         [this](const Task& task) { make(task); }};
};

/// Measures the candidates that list() will give for problems whose kernels are compiled: while
/// some kernels are timed, others are made, several at a time. Gives the order in which to ask for
/// the problems.
std::vector<size_t> Selector::prepare(std::span<const Problem> problems, TrialsAhead* beside) {
  const bool has_budget = scope_.options.watch != nullptr && scope_.options.watch->has_budget();
  if (has_budget) beside = nullptr;
  const std::span<const Problem> others =
      beside == nullptr ? std::span<const Problem>() : beside->at_ends();
  const auto announce = [&] {
    const auto list_of = [&](const Problem& problem) -> const Shortlist& {
      return shortlist_of(problem);
    };
    std::vector<size_t> order = schedule_.announce(problems, others, list_of);
    if (scope_.options.before_trials) scope_.options.before_trials();
    return order;
  };
  if (!scope_.backend.device->capabilities().compiles_kernels) return announce();
  Open open;
  for (const auto& group : {problems, others})
    for (const Problem& problem : group) {
      const auto [entry, is_new] = shortlists_.try_emplace(problem_key(problem));
      if (!is_new) continue;
      open.emplace_back(&problem, &entry->second);
      entry->second.end = scope_.options.end;
      if (group.data() == others.data()) entry->second.end = beside->end_of(problem_key(problem));
    }
  Stopwatch watch;
  const auto list_options = [&](size_t i) {
    if (!scope_.backend.device->activate().ok()) return;
    *open[i].second = shortlister_.list(*open[i].first, open[i].second->end);
  };
  const auto node = [&](size_t i) -> const Node& { return open[i].first->operation.node(); };
  for_each_node_parallel(open.size(), node, list_options);
  times_.list += watch.lap();
  std::vector<size_t> order = announce();
  if (scope_.described || scope_.options.fail_on_cache_miss) return order;
  if (beside != nullptr)
    for (const auto& [problem, list] : open)
      if (list->end != RangeEnd::kNone)
        for (const std::string& usual : beside->usual_of(problem_key(*problem)))
          if (const auto made = shortlists_.find(usual); made != shortlists_.end())
            list->take_made(made->second);
  std::erase_if(open, [](const auto& entry) { return entry.second->fitting.size() < 2; });
  if (has_budget)
    std::ranges::stable_sort(open, std::greater(),
                             [](const auto& entry) { return expected_launch(*entry.first); });
  // Layer by layer, so that shapes between the ends have their turns all the time. Ends come behind
  // the usual shapes of half of all layers: those have more stages, for which no layer is to wait
  // at the end, but as long as there are no others cores alone are busy.
  if (beside != nullptr)
    std::ranges::stable_sort(open, {}, [&](const auto& entry) {
      const size_t lag = entry.second->end == RangeEnd::kNone ? 0 : beside->layers() / 2;
      return beside->layer_of(problem_key(*entry.first)) + lag;
    });
  Round(*this, open, beside).run();
  times_.make += watch.lap();
  return order;
}

/// tune_in_sequence() with the times of each problem alone.
Status Selector::tune(const Layers& layers, std::vector<std::string>& tactics) {
  Stopwatch watch;
  BuildWatch* const told = scope_.options.watch;
  if (told != nullptr) {
    told->begin(BuildWatch::Step::kSequence);
    told->note(BuildWatch::Step::kSequence, fmt::format("{} layers", layers.nodes.size()));
  }
  const auto advance = [&](size_t count) {
    return steps_ == nullptr || steps_->advance(static_cast<int>(count));
  };
  auto tuned = tune_in_sequence(
      {scope_.backend, scope_.options, scope_.cache, trials_.measurer(), layers, rivals_, advance},
      tactics);
  if (told != nullptr) told->sequence([](SequenceForecast& forecast) { forecast.ended(); });
  times_.tune += watch.lap();
  TENON_ASSIGN(sequence_, std::move(tuned));
  return {};
}

void Selector::report_times() {
  Logger* const logger = scope_.options.logger;
  if (logger == nullptr) return;
  const Measurer::InSequences& sequences = trials_.measurer().in_sequences();
  logger->verbose(
      "Build times of {} problems: candidates listed {:.2f} s, made and timed {:.2f} s (timed "
      "{:.2f} s), tried in sequence {:.2f} s ({} sequences in all, captured in {:.2f} s, "
      "replayed in {:.2f} s)",
      shortlists_.size(), times_.list, times_.make, trials_.seconds(), times_.tune, sequences.count,
      sequences.captured, sequences.replayed);
  logger->verbose("Build work: kernels made to be timed: {}", trials_.describe_work());
}

Shortlist& Selector::shortlist_of(const Problem& problem) {
  Shortlist& shortlist = shortlists_[problem_key(problem)];
  if (!shortlist.made) shortlist = shortlister_.list(problem);
  return shortlist;
}

/// Of a decided problem; null where nothing could be measured.
const Tactic* Selector::row_of_best(const Shortlist& list) const {
  return list.measured->empty() ? nullptr : scope_.backend.row_of(list.measured->front().tactic);
}

/// Chooses among the tried options, and tries the rest.
void Selector::finish(const Problem& problem, Shortlist& list) {
  const std::vector<Option> fitting = list.fitting;
  std::vector<Candidate> measured = measure(problem, list);
  schedule_.tell_left_out(problem, fitting, list.trials);
  list.trials.clear();
  if (trials_.stopped()) return;
  if (measured.empty()) take_spare(problem, list, measured);
  put_best_first(measured);
  if (!measured.empty()) schedule_.tell_decided(problem, measured.front().tactic);
  const std::string key = problem_key(problem);
  const Rivals& rivals = rivals_[key] = rivals_of(scope_.backend, measured);
  schedule_.tell_rivals(problem, 1e-3 * std::max(rivals.best, 0.0),
                        std::max<size_t>(rivals.tactics.size(), 1) - 1);
  list.measured = std::move(measured);
  if (steps_ != nullptr && !steps_->finish(key)) trials_.stop(stopped_by_monitor());
}

std::vector<Candidate> Selector::measure(const Problem& problem, Shortlist& list) {
  std::vector<Measured> measured;
  std::vector<size_t> numbers;  ///< Of the measured ones, in the list.
  std::vector<Option> tried;
  for (size_t i = 0; i < list.fitting.size(); ++i) {
    Trial* const trial = list.trials.empty() ? nullptr : &list.trials[i];
    if (trial != nullptr && schedule_.is_out_of_time()) leave_out_late(list, i, measured.empty());
    const bool is_left_out = trial != nullptr && trial->left_out;
    Measured one{list.fitting[i], -1, {}};
    std::string reason;
    if (is_left_out)
      reason = reason_of(*trial, list.fitting[i], list);
    else if (const Status status = measure(problem, list, i, one); !status.ok())
      reason = status.error().message;
    if (trials_.stopped()) return {};
    if (!is_left_out) tried.push_back(one.option);
    if (trial != nullptr) one.sample = std::move(trial->sample);
    if (!reason.empty()) {
      list.unfit.push_back({one.option.text(), one.milliseconds, reason});
      continue;
    }
    measured.push_back(std::move(one));
    numbers.push_back(i);
  }
  measure_again(problem, list, measured, numbers);
  list.fitting = std::move(tried);
  leave_out_wrong(scope_, problem, trials_.measurer(), measured, list);
  shortlister_.remember(problem, list);
  std::vector<Candidate> candidates;
  for (const Measured& one : measured)
    candidates.push_back({one.option.text(),
                          one.milliseconds,
                          {},
                          static_cast<size_t>(KnownTimes(scope_).workspace(problem, one.option))});
  return candidates;
}

/// Gives the candidate its time, where it has to win against others.
Status Selector::measure(const Problem& problem, Shortlist& list, size_t index,
                         Measured& measured) {
  const Option& option = measured.option;
  const bool known = !scope_.described || KnownTimes(scope_).find(problem, option).has_value();
  if (list.fitting.size() < 2 || !known) return trials_.check_alone(problem, option);
  const std::optional<Result<double>>& time = list.trials[index].time;
  if (!time && schedule_.is_out_of_time()) return trials_.check_alone(problem, option);
  if (!time) trials_.run(problem, list, index);
  TENON_ASSIGN(measured.milliseconds, *time);
  return {};
}

/// Those that may win; `numbers` are theirs in the list.
void Selector::measure_again(const Problem& problem, Shortlist& list, std::span<Measured> measured,
                             std::span<const size_t> numbers) {
  trials_.run_again(problem, list);
  for (size_t i = 0; i < measured.size(); ++i) {
    Measured& one = measured[i];
    if (one.milliseconds < 0) continue;
    one.milliseconds = **list.trials[numbers[i]].time;
    if (scope_.options.logger != nullptr)
      scope_.options.logger->verbose("{}: {}: {:.5f} ms, proposal {}", problem.layer,
                                     one.option.text(), one.milliseconds, one.option.place);
  }
}

/// All that fitted failed: the first of the others that can be made. The last one runs anything.
void Selector::take_spare(const Problem& problem, Shortlist& list,
                          std::vector<Candidate>& measured) {
  for (const Option& spare : list.spare) {
    if (&spare != &list.spare.back() && !trials_.can_be_made(problem, spare)) continue;
    const std::string text = spare.text();
    std::erase_if(list.unfit, [&](const Candidate& c) { return c.tactic == text; });
    measured.push_back({text, -1, {}});
    return;
  }
}

}  // namespace tenon
