#include <algorithm>
#include <numeric>

#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/known_resize.h"
#include "kernels/resize/resize.h"
#include "kernels/strides.h"

namespace tenon::tactics::resize_taps {
namespace {

void add_taps(const ResizedAxis& taps, cpu::ResizeAxis& axis) {
  axis.resized = true;
  axis.first = {0};
  for (const auto& one : taps.taps) {
    for (const ResizeTap& tap : one)
      axis.weights.push_back({tap.index * axis.from, static_cast<float>(tap.weight)});
    axis.first.push_back(static_cast<int64_t>(axis.weights.size()));
  }
}

/// All axes, slowest first in the result.
Result<std::vector<cpu::ResizeAxis>> axes_of(const Problem& problem,
                                             const std::vector<ResizedAxis>& resized) {
  const Operand &x = problem.input(0), &y = problem.output();
  const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
  std::vector<size_t> order(to.size());
  std::iota(order.begin(), order.end(), 0);
  // Axes of extent 1 never step: they go first, so that the last one is contiguous.
  const auto place = [&](size_t axis) { return y.extents[axis] == 1 ? INT64_MAX : to[axis]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return place(a) > place(b); });
  std::vector<cpu::ResizeAxis> axes;
  for (const size_t i : order) {
    cpu::ResizeAxis axis{x.extents[i], y.extents[i], from[i], to[i]};
    for (const ResizedAxis& taps : resized)
      if (taps.axis == static_cast<int>(i)) add_taps(taps, axis);
    axes.push_back(std::move(axis));
  }
  if (axes.back().output != 1 && axes.back().to != 1)
    return unsupported("the result is not contiguous along any axis");
  if (axes.back().input != 1 && axes.back().from != 1)
    return unsupported("x and the result are contiguous along different axes");
  return axes;
}

int64_t most_taps(const cpu::ResizeAxis& axis) {
  int64_t most = 1;
  for (size_t i = 0; axis.resized && i + 1 < axis.first.size(); ++i)
    most = std::max(most, axis.first[i + 1] - axis.first[i]);
  return most;
}

bool only_copies(const std::vector<cpu::ResizeAxis>& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const cpu::ResizeAxis& axis) {
    return most_taps(axis) == 1 &&
           std::all_of(axis.weights.begin(), axis.weights.end(),
                       [](const cpu::ResizeWeight& w) { return w.weight == 1.0f; });
  });
}

Result<cpu::ResizeProblem> describe(const Problem& problem) {
  if (!problem.operation.is<Resize>()) return unsupported("not a resize");
  const Operand &x = problem.input(0), &y = problem.output();
  if (x.count() == 0 || y.count() == 0 || x.rank() == 0) return unsupported("an empty tensor");
  TENON_ASSIGN(const auto resized, known_axes(problem));
  cpu::ResizeProblem p;
  TENON_ASSIGN(p.axes, axes_of(problem, resized));
  p.copies = only_copies(p.axes);
  p.bytes = byte_size(x.type);
  const auto type = cpu::element_type(x.type);
  if (!p.copies && !type) return unsupported("a type that is neither f32 nor bf16");
  p.type = type.value_or(cpu::ElementType::f32);
  int64_t taps = 1;
  for (size_t a = 0; a + 1 < p.axes.size(); ++a) taps *= most_taps(p.axes[a]);
  if (taps > 256) return unsupported("{} elements of x in one of the result", taps);
  p.isa = cpu::isa_up_to(problem.isa_limit);
  p.threads = std::max(1, problem.threads);
  cpu::prepare_spread(p);
  return p;
}

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(const Problem&, cpu::ResizeProblem resize) : problem_(std::move(resize)) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), problem_.threads));
    cpu::resize(problem_, arguments.inputs[0], arguments.outputs[0], *arguments.queue.pool,
                arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return cpu::resize_scratch_bytes(problem_); }
  bool uses_input(int input) const override { return input == 0; }

 private:
  cpu::ResizeProblem problem_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<ResizeKernel>)

}  // namespace tenon::tactics::resize_taps
