#include "select/fit_regions.h"

#include <algorithm>

#include "ops/region.h"
#include "ops/structure.h"
#include "plan/bodies.h"
#include "select/record.h"

namespace tenon {
namespace {

class Fitter {
 public:
  Fitter(Graph& graph, const Backend& backend, const SymbolValues& symbols, int threads)
      : graph_(graph), backend_(backend), symbols_(symbols), threads_(threads) {}

  Result<bool> fits(const Node& region) const {
    TENON_ASSIGN(const ConcreteGraph concrete, ConcreteGraph::create(graph_, symbols_));
    return !concrete.resolved(region) ||
           has_kernel(backend_, concrete.problem(region, backend_, threads_));
  }

  /// Leaves a shorter region, or none, and groups the rest.
  Status shorten(Node* region) {
    std::vector<Node*> members = inline_region(graph_, region);
    std::vector<Node*> rest;
    while (members.size() > 1) {
      rest.insert(rest.begin(), members.back());
      members.pop_back();
      if (members.size() == 1) break;
      Node* shorter = make_region(graph_, members);
      TENON_ASSIGN(const bool enough, fits(*shorter));
      if (enough) break;
      members = inline_region(graph_, shorter);
    }
    if (rest.size() < 2) return {};
    Node* group = make_region(graph_, rest);
    TENON_ASSIGN(const bool grouped, fits(*group));
    if (!grouped) inline_region(graph_, group);
    return {};
  }

 private:
  Graph& graph_;
  const Backend& backend_;
  const SymbolValues& symbols_;
  int threads_;
};

}  // namespace

bool has_kernel(const Backend& backend, const Problem& problem) {
  if (is_control_flow(problem.operation))
    return std::ranges::all_of(problem.inputs, lies_plain) &&
           std::ranges::all_of(problem.outputs, lies_plain);
  if (is_empty(problem)) return true;
  return std::ranges::any_of(backend.tactics, [&](const Tactic& tactic) {
    return tactic.traits.fallback != Fallback::kAnything && tactic.supports(problem);
  });
}

bool is_fallback(const Tactic& tactic) {
  return tactic.traits.fallback != Fallback::kNo;
}

bool has_fast_kernel(const Backend& backend, const Problem& problem) {
  return std::ranges::any_of(backend.tactics, [&](const Tactic& tactic) {
    return !is_fallback(tactic) && tactic.supports(problem);
  });
}

Status fit_regions(Graph& graph, const Backend& backend, const SymbolValues& symbols, int threads,
                   Logger* logger, BuildRecord* record) {
  std::vector<Node*> misfits;
  {
    TENON_ASSIGN(const ConcreteGraph concrete, ConcreteGraph::create(graph, symbols));
    for (const auto& node : graph.nodes()) {
      if (!node->is<Fused>() || !concrete.resolved(*node)) continue;
      const Problem problem = concrete.problem(*node, backend, threads);
      if (has_kernel(backend, problem)) continue;
      misfits.push_back(node.get());
      if (record != nullptr) record_misfit(*record, *node, backend, problem);
    }
  }
  Fitter fitter(graph, backend, symbols, threads);
  for (Node* region : misfits) {
    if (logger != nullptr)
      logger->verbose("{}: taken apart, no kernel computes it as one", region->name);
    TENON_TRY(fitter.shorten(region));
  }
  return misfits.empty() ? Status() : graph.sort();
}

}  // namespace tenon
