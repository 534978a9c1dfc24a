#include "kernels/movement/copy_parts.h"

#include "kernels/strides.h"
#include "kernels/view.h"
#include "ops/movement.h"
#include "ops/structure.h"

namespace tenon {
namespace {

/// Each output is a view of the input that is made real.
Result<std::vector<CopyPart>> view_parts(const Problem& problem) {
  std::vector<CopyPart> parts;
  std::vector<const Tensor*> contents;
  for (const Operand& input : problem.inputs) contents.push_back(input.constant);
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    const Operand& output = problem.outputs[i];
    if (output.count() == 0) continue;
    TENON_ASSIGN(const View view, input_view(problem.operation, static_cast<int>(i),
                                             problem.input(0), output.extents, contents));
    parts.push_back(
        {0, static_cast<int>(i), view.offset, 0, output.extents, view.strides, strides_of(output)});
  }
  return parts;
}

std::vector<CopyPart> concat_parts(const Problem& problem, const Concat& op) {
  std::vector<CopyPart> parts;
  const Operand& output = problem.output();
  const std::vector<int64_t> strides = strides_of(output);
  const int64_t axis = op.axis < 0 ? op.axis + output.rank() : op.axis;
  int64_t at = 0;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Operand& input = problem.inputs[i];
    if (input.count() > 0)
      parts.push_back({static_cast<int>(i), 0, 0, at * strides[axis], input.extents,
                       strides_of(input), strides});
    at += input.extents[axis];
  }
  return parts;
}

bool is_reshape(const Operation& node) {
  return node.is<Reshape>() || node.is<Flatten>() || node.is<Squeeze>() || node.is<Unsqueeze>();
}

/// A reshape keeps the order of elements: into a dense result any input is copied in its own
/// extents, also where it joins axes that lie apart.
bool copies_in_order(const Problem& problem) {
  const Operand& output = problem.output();
  return is_reshape(problem.operation) && output.dense() &&
         (output.rank() < 3 || output.layout == Layout::kRowMajor);
}

}  // namespace

Result<std::vector<CopyPart>> copy_parts(const Problem& problem) {
  if (problem.outputs.empty() || problem.inputs.empty() || !problem.input(0).present)
    return unsupported("not a movement of data");
  if (const auto* concat = problem.operation.as<Concat>()) return concat_parts(problem, *concat);
  auto views = view_parts(problem);
  if (views.ok() || !copies_in_order(problem)) return views;
  const Operand& input = problem.input(0);
  return std::vector<CopyPart>{{0, 0, 0, 0, input.extents, strides_of(input),
                                dense_strides(input.extents, Layout::kRowMajor)}};
}

}  // namespace tenon
