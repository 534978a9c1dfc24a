#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "plan/plan.h"

namespace tenon {

/// A copy of a network with the usual extents of its first profile alone, and random inputs of
/// these. Values have names.
struct SampledNetwork {
  std::unique_ptr<Graph> graph;
  std::vector<Profile> profiles;
  std::vector<Tensor> inputs;
};
Result<SampledNetwork> sampled_network(const Graph& network, const std::vector<Profile>& profiles);

/// Relative L2 distance of the elements of all real tensors; infinite where it is no number.
double relative_error(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected);

/// A node, and the error of the outputs where it alone is rounded.
struct SensitiveNode {
  double error = 0;
  const Node* node = nullptr;
};
/// The most sensitive first; equal ones in the graph's order.
void sort_by_error(std::vector<SensitiveNode>& nodes);

/// Of `count` nodes, how many of the first must be exact so that the outputs' error is within the
/// budget, by bisection: `error_with` tells it for a number of them. All are taken to be enough.
struct Fewest {
  size_t count = 0;
  double error = 0;
};
Result<Fewest> fewest_within(size_t count, double budget,
                             const std::function<Result<double>(size_t)>& error_with);

}  // namespace tenon
