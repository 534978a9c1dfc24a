#pragma once

#include <optional>
#include <vector>

#include "kernels/epilogue/epilogue.h"
#include "kernels/region.h"

namespace tenon::cpu {

/// An epilogue step of a region over an output seen as matrices, with where its operand comes from.
struct BoundStep {
  EpilogueStep step;
  int input = -1;                      ///< problem input, or -1
  int64_t row_stride = 0;              ///< of a `full` operand
  int64_t image_stride = 0;            ///< from one image to the next, where images run one by one
  std::vector<int64_t> outer_strides;  ///< matmul: over the output's axes before the last two
  std::vector<float> copy;             ///< contents when they are constant and one number a column
};

/// Steps behind a matmul, the region's gate among them: the last two axes of the output are rows
/// and columns.
Result<std::vector<BoundStep>> matrix_steps(const Problem& problem, const AnchoredRegion& region);

/// Steps behind a convolution with a channels-last output: rows are pixels, columns are channels.
/// The convolution's own bias (problem input `bias`, or -1) comes first. `one_by_one` is set where
/// an operand is another for each image, or the same image for all: then the steps are those of one
/// image.
Result<std::vector<BoundStep>> image_steps(const Problem& problem, const AnchoredRegion& region,
                                           int bias, bool& one_by_one);

/// The unary functions at the end of the way to `value` inside a region, in order; `value` becomes
/// their input. Nothing where one has an operand.
std::optional<std::vector<EpilogueStep>> take_functions(const Value*& value);

/// f32 or bf16.
std::optional<ElementType> element_type(DataType type);

std::vector<EpilogueStep> plain_steps(const std::vector<BoundStep>& steps);
/// Addresses of all operands for one launch.
void bind_operands(const std::vector<BoundStep>& steps, const LaunchArguments& arguments,
                   EpilogueOperand* operands);
/// False for inputs that live on as copies in `steps`.
bool reads_input(const std::vector<BoundStep>& steps, int input);

}  // namespace tenon::cpu
