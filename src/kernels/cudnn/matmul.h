#pragma once

#include <vector>

#include "kernels/cudnn/convolution.h"

namespace tenon::cudnn {

/// A product of matrices with pointwise steps behind it, in cuDNN's terms: [batch..., rows,
/// columns], at least one batch axis.
struct MatrixProduct {
  DataType type = DataType::kFloat16;
  Shape a, b, d;
  int a_input = 0, b_input = 1;
  std::vector<Step> steps;
  bool allow_tf32 = false;
};

/// Fails with the reason why cuDNN does not take the problem.
Result<MatrixProduct> describe_matrix_product(const Problem& problem);

struct MatrixProductGraph {
  Graph graph;
  TensorId a = 0, b = 0, d = 0;
  std::vector<StepOperand> operands;
};
Result<MatrixProductGraph> build_graph(const Api& api, cudnnHandle_t handle,
                                       const MatrixProduct& product);

}  // namespace tenon::cudnn
