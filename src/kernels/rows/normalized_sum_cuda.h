#pragma once

#include <vector>

#include "kernels/rows/group_cuda.h"
#include "ops/ops.h"

namespace tenon {

/// A region { add...; normalization; quantize }; numbers are those of the problem's operands, -1:
/// absent.
struct NormalizedSum {
  const Node* anchor = nullptr;
  const Normalization* op = nullptr;
  const Node* quantize = nullptr;  ///< Null: there is none.
  std::vector<int> terms;
  int scale = -1, bias = -1, sum_output = -1, output = -1, bytes_output = -1;
};

Result<NormalizedSum> describe_normalized_sum(const Operation& node);

/// Whether terms, factors and real results have types that kernels compute with.
Status check_normalized_sum(const Problem& problem, const NormalizedSum& d);

/// The one number of a constant that the region's Quantize reads.
Result<double> quantization_number(const Problem& problem, const Node& quantize, int index);

/// The vector for loads and stores of rows: the longest one that terms and results lie for.
Result<int> normalized_vector(const Problem& problem, const NormalizedSum& d,
                              const SplitLoop& split);

}  // namespace tenon
