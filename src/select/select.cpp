#include "select/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "base/function_ref.h"
#include "base/guard.h"
#include "base/parallel.h"
#include "base/stopwatch.h"
#include "base/work_queue.h"
#include "device/described_device.h"
#include "kernels/algorithm.h"
#include "ops/application.h"
#include "ops/dims.h"
#include "ops/structure.h"
#include "plan/bodies.h"
#include "select/effort.h"
#include "select/expected_time.h"
#include "select/fit_regions.h"
#include "select/measure.h"
#include "select/operation_cache.h"
#include "select/problem_key.h"
#include "select/record.h"
#include "select/sequence_tuning.h"
#include "select/stages.h"
#include "select/steps.h"
#include "select/views.h"
#include "select/work_log.h"

namespace tenon {
namespace {

using namespace effort;

class Selector {
 public:
  /// `steps` is told of each problem that is decided; may be null.
  Selector(const Backend& backend, const SelectOptions& options, TimingCache& cache, Steps* steps)
      : backend_(backend),
        options_(options),
        cache_(cache),
        steps_(steps),
        described_(is_described(*backend.device)),
        measurer_(backend, options.threads, options.warm) {}

  Result<std::string> best(const Problem& problem) {
    TENON_ASSIGN(const std::vector<Candidate> candidates, list(problem));
    for (const Candidate& candidate : candidates)
      if (candidate.reason.empty()) return candidate.tactic;
    // For the application's nodes, refusals of other kernels are of no interest.
    const bool plugin = problem.node->is<Plugin>();
    std::string reasons;
    for (const Candidate& candidate : candidates)
      if (!plugin || split_tactic(candidate.tactic).name.ends_with(".plugin"))
        reasons += fmt::format("; {}: {}", candidate.tactic, candidate.reason);
    return unsupported("no kernel for '{}' ({}){}", problem.node->name, problem.node->op->name(),
                       reasons);
  }

  /// All tactics; those that fit come first, the best of them at the front.
  Result<std::vector<Candidate>> list(const Problem& problem) {
    Shortlist& shortlist = shortlist_of(problem);
    if (!shortlist.measured) finish(problem, shortlist);
    if (stopped_) return *stopped_;
    std::vector<Candidate> candidates = *shortlist.measured;
    candidates.insert(candidates.end(), shortlist.unfit.begin(), shortlist.unfit.end());
    return candidates;
  }

  const Rivals& rivals(const Problem& problem) const { return rivals_.at(problem_key(problem)); }
  Result<std::vector<std::string>> choose(const Layers& layers, bool in_sequence) {
    std::vector<std::string> tactics(layers.nodes.size());
    for (const size_t i : prepare(layers.problems)) {
      TENON_ASSIGN(tactics[i],
                   guarded(fmt::format("choosing a kernel for node \"{}\"", layers.nodes[i]->name),
                           [&] { return best(layers.problems[i]); }));
    }
    if (in_sequence) TENON_TRY(tune(layers, tactics));
    if (!backend_.device->unified() && !layers.nodes.empty()) report_times();
    return tactics;
  }

  /// tune_in_sequence() with the times of each problem alone.
  Status tune(const Layers& layers, std::vector<std::string>& tactics) {
    Stopwatch watch;
    if (options_.watch != nullptr) {
      options_.watch->begin(BuildWatch::Step::kSequence);
      options_.watch->note(BuildWatch::Step::kSequence,
                           fmt::format("{} layers", layers.nodes.size()));
    }
    const auto advance = [&](size_t count) {
      if (options_.watch != nullptr)
        options_.watch->did(BuildWatch::Step::kSequence,
                            kSequenceSeconds * static_cast<double>(count));
      return steps_ == nullptr || steps_->advance(static_cast<int>(count));
    };
    const Status tuned = tune_in_sequence(
        {backend_, options_, cache_, measurer_, layers, rivals_, advance}, tactics);
    times_.tune += watch.lap();
    return tuned;
  }

