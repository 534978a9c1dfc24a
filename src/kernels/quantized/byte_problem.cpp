#include "kernels/quantized/byte_problem.h"

namespace tenon::cpu {

PanelFinish::PanelFinish(const ByteProblem& problem, const ByteArguments& arguments,
                         const BytePanel& panel, const int32_t* sums)
    : problem_(problem),
      arguments_(arguments),
      column_(panel.first),
      sums_(sums),
      finish_{.sums = sums,
              .columns = panel.count,
              .scales = panel.scales,
              .biases = problem.biases.data() + panel.first,
              .steps = problem.steps,
              .operands = operands_,
              .output = nullptr,
              .output_stride = problem.output_pixel_stride,
              .type = problem.type,
              .inverse = problem.inverse,
              .low = problem.low,
              .high = problem.high,
              .zero = problem.output_zero} {}

void PanelFinish::run(ByteFinishFunction finish, int64_t first, int64_t count, int64_t row) {
  const ByteProblem& p = problem_;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const ByteStepOperand& o = arguments_.operands[i];
    const int64_t at =
        (p.steps[i].operand == ByteOperand::full ? first * o.row_stride : 0) + column_;
    operands_[i] = {static_cast<const char*>(o.data) + at * byte_type_size(p.steps[i].type),
                    o.row_stride};
  }
  finish_.sums = sums_ + row * kBytePanel;
  finish_.rows = count;
  finish_.output = static_cast<char*>(arguments_.output) +
                   (first * p.output_pixel_stride + column_) * byte_type_size(p.type);
  finish(finish_);
}

}  // namespace tenon::cpu
