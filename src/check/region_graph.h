#pragma once

#include <memory>
#include <vector>

#include "check/observed_run.h"

namespace tenon {

/// A region by itself: a graph that computes the same as its node, with the extents of one run.
struct RegionGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Tensor> inputs;  ///< Its operands but for constants.
  std::vector<Tensor> actual;  ///< The plan's results for them.

  static Result<RegionGraph> create(ObservedRun& observed, const Node& node);
};

}  // namespace tenon