  /// Measures the candidates that list() will give for problems on a GPU: while some kernels are
  /// timed, others are made, several at a time. Gives the order in which to ask for the problems.
  std::vector<size_t> prepare(const std::vector<Problem>& problems) {
    if (backend_.device->unified()) return announce(problems);
    std::vector<std::pair<const Problem*, Shortlist*>> open;
    for (const Problem& problem : problems) {
      const auto [entry, is_new] = shortlists_.try_emplace(problem_key(problem));
      if (is_new) open.emplace_back(&problem, &entry->second);
    }
    Stopwatch watch;
    const auto list_options = [&](size_t i) {
      if (!backend_.device->activate().ok()) return;
      *open[i].second = make_shortlist(*open[i].first);
    };
    const auto node = [&](size_t i) -> const Node& { return *open[i].first->node; };
    for_each_node_parallel(open.size(), node, list_options);
    times_.list += watch.lap();
    std::vector<size_t> order = announce(problems);
    if (described_ || options_.fail_on_cache_miss) return order;
    std::erase_if(open, [](const auto& entry) { return entry.second->fitting.size() < 2; });
    if (options_.watch != nullptr && options_.watch->has_budget())
      std::ranges::stable_sort(open, std::greater(),
                               [](const auto& entry) { return expected_launch(*entry.first); });
    try_all(open);
    times_.make += watch.lap();
    return order;
  }

  void report_times() const {
    if (options_.logger == nullptr) return;
    options_.logger->verbose(
        "Build times of {} problems: candidates listed {:.2f} s, made and timed {:.2f} s (timed "
        "{:.2f} s), tried in sequence {:.2f} s",
        shortlists_.size(), times_.list, times_.make, times_.time, times_.tune);
    options_.logger->verbose("Build work: kernels made to be timed: {}", work_.describe());
  }

 private:
  /// Empty: not made yet.
  using Prepared = std::optional<Result<std::unique_ptr<Kernel>>>;
  struct Option {
    const Tactic* tactic;
    std::string config;
    size_t place;  ///< Among the tactic's configurations, which come best first.
  };
  /// Outcome of an option.
  struct Trial {
    Prepared kernel;
    std::optional<Result<double>> time;  ///< Empty: not tried yet, or left out.
    Sample sample;
    bool left_out = false;
    bool late = false;  ///< Left out for lack of time.
  };
  /// The tactics that fit a problem, in the table's order, and the reasons against the rest.
  struct Shortlist {
    std::vector<Option> fitting;
    std::vector<Trial> trials;  ///< Of `fitting`, where more than one fits.
    std::vector<Candidate> unfit;
    std::vector<Option> spare;  ///< Of `unfit`: for where all that fits fails.
    bool made = false;
    bool remembered = false;  ///< From the timing cache: exactly the options tried then.
    std::optional<std::vector<Candidate>> measured;  ///< The best first.
  };

  /// Tells the watch how long the choice will take; the largest problems come first where the time
  /// is limited.
  std::vector<size_t> announce(const std::vector<Problem>& problems) {
    std::vector<size_t> order(problems.size());
    std::iota(order.begin(), order.end(), 0);
    if (options_.watch == nullptr) return order;
    for (const Problem& problem : problems) {
      if (!announced_.insert(problem_key(problem)).second) continue;
      const Shortlist& shortlist = shortlist_of(problem);
      candidates_ += shortlist.fitting.size();
      for (const Option& option : shortlist.fitting)
        if (!shortlist.trials.empty())
          options_.watch->expect(BuildWatch::Step::kChoose, kind_of(option),
                                 trial_seconds(problem, option));
    }
    options_.watch->note(BuildWatch::Step::kChoose,
                         fmt::format("{} layers, {} different ones, {} candidates", problems.size(),
                                     announced_.size(), candidates_));
    if (options_.watch->has_budget())
      std::ranges::stable_sort(order, std::greater(),
                               [&](size_t i) { return expected_launch(problems[i]); });
    return order;
  }

  /// Seconds that making and timing a candidate takes where the cache does not know it, as far as
  /// the problem tells.
  double trial_seconds(const Problem& problem, const Option& option) const {
    constexpr double kMake = 0.002, kMakeOnGpu = 0.05, kRunsOnGpu = 20;
    if (is_measured(problem, *option.tactic, option.config)) return 0;
    const double launch = expected_launch(problem);
    if (!backend_.device->unified()) return kMakeOnGpu + kRunsOnGpu * launch;
    return kMake + 2 * launch + static_cast<double>(runs_for(launch * 1e3)) * launch;
  }
  /// A GPU's kernels are made several at a time: each alone has no time of its own.
  std::string kind_of(const Option& option) const {
    return std::string(backend_.device->unified() ? option.tactic->name : "");
  }
  bool is_announced(const Problem& problem) const {
    return options_.watch != nullptr && announced_.contains(problem_key(problem));
  }
  /// Options that were announced and are left out.
  void tell_left_out(const Problem& problem, std::span<const Option> options,
                     std::span<const Trial> trials) const {
    for (size_t i = 0; is_announced(problem) && i < trials.size(); ++i)
      if (!trials[i].time.has_value())
        options_.watch->expect(BuildWatch::Step::kChoose, kind_of(options[i]),
                               -trial_seconds(problem, options[i]));
  }
  bool is_out_of_time() const {
    return options_.watch != nullptr && options_.watch->tuning_is_over();
  }

