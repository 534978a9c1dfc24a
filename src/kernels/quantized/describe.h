#pragma once

#include "kernels/quantized/byte_problem.h"
#include "kernels/quantized_region.h"

namespace tenon::cpu {

/// A quantized region in the kernels' terms.
struct ByteDescription {
  /// Where a step's operand comes from.
  struct Operand {
    int input = -1;  ///< problem input, or -1
    int64_t row_stride = 0;
    std::vector<float> columns;  ///< constants of one number a column
  };
  ByteProblem problem;
  std::vector<Operand> operands;  ///< parallel to the steps
  int input = 0, weights = 1;     ///< problem inputs
  int weight_zero = -1;
  int computed_scale = -1, computed_zero = -1;  ///< Of the input, where they are no constants.
  bool weights_across = false;                  ///< a matmul's, depth first
};

/// Fails, with the reason, where the region is another one. Convolutions of one channel a group
/// are `depthwise`, but where scale or zero point of the image are computed.
Result<ByteDescription> describe_byte_convolution(const Problem& problem, bool depthwise);
Result<ByteDescription> describe_byte_matmul(const Problem& problem);

}  // namespace tenon::cpu
