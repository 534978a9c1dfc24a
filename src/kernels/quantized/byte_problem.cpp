#include "kernels/quantized/byte_problem.h"

#include <algorithm>
#include <cmath>

#include "device/cpu/prefetch.h"
#include "kernels/vector_math/byte_limits.h"

namespace tenon::cpu {
namespace {

/// The largest magnitude of any column behind the product.
float largest_start(const ByteProblem& problem) {
  float largest = 0.0f;
  for (size_t i = 0; i < problem.scales.size(); ++i) {
    const float x = 0x1p31f * std::abs(problem.scales[i]) + std::abs(problem.biases[i]);
    if (std::isnan(x)) return x;
    largest = std::max(largest, x);
  }
  return largest;
}

}  // namespace

bool ByteProblem::finds_bounds() const {
  if (computed_scaling) return false;
  float largest = largest_start(*this);
  for (const ByteStep& step : steps) {
    const auto [nearer, limit] = std::minmax({std::abs(step.low), std::abs(step.high)});
    if (step.kind == ByteStep::Kind::clamp)
      largest = std::isinf(limit) ? std::max(largest, nearer) : limit;
    else if (step.kind == ByteStep::Kind::round && step.operand == ByteOperand::none)
      largest = limit * std::abs(step.scale);
    else if (step.kind == ByteStep::Kind::add && step.type != ByteType::f32)
      largest += (255.0f + std::abs(step.operand_zero)) * std::abs(step.operand_scale);
    else
      return false;
  }
  return largest * std::abs(inverse) < vector_math::ByteLimits::kLarge;
}

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
              .zero = problem.output_zero,
              .is_bounded = problem.is_bounded} {}

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
  finish_.output = output_at(first);
  finish(finish_);
}

char* PanelFinish::output_at(int64_t pixel) const {
  return static_cast<char*>(arguments_.output) +
         (pixel * problem_.output_pixel_stride + column_) * byte_type_size(problem_.type);
}

void PanelFinish::fetch_output(int64_t first, int64_t count) const {
  const char* at = output_at(first);
  const int64_t step = problem_.output_pixel_stride * byte_type_size(problem_.type);
  for (int64_t r = 0; r < count; ++r, at += step) prefetch_for_writing(at);
}

}  // namespace tenon::cpu