  Shortlist& shortlist_of(const Problem& problem) {
    Shortlist& shortlist = shortlists_[problem_key(problem)];
    if (!shortlist.made) shortlist = make_shortlist(problem);
    return shortlist;
  }

  /// Chooses among the tried options, and tries the rest.
  void finish(const Problem& problem, Shortlist& shortlist) {
    const std::vector<Option> fitting = shortlist.fitting;
    std::vector<Candidate> measured = measure(problem, shortlist);
    tell_left_out(problem, fitting, shortlist.trials);
    shortlist.trials.clear();
    if (stopped_) return;
    if (measured.empty()) take_spare(problem, shortlist, measured);
    put_best_first(measured);
    const std::string key = problem_key(problem);
    rivals_[key] = rivals_of(measured);
    shortlist.measured = std::move(measured);
    if (steps_ != nullptr && !steps_->finish(key)) stopped_ = stopped_by_monitor();
  }

  /// Problems with more than one option each: kernels are made by a work queue and timed here.
  void try_all(const std::vector<std::pair<const Problem*, Shortlist*>>& open) {
    std::vector<std::pair<size_t, size_t>> tasks;  // Of which problem, which option.
    std::vector<size_t> first(open.size()), pending(open.size());
    for (size_t i = 0; i < open.size(); ++i) {
      first[i] = tasks.size();
      for (size_t k = 0; k < open[i].second->trials.size(); ++k) tasks.emplace_back(i, k);
    }
    // More than cores: libraries make one kernel at a time, and other threads wait.
    WorkQueue work_queue(std::min<size_t>(2 * helper_threads(), kMostMakers), [&](size_t task) {
      const auto& [problem, shortlist] = open[tasks[task].first];
      const size_t option = tasks[task].second;
      shortlist->trials[option].kernel = make(*problem, shortlist->fitting[option]);
    });
    const auto go_on = [&](size_t i) {
      const auto& [problem, shortlist] = open[i];
      std::vector<size_t> next = next_options(*problem, *shortlist);
      for (; calls_application(*problem->node) && !next.empty() && !stopped_;
           next = next_options(*problem, *shortlist))
        for (const size_t option : next) try_option(*problem, *shortlist, option);
      for (const size_t option : next) work_queue.add(first[i] + option);
      pending[i] = next.size();
      if (next.empty()) finish(*problem, *shortlist);
    };
    for (size_t i = 0; i < open.size() && !stopped_; ++i) go_on(i);
    while (const auto task = stopped_ ? std::nullopt : work_queue.take_done()) {
      const auto [i, option] = tasks[*task];
      const auto& [problem, shortlist] = open[i];
      try_option(*problem, *shortlist, option);
      if (--pending[i] == 0 && !stopped_) go_on(i);
    }
  }

  /// For the work queue. Empty where nothing can be made on this thread.
  Prepared make(const Problem& problem, const Option& option) {
    if (!backend_.device->activate().ok()) return std::nullopt;
    Prepared kernel = work_.create(*option.tactic, problem, option.config);
    // It is timed behind itself as it will run: behind others that start it early.
    if (kernel->ok() && (**kernel)->waits_for_previous())
      if (const Status status = (**kernel)->let_next_start(); !status.ok()) kernel = status.error();
    return kernel;
  }

  /// Milliseconds of the fastest that was tried.
  static double best_of(const Shortlist& shortlist) {
    double best = kFailed;
    for (const Trial& trial : shortlist.trials)
      if (trial.time && trial.time->ok()) best = std::min(best, **trial.time);
    return best;
  }

  /// Times an option, by the cache or a kernel that is there or made now.
  void try_option(const Problem& problem, Shortlist& shortlist, size_t index) {
    Stopwatch watch;
    Trial& trial = shortlist.trials[index];
    const Option& option = shortlist.fitting[index];
    const double seconds = options_.watch == nullptr ? 0 : trial_seconds(problem, option);
    trial.time = time_of(problem, option, trial, best_of(shortlist));
    trial.kernel.reset();
    const double took = watch.lap();
    times_.time += took;
    if (is_announced(problem))
      options_.watch->did(BuildWatch::Step::kChoose, kind_of(option), seconds, took);
    if (!trial.time->ok())
      report_failure(problem, join_tactic(option.tactic->name, option.config),
                     trial.time->error().message);
  }

