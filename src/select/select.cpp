#include "select/select.h"

#include <algorithm>
#include <map>

#include "device/described_device.h"
#include "ops/control_flow.h"
#include "ops/dims.h"
#include "ops/structure.h"
#include "plan/bodies.h"
#include "select/effort.h"
#include "select/expected_time.h"
#include "select/fit_regions.h"
#include "select/kernel_chooser.h"
#include "select/operation_cache.h"
#include "select/problem_key.h"
#include "select/record.h"
#include "select/selector.h"
#include "select/steps.h"
#include "select/trials_ahead.h"
#include "select/views.h"

namespace tenon {
namespace {

bool is_tuned_in_sequence(const Layers& layers, const Backend& backend,
                          const SelectOptions& options) {
  return options.level >= effort::kSequenceLevel &&
         backend.device->capabilities().replays_launches && layers.nodes.size() > 1;
}

/// Bytes that a candidate which was not timed takes.
size_t workspace_of(const Backend& backend, const Problem& problem, std::string_view tactic) {
  if (is_described(*backend.device)) return 0;
  const auto [name, config] = split_tactic(tactic);
  const Tactic* row = backend.find(name);
  if (row == nullptr) return 0;
  const auto kernel = create_kernel(*row, problem, config);
  return kernel.ok() ? (*kernel)->workspace_bytes() : 0;
}

/// What fits of the candidates, with `first` ahead.
std::vector<Candidate> fitting_of(std::vector<Candidate> candidates, const std::string& first) {
  std::erase_if(candidates, [](const Candidate& candidate) { return !candidate.reason.empty(); });
  const auto is_first = [&](const Candidate& candidate) { return candidate.tactic == first; };
  std::ranges::stable_partition(candidates, is_first);
  return candidates;
}

/// Asks SelectOptions::chooser for a layer's kernel, which has ours so far.
Status let_choose(Node& node, const Layers& layers, const Problem& problem, const Backend& backend,
                  const SelectOptions& options, Selector& selector) {
  TENON_ASSIGN(std::vector<Candidate> all, selector.list(problem));
  std::vector<Candidate> candidates = fitting_of(std::move(all), node.tactic);
  for (Candidate& candidate : candidates)
    if (candidate.milliseconds < 0)
      candidate.workspace = workspace_of(backend, problem, candidate.tactic);
  TENON_ASSIGN(const size_t place, options.chooser->choose({node, layers.graph, candidates}));
  node.tactic = candidates[place].tactic;
  return {};
}

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
    // A branch that does not fit the usual shapes runs untuned where it does.
    if (const auto usual = concrete_body(concrete, node, static_cast<int>(i));
        node.is<If>() && !usual.ok() && usual.error().kind == ErrorKind::kUser)
      continue;
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
  const bool in_sequence =
      is_sequence && options.chosen.empty() && is_tuned_in_sequence(layers, backend, options);
  Steps steps(options, layers.problems, in_sequence);
  if (options.watch != nullptr && in_sequence)
    options.watch->sequence([&](SequenceForecast& forecast) {
      std::map<std::string, SequenceForecast::Layers> counts;
      double weights = 0;
      for (const Problem& problem : layers.problems) {
        SequenceForecast::Layers& own = counts[problem_key(problem)];
        ++own.count;
        own.expected = expected_launch(problem);
        weights += work_of(problem).weights;
      }
      forecast.begin(counts, weights);
    });
  if (options.watch != nullptr)
    options.watch->kernels([&](BuildForecast& kernels) {
      for (const Problem& problem : layers.problems) kernels.will_make(work_of(problem));
    });
  std::optional<TrialsAhead> beside;
  if (!is_body && !options.beside.ends.empty())
    beside.emplace(layers, options.beside, backend, options.threads);
  Selector selector(backend, options, cache, &steps);
  TENON_ASSIGN(std::vector<std::string> tactics,
               selector.choose(layers, in_sequence, beside ? &*beside : nullptr));
  for (size_t i = 0; i < layers.nodes.size(); ++i) {
    Node& node = *layers.nodes[i];
    node.tactic = std::move(tactics[i]);
    if (options.editable_cache) {
      TENON_ASSIGN(const std::vector<Candidate> candidates, selector.list(layers.problems[i]));
      node.tactic = remember_operation(cache, node.name, problem_key(layers.problems[i]),
                                       candidates, node.tactic, options.logger);
    }
    if (options.chooser != nullptr)
      TENON_TRY(let_choose(node, layers, layers.problems[i], backend, options, selector));
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
                               const SelectOptions& options, TimingCache& cache, bool in_sequence,
                               Measurer* measurer) {
  in_sequence = in_sequence && is_tuned_in_sequence(layers, backend, options);
  Selector selector(backend, options, cache, nullptr, measurer);
  Tactics tactics;
  TENON_ASSIGN(tactics.best, selector.choose(layers, in_sequence));
  for (const Problem& p : layers.problems) {
    tactics.near.push_back(selector.rivals(p).tactics);
    TENON_ASSIGN(const std::vector<Candidate> candidates, selector.list(p));
    std::map<std::string, double>& times = tactics.milliseconds.emplace_back();
    for (const Candidate& candidate : candidates)
      if (candidate.reason.empty() && candidate.milliseconds >= 0)
        times[candidate.tactic] = candidate.milliseconds;
  }
  tactics.sequence = selector.sequence_milliseconds();
  return tactics;
}

Status try_candidates(std::span<const Problem> problems, const Backend& backend,
                      const SelectOptions& options, TimingCache& cache, Measurer* measurer) {
  return Selector(backend, options, cache, nullptr, measurer).try_candidates(problems);
}

Result<std::vector<Candidate>> list_candidates(const Backend& backend, const Problem& problem,
                                               const SelectOptions& options, TimingCache& cache) {
  return Selector(backend, options, cache, nullptr).list(problem);
}

}  // namespace tenon
