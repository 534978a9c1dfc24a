#include "select/select.h"

#include <algorithm>

#include "ops/dims.h"
#include "ops/structure.h"
#include "select/fit_regions.h"
#include "select/measure.h"
#include "select/problem_key.h"
#include "select/views.h"

namespace tenon {
namespace {

/// What a later candidate must better the best so far by.
constexpr double kMargin = 0.97;
/// Candidates a level times at most.
constexpr int kCandidates[] = {1, 2, 4, 64, 256, 256};

class Selector {
 public:
  Selector(const Backend& backend, const SelectOptions& options, TimingCache& cache)
      : backend_(backend),
        options_(options),
        cache_(cache),
        measurer_(*backend.device, options.threads) {}

  Result<std::string> best(const Problem& problem) {
    TENON_ASSIGN(const std::vector<Candidate> candidates, list(problem));
    for (const Candidate& candidate : candidates)
      if (candidate.reason.empty()) return candidate.tactic;
    return unsupported("no kernel for '{}' ({})", problem.node->name, problem.node->op->name());
  }

  /// All tactics; those that fit come first, the best of them at the front.
  Result<std::vector<Candidate>> list(const Problem& problem) {
    std::vector<std::pair<const Tactic*, std::string>> fitting;
    std::vector<Candidate> unfit;
    for (const Tactic& tactic : backend_.tactics) {
      if (options_.allowed && !options_.allowed(tactic)) continue;
      const Support support = tactic.supports(problem);
      if (!support) {
        unfit.push_back({std::string(tactic.name), -1, support.reason});
      } else if (&tactic == &backend_.tactics.back() && !fitting.empty()) {
        unfit.push_back({std::string(tactic.name), -1, "only where nothing else fits"});
      } else {
        for (const std::string& config : tactic.configs(problem))
          fitting.emplace_back(&tactic, config);
      }
    }
    const size_t limit = options_.max_candidates >= 0
                             ? std::max(options_.max_candidates, 1)
                             : kCandidates[std::clamp(options_.level, 0, 5)];
    if (fitting.size() > limit) fitting.resize(limit);
    TENON_ASSIGN(std::vector<Candidate> measured, measure(problem, fitting, unfit));
    put_best_first(measured);
    measured.insert(measured.end(), unfit.begin(), unfit.end());
    return measured;
  }

 private:
  Result<std::vector<Candidate>> measure(
      const Problem& problem, const std::vector<std::pair<const Tactic*, std::string>>& fitting,
      std::vector<Candidate>& unfit) {
    std::vector<Candidate> measured;
    const std::string key = fitting.size() > 1 ? problem_key(problem) : std::string();
    for (const auto& [tactic, config] : fitting) {
      Candidate candidate{join_tactic(tactic->name, config), -1, {}};
      if (fitting.size() > 1) {
        auto time = time_of(problem, key, *tactic, config);
        if (!time.ok()) {
          candidate.reason = time.error().message;
          unfit.push_back(candidate);
          continue;
        }
        candidate.milliseconds = *time;
      }
      measured.push_back(candidate);
    }
    return measured;
  }

  Result<double> time_of(const Problem& problem, const std::string& key, const Tactic& tactic,
                         const std::string& config) {
    const std::string entry = timing_key(key, tactic, config);
    if (options_.use_cache)
      if (const auto known = cache_.find(entry)) return *known;
    if (options_.fail_on_cache_miss)
      return user_error("'{}' is not in the timing cache; build without --errorOnTimingCacheMiss",
                        problem.node->name);
    TENON_ASSIGN(const std::unique_ptr<Kernel> kernel, tactic.create(problem, config));
    if (kernel->workspace_bytes() > options_.workspace_limit)
      return unsupported("its workspace of {} bytes is over the limit", kernel->workspace_bytes());
    TENON_ASSIGN(const double once, measurer_.time(problem, *kernel, 1));
    // Long kernels need fewer runs to be told apart.
    const int runs = once > 20 ? 2 : std::max(options_.average_runs, once < 0.2 ? 24 : 4);
    TENON_ASSIGN(const double time, measurer_.time(problem, *kernel, runs));
    cache_.insert(entry, time);
    return time;
  }

  static void put_best_first(std::vector<Candidate>& candidates) {
    size_t best = 0;
    for (size_t i = 1; i < candidates.size(); ++i)
      if (candidates[i].milliseconds < candidates[best].milliseconds * kMargin) best = i;
    if (!candidates.empty())
      std::rotate(candidates.begin(), candidates.begin() + best, candidates.begin() + best + 1);
  }

  const Backend& backend_;
  const SelectOptions& options_;
  TimingCache& cache_;
  Measurer measurer_;
};

}  // namespace

Status select_tactics(Graph& graph, const Backend& backend, const SymbolValues& symbols,
                      const SelectOptions& options, TimingCache& cache) {
  TENON_TRY(fit_regions(graph, backend, symbols, options.threads, options.logger));
  TENON_TRY(choose_views(graph, backend, symbols, options.threads));
  TENON_ASSIGN(const ConcreteGraph concrete, ConcreteGraph::create(graph, symbols));
  Selector selector(backend, options, cache);
  for (const auto& node : graph.nodes()) {
    if (node->is<Constant>() || node->is<Dims>() || node->tactic == kViewTactic ||
        !concrete.resolved(*node))
      continue;
    Problem problem = concrete.problem(*node, *backend.device, options.threads);
    problem.allow_tf32 = options.allow_tf32;
    TENON_ASSIGN(node->tactic, selector.best(problem));
    if (options.logger != nullptr) options.logger->verbose("{}: {}", node->name, node->tactic);
  }
  return {};
}

Result<std::vector<Candidate>> list_candidates(const Backend& backend, const Problem& problem,
                                               const SelectOptions& options, TimingCache& cache) {
  return Selector(backend, options, cache).list(problem);
}

}  // namespace tenon