  /// The options to make now, without the cached ones and without options that are not worth it.
  std::vector<size_t> next_options(const Problem& problem, Shortlist& shortlist) {
    std::vector<size_t> next;
    const auto add = [&](size_t option) {
      const auto& [tactic, config, place] = shortlist.fitting[option];
      if (is_measured(problem, *tactic, config))
        try_option(problem, shortlist, option);
      else
        next.push_back(option);
    };
    while (next.empty() && !stopped_ && !is_out_of_time()) {
      const std::vector<size_t> wanted = wanted_options(shortlist);
      if (wanted.empty()) break;
      for (const size_t option : wanted) add(option);
    }
    if (next.empty())
      for (Trial& trial : shortlist.trials) trial.left_out = !trial.time.has_value();
    return next;
  }

  /// By tactic, those that were not tried and are worth it after those that were.
  std::vector<size_t> wanted_options(const Shortlist& shortlist) const {
    // In the order of their places.
    std::map<std::pair<const Tactic*, std::string_view>, std::vector<size_t>> options;
    const double best = best_of(shortlist);
    for (size_t i = 0; i < shortlist.fitting.size(); ++i) {
      const Option& option = shortlist.fitting[i];
      options[{option.tactic, engine_of(option.config)}].push_back(i);
    }
    std::vector<size_t> wanted;
    for (auto& [group, indices] : options) {
      const Tactic* const tactic = group.first;
      std::ranges::sort(indices, {}, [&](size_t i) { return shortlist.fitting[i].place; });
      std::vector<double> tried;
      for (const size_t i : indices)
        if (const auto& time = shortlist.trials[i].time)
          tried.push_back(time->ok() ? **time : kFailed);
      const bool in_stages =
          options_.level <= kStagedLevel && !shortlist.remembered && is_tried_in_stages(*tactic);
      // The shared needs of cuBLASLt's options are made with the first.
      const bool is_first = tried.empty() && origin_of(tactic->name) == TacticOrigin::kCublasLt;
      const size_t count = in_stages ? next_stage(tried, best) : is_first ? 1 : indices.size();
      for (size_t i = tried.size(); i < std::min(indices.size(), tried.size() + count); ++i)
        wanted.push_back(indices[i]);
    }
    std::ranges::sort(wanted);
    return wanted;
  }

  static bool is_outdone(const Tactic& tactic, const Shortlist& list) {
    return std::ranges::any_of(list.fitting, [&](const Option& option) {
      return tenon::is_outdone(tactic, *option.tactic);
    });
  }

  /// From the timing cache, where it has all of it: libraries take their time to propose.
  Shortlist make_shortlist(const Problem& problem) const {
    if (const auto known = options_.offered.find(problem.node->name);
        known != options_.offered.end()) {
      Shortlist list = make_shortlist(problem, [&](const Tactic& tactic) {
        return configs_among(known->second, tactic, problem);
      });
      list.remembered = true;  // All of it is tried.
      if (!list.fitting.empty()) return list;
    }
    const auto listed =
        options_.use_cache && keeps_lists() ? cache_.find_note(list_key(problem)) : std::nullopt;
    if (listed) {
      Shortlist list = make_shortlist(
          problem, [&](const Tactic& tactic) { return known_configs(problem, tactic); });
      list.remembered = true;
      if (static_cast<double>(list.fitting.size()) == *listed) return list;
    }
    return make_shortlist(problem,
                          [&](const Tactic& tactic) { return configs_of(tactic, problem); });
  }

  Shortlist make_shortlist(const Problem& problem,
                           FunctionRef<std::vector<std::string>(const Tactic&)> configs) const {
    Shortlist list;
    list.made = true;
    for (const Tactic& tactic : backend_.tactics) {
      if (options_.allowed && !options_.allowed(tactic)) continue;
      const Support support = fits(backend_, tactic, problem);
      if (!support) {
        list.unfit.push_back({std::string(tactic.name), -1, support.reason});
      } else if ((is_fallback(backend_, tactic) && !list.fitting.empty()) ||
                 is_outdone(tactic, list)) {
        list.spare.push_back({&tactic, tactic.configs(problem).front(), 0});
      } else {
        for (size_t place = 0; std::string & config : configs(tactic))
          list.fitting.push_back({&tactic, std::move(config), place++});
      }
    }
    // Behind those that a level tries, but ahead of kernels that take anything.
    while (list.fitting.size() > candidate_limit()) {
      list.spare.insert(list.spare.begin(), std::move(list.fitting.back()));
      list.fitting.pop_back();
    }
    for (const Option& option : list.spare)
      list.unfit.push_back({name_of(option), -1, "only where nothing else fits"});
    // In the order of the cache, so that ties end the same with it; tactics are a table's rows.
    if (!backend_.device->unified())
      std::ranges::sort(list.fitting, {}, [](const Option& option) {
        return std::tie(option.tactic, option.config);
      });
    if (list.fitting.size() > 1) list.trials.resize(list.fitting.size());
    return list;
  }

