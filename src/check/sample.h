#pragma once

#include <vector>

#include "plan/plan.h"

namespace tenon {

/// Random contents for a graph's inputs with the profile's usual extents, the same each time:
/// numbers in [-1, 1], integers 0 and 1 (valid as indices, lengths and masks).
Result<std::vector<Tensor>> sample_inputs(const Graph& graph, const Profile& profile,
                                          uint64_t seed = 1);

/// Multiplications of one run with these extents, roughly: the cost of evaluating it with the
/// reference. INT64_MAX where it is not known before a run: plugins, shapes that depend on data,
/// loops without a constant number of trips.
int64_t reference_cost(const Graph& graph, const Profile& profile);
/// The same with these values of the symbols in shapes.
int64_t reference_cost(const Graph& graph, const SymbolValues& symbols);

/// The same of each node, and the elements of the results that it computes, for estimates.
struct NodeCost {
  double multiplications = 0, elements = 0;
};
std::vector<NodeCost> reference_costs(const Graph& graph, const Profile& profile);

/// The work of an evaluation beside its multiplications, with the profile's usual extents: nodes
/// that move or compute data, of more than constants, the elements of their results, and the bytes
/// of constants.
struct ReferenceWork {
  double kernels = 0, elements = 0, weights = 0;
  double bytes() const { return sizeof(float) * elements + weights; }
};
ReferenceWork reference_work(const Graph& graph, const Profile& profile);

}  // namespace tenon
