#pragma once

#include <vector>

#include "kernels/tactic.h"

namespace tenon {

/// One copy from an input to an output: elements of `extents` with strides on both sides, from some
/// element on.
struct CopyPart {
  int input = 0, output = 0;
  int64_t from_offset = 0, to_offset = 0;  ///< In elements.
  Extents extents;
  std::vector<int64_t> from_strides, to_strides;
};

/// The copies of a node that only moves data (views made real, concat); fails, with the reason, for
/// other nodes. Empty inputs give no part.
Result<std::vector<CopyPart>> copy_parts(const Problem& problem);

}  // namespace tenon