  size_t candidate_limit() const {
    return options_.max_candidates >= 0
               ? static_cast<size_t>(std::max(options_.max_candidates, 1))
               : static_cast<size_t>(kCandidates[std::clamp(options_.level, 0, 5)]);
  }

  /// A GPU's libraries are asked once. A device that is not there cannot ask them.
  bool keeps_lists() const { return !described_ && !backend_.device->unified(); }

  /// Under it the cache has how many candidates there were, once all of them are known.
  std::string list_key(const Problem& problem) const {
    return fmt::format("{}|listed {}{}", problem_key(problem), candidate_limit(),
                       options_.level <= kStagedLevel ? " in stages" : "");
  }

  /// The timing cache's entries of the tactic.
  std::vector<std::string> known_configs(const Problem& problem, const Tactic& tactic) const {
    std::vector<std::string> configs =
        cache_.find_prefix(timing_prefix(problem_key(problem), tactic));
    for (std::string& config : configs) config.pop_back();  // The closing brace.
    return configs;
  }

  void remember_list(const Problem& problem, const Shortlist& list) {
    const auto known = [&](const auto& candidate) {
      return is_measured(problem, *candidate.tactic, candidate.config);
    };
    if (keeps_lists() && options_.offered.empty() && list.fitting.size() > 1 &&
        std::ranges::all_of(list.fitting, known))
      cache_.insert_note(list_key(problem), static_cast<double>(list.fitting.size()));
  }

  /// For a device that is not there only tactics measured on an equal one, or, where there are
  /// none, tactics that can be made without it.
  std::vector<std::string> configs_of(const Tactic& tactic, const Problem& problem) const {
    if (!described_) return tactic.configs(problem);
    std::vector<std::string> configs = known_configs(problem, tactic);
    const std::string all = problem_key(problem) + "|";
    if (!configs.empty() || !cache_.find_prefix(all).empty()) return configs;
    std::string first = tactic.configs(problem).front();
    if (options_.level == 0 || create_kernel(tactic, problem, first).ok())
      configs.push_back(std::move(first));
    return configs;
  }

  /// When the time is up, candidates without a time are left out, but for the first where there is
  /// nothing else.
  static void leave_out_late(Shortlist& shortlist, size_t first, bool keep_first) {
    for (size_t i = first; i < shortlist.trials.size(); ++i) {
      Trial& trial = shortlist.trials[i];
      if (trial.time.has_value()) continue;
      trial.left_out = trial.late = i > first || !keep_first;
    }
  }

  std::vector<Candidate> measure(const Problem& problem, Shortlist& shortlist) {
    std::vector<Candidate> measured;
    std::vector<Sample> samples;
    std::vector<Option> tried;
    for (size_t i = 0; i < shortlist.fitting.size(); ++i) {
      if (!shortlist.trials.empty() && is_out_of_time())
        leave_out_late(shortlist, i, measured.empty());
      const Option& option = shortlist.fitting[i];
      const bool is_left_out = !shortlist.trials.empty() && shortlist.trials[i].left_out;
      Candidate candidate{join_tactic(option.tactic->name, option.config), -1, {}};
      if (is_left_out)
        candidate.reason = shortlist.trials[i].late
                               ? "not tried: the build's time was up"
                               : "not tried: others of its tactic were not fast enough";
      else if (const Status status = measure(problem, shortlist, i, candidate); !status.ok())
        candidate.reason = status.error().message;
      if (stopped_) return {};
      if (!is_left_out) tried.push_back(option);
      if (candidate.reason.empty()) {
        measured.push_back(candidate);
        samples.push_back(shortlist.trials.empty() ? Sample()
                                                   : std::move(shortlist.trials[i].sample));
      } else {
        shortlist.unfit.push_back(candidate);
      }
    }
    shortlist.fitting = std::move(tried);
    leave_out_wrong(problem, measured, samples, shortlist);
    remember_list(problem, shortlist);
    return measured;
  }

  /// Gives the candidate its time, where it has to win against others.
  Status measure(const Problem& problem, Shortlist& shortlist, size_t index, Candidate& candidate) {
    const auto& [tactic, config, place] = shortlist.fitting[index];
    const bool known = !described_ || is_measured(problem, *tactic, config);
    if (shortlist.fitting.size() < 2 || !known) return check_alone(problem, *tactic, config);
    const std::optional<Result<double>>& time = shortlist.trials[index].time;
    if (!time && is_out_of_time()) return check_alone(problem, *tactic, config);
    if (!time) try_option(problem, shortlist, index);
    TENON_ASSIGN(candidate.milliseconds, *time);
    if (options_.logger != nullptr)
      options_.logger->verbose("{}: {}: {:.5f} ms, proposal {}", problem.node->name,
                               candidate.tactic, candidate.milliseconds, place);
    return {};
  }

  static std::string name_of(const Option& option) {
    return join_tactic(option.tactic->name, option.config);
  }

  /// All that fitted failed: the first of the others that can be made. The last one runs anything.
  void take_spare(const Problem& problem, Shortlist& shortlist, std::vector<Candidate>& measured) {
    for (const Option& spare : shortlist.spare) {
      if (&spare != &shortlist.spare.back() && !can_be_made(problem, spare)) continue;
      std::erase_if(shortlist.unfit,
                    [&](const Candidate& c) { return c.tactic == name_of(spare); });
      measured.push_back({name_of(spare), -1, {}});
      return;
    }
  }

  bool can_be_made(const Problem& problem, const Option& option) const {
    const auto kernel = create_kernel(*option.tactic, problem, option.config);
    return kernel.ok() && check_workspace(static_cast<double>((*kernel)->workspace_bytes())).ok();
  }

  /// A kernel that reads outside its operands may take the device along: nothing after it runs.
  void report_failure(const Problem& problem, const std::string& tactic,
                      const std::string& reason) {
    if (options_.logger != nullptr)
      options_.logger->verbose("{}: {}: {}", problem.node->name, tactic, reason);
    if (described_) return;
    const Status well = measurer_.check_device();
    if (!well.ok())
      stopped_ = Error{ErrorKind::kInternal,
                       fmt::format("the device no longer answers since {} ran for '{}': {}", tactic,
                                   problem.node->name, well.error().message)};
  }

  /// Candidates compute the same from the same contents. Where some do not, the reference decides
  /// which are wrong; where it decides against all of them, the contents had no right result (they
  /// are no valid indices, for instance), and nothing is said against anybody. Those whose times
  /// were known have no sample.
  void leave_out_wrong(const Problem& problem, std::vector<Candidate>& measured,
                       const std::vector<Sample>& samples, Shortlist& shortlist) {
    const Tolerance limit = agreement_tolerance(problem);
    const auto first = std::find_if(samples.begin(), samples.end(),
                                    [](const Sample& sample) { return !sample.empty(); });
    const auto differs = [&](const Sample& sample, const Sample& expected) {
      return !sample.empty() && !sample_deviation(sample, expected, limit).agrees();
    };
    if (std::none_of(first, samples.end(), [&](const Sample& s) { return differs(s, *first); }))
      return;
    const Result<Sample> expected = reference_sample(problem);
    if (!expected.ok() || std::all_of(samples.begin(), samples.end(), [&](const Sample& sample) {
          return sample.empty() || differs(sample, *expected);
        }))
      return;
    for (size_t i = measured.size(); i-- > 0;) {
      if (!differs(samples[i], *expected)) continue;
      Candidate& wrong = measured[i];
      wrong.reason = fmt::format("it computes something else: {}",
                                 sample_deviation(samples[i], *expected, limit).describe());
      if (options_.logger != nullptr)
        options_.logger->warning("{}: {} is left out: {}", problem.node->name, wrong.tactic,
                                 wrong.reason);
      const TacticText text = split_tactic(wrong.tactic);
      cache_.insert(
          timing_key(problem_key(problem), *backend_.find(text.name), std::string(text.config)),
          kWrong);
      shortlist.unfit.push_back(std::move(wrong));
      measured.erase(measured.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  Result<Sample> reference_sample(const Problem& problem) {
    const Tactic& reference = backend_.tactics.back();
    if (!reference.supports(problem)) return unsupported("no reference");
    TENON_ASSIGN(const auto kernel,
                 create_kernel(reference, problem, reference.configs(problem).front()));
    return measurer_.sample(problem, *kernel);
  }

  /// Plugins say whether times of theirs may be kept.
  static bool keeps_times(const Problem& problem) {
    const auto* plugin = problem.node->as<Plugin>();
    return plugin == nullptr || !plugin->timing_id.empty();
  }

  bool is_measured(const Problem& problem, const Tactic& tactic, const std::string& config) const {
    return options_.use_cache && keeps_times(problem) &&
           cache_.find(timing_key(problem_key(problem), tactic, config)).has_value();
  }

  Result<double> time_of(const Problem& problem, const Option& option, Trial& trial, double best) {
    const std::string entry = timing_key(problem_key(problem), *option.tactic, option.config);
    if (options_.use_cache && keeps_times(problem))
      if (const auto known = cache_.find(entry)) {
        if (*known == kWrong) return unsupported("it computed something else when it was measured");
        if (*known == kFailed) return unsupported("it failed when it was to be timed");
        TENON_TRY(check_workspace(cache_.find_note(workspace_key(entry)).value_or(0)));
        return *known;
      }
    if (options_.fail_on_cache_miss) {
      stopped_ = missing_time(problem.node->name, join_tactic(option.tactic->name, option.config));
      return *stopped_;
    }
    Prepared& prepared = trial.kernel;
    if (!prepared) prepared = make(problem, option);
    if (!prepared) return resource_error("the device is not there for this thread");
    if (!prepared->ok()) return failed(problem, entry, prepared->error());
    const Kernel& kernel = **prepared.value();
    const auto workspace = static_cast<double>(kernel.workspace_bytes());
    TENON_TRY(check_workspace(workspace));
    const auto time = measured_time(problem, kernel, trial.sample, best);
    if (!time.ok()) return failed(problem, entry, time.error());
    if (!keeps_times(problem)) return time;
    cache_.insert(entry, *time);
    if (workspace > 0) cache_.insert_note(workspace_key(entry), workspace);
    return time;
  }

  /// Under it the cache has how much workspace a candidate takes, if any.
  static std::string workspace_key(const std::string& entry) { return "workspace " + entry; }

  Status check_workspace(double bytes) const {
    if (bytes <= static_cast<double>(options_.workspace_limit)) return {};
    return unsupported("its workspace of {:.0f} bytes is over the limit of {}", bytes,
                       options_.workspace_limit);
  }

  /// Options that are not timed are made where a limit is set.
  Status check_alone(const Problem& problem, const Tactic& tactic, const std::string& config) {
    const bool limited = options_.workspace_limit != SIZE_MAX || limits_shared_memory(problem);
    if (!limited || described_) return {};
    TENON_ASSIGN(const auto kernel, create_kernel(tactic, problem, config));
    return check_workspace(static_cast<double>(kernel->workspace_bytes()));
  }

  /// Remembered, unless it may be otherwise next time: failures take long too.
  Error failed(const Problem& problem, const std::string& entry, const Error& error) {
    if (error.kind != ErrorKind::kResource && keeps_times(problem)) cache_.insert(entry, kFailed);
    return error;
  }

  Result<double> measured_time(const Problem& problem, const Kernel& kernel, Sample& sample,
                               double best) {
    // A device with streams sees for itself how long a launch is.
    if (backend_.device->streams() != nullptr)
      return measurer_.time(problem, kernel, options_.average_runs, &sample);
    TENON_ASSIGN(const double once, measurer_.time(problem, kernel, 1, &sample));
    if (once > kShortMilliseconds && once > best * kHopeless) return once;
    return measurer_.time(problem, kernel, runs_for(once), nullptr);
  }

  /// Short kernels need many runs to be told apart, where the machine is not quiet.
  int runs_for(double milliseconds) const {
    constexpr int kShortRuns = 24, kRuns = 4, kLongRuns = 2;
    constexpr double kLong = 20;
    const int runs = milliseconds < kShortMilliseconds ? kShortRuns
                     : milliseconds > kLong            ? kLongRuns
                                                       : kRuns;
    return std::max(options_.average_runs, runs);
  }

  /// Seconds of a GPU's selection by activity.
  struct Times {
    double list = 0, make = 0, time = 0, tune = 0;
  };

  const Backend& backend_;
  const SelectOptions& options_;
  TimingCache& cache_;
  Steps* steps_;
  bool described_;  ///< The device is not there.
  Measurer measurer_;
  std::optional<Error> stopped_;  ///< The device was lost, or a time is not in the cache.
  std::map<std::string, Shortlist> shortlists_;  ///< By problem key.
  std::map<std::string, Rivals> rivals_;         ///< Likewise.
  std::set<std::string> announced_;              ///< Keys of problems that the watch expects.
  size_t candidates_ = 0;                        ///< Of the announced ones.
  Times times_;
  WorkLog work_;
};

Status select_in(Graph& graph, const ConcreteGraph& concrete, const Backend& backend,
                 const SelectOptions& options, TimingCache& cache, bool is_body);

/// Bodies under the symbols of the graph around them; other symbols of their extents are not known
/// before a run.
Status select_in_bodies(Node& node, const ConcreteGraph& concrete, const Backend& backend,
                        const SelectOptions& options, TimingCache& cache) {
  node.tactic = kBodiesTactic;
  const SymbolValues& symbols = concrete.symbols();
  for (size_t i = 0; i < node.bodies.size(); ++i) {
    if (!may_run(node, static_cast<int>(i))) continue;
    Graph& body = *node.bodies[i];
    TENON_TRY(fit_regions(body, backend, symbols, options.threads, options.logger, options.notes));
    TENON_TRY(choose_views(body, backend, symbols, options.threads));
    TENON_ASSIGN(const ConcreteGraph inside, concrete_body(concrete, node, static_cast<int>(i)));
    TENON_TRY(select_in(body, inside, backend, options, cache, true));
  }
  return {};
}

Status select_in(Graph& graph, const ConcreteGraph& concrete, const Backend& backend,
                 const SelectOptions& options, TimingCache& cache, bool is_body) {
  Layers layers{concrete, {}, {}};
  // Layers are tried in sequence where nothing else stands between them.
  bool is_sequence = !is_body;
  for (const auto& node : graph.nodes()) {
    if (node->is<Constant>() || node->is<Dims>() || node->tactic == kViewTactic) continue;
    if (is_control_flow(*node)) {
      TENON_TRY(select_in_bodies(*node, concrete, backend, options, cache));
      is_sequence = false;
      continue;
    }
    if (!concrete.resolved(*node)) continue;
    if (const auto known = options.chosen.find(node->name); known != options.chosen.end()) {
      node->tactic = known->second;
      continue;
    }
    layers.nodes.push_back(node.get());
    layers.problems.push_back(concrete.problem(*node, backend, options.threads));
  }
  const bool in_sequence = is_sequence && options.level >= kSequenceLevel &&
                           !backend.device->unified() && options.chosen.empty() &&
                           layers.nodes.size() > 1;
  Steps steps(options, layers.problems, in_sequence);
  if (options.watch != nullptr && in_sequence)
    options.watch->expect(BuildWatch::Step::kSequence,
                          kSequenceSeconds * static_cast<double>(layers.nodes.size()));
  Selector selector(backend, options, cache, &steps);
  TENON_ASSIGN(std::vector<std::string> tactics, selector.choose(layers, in_sequence));
  for (size_t i = 0; i < layers.nodes.size(); ++i) {
    Node& node = *layers.nodes[i];
    node.tactic = std::move(tactics[i]);
    if (options.editable_cache) {
      TENON_ASSIGN(const std::vector<Candidate> candidates, selector.list(layers.problems[i]));
      // Where transforms are forbidden the layer's candidates are others, and so is its entry.
      const std::string key =
          problem_key(layers.problems[i]) + (has_plain_tactics(backend) ? "" : "|transforms");
      node.tactic =
          remember_operation(cache, node.name, key, candidates, node.tactic, options.logger);
    }
    if (options.logger != nullptr) options.logger->verbose("{}: {}", node.name, node.tactic);
    if (!options.record && options.notes == nullptr) continue;
    TENON_ASSIGN(const std::vector<Candidate> candidates, selector.list(layers.problems[i]));
    record_choice(options, node, layers.problems[i], candidates);
  }
  return {};
}

}  // namespace

Status select_tactics(Graph& graph, const Backend& backend, const SymbolValues& symbols,
                      const SelectOptions& options, TimingCache& cache) {
  TENON_TRY(fit_regions(graph, backend, symbols, options.threads, options.logger, options.notes));
  TENON_TRY(choose_views(graph, backend, symbols, options.threads));
  TENON_ASSIGN(const ConcreteGraph concrete, ConcreteGraph::create(graph, symbols));
  return select_in(graph, concrete, backend, options, cache, false);
}

Result<Tactics> choose_tactics(const Layers& layers, const Backend& backend,
                               const SelectOptions& options, TimingCache& cache, bool in_sequence) {
  in_sequence &= options.level >= kSequenceLevel && !backend.device->unified();
  Selector selector(backend, options, cache, nullptr);
  Tactics tactics;
  TENON_ASSIGN(tactics.best, selector.choose(layers, in_sequence && layers.nodes.size() > 1));
  for (const Problem& p : layers.problems) tactics.near.push_back(selector.rivals(p).tactics);
  return tactics;
}

Result<std::vector<Candidate>> list_candidates(const Backend& backend, const Problem& problem,
                                               const SelectOptions& options, TimingCache& cache) {
  return Selector(backend, options, cache, nullptr).list(problem);
}

}  // namespace tenon
