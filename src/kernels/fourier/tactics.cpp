#include <algorithm>

#include "kernels/epilogue/region_epilogue.h"
#include "kernels/fourier/fft.h"
#include "kernels/strides.h"
#include "kernels/tactic.h"

namespace tenon::tactics::fft_lines {
namespace {

Result<cpu::FourierProblem> describe(const Problem& problem) {
  cpu::FourierProblem p;
  TENON_ASSIGN(p.lines, describe_fourier(problem));
  const Operand &x = problem.input(p.lines.source), &y = problem.output();
  if (x.count() == 0 || y.count() == 0) return unsupported("an empty tensor");
  const auto from = cpu::element_type(x.type), to = cpu::element_type(y.type);
  if (!from || !to)
    return unsupported("{} to {}; takes f32 and bf16", name_of(x.type), name_of(y.type));
  p.from = *from, p.to = *to;
  if (p.lines.window >= 0) {
    const Operand& window = problem.input(p.lines.window);
    const auto type = cpu::element_type(window.type);
    if (!type) return unsupported("a window of {}", name_of(window.type));
    p.window = *type, p.window_step = strides_of(window).back();
  }
  p.isa = cpu::isa_up_to(problem.isa_limit);
  p.threads = std::max(1, problem.threads);
  return p;
}

class FourierKernel final : public Kernel {
 public:
  explicit FourierKernel(cpu::FourierProblem problem)
      : source_(problem.lines.source),
        window_(problem.lines.window),
        threads_(problem.threads),
        transform_(std::move(problem)) {}

  Status run(const LaunchArguments& arguments) const override {
    if (arguments.queue.pool->threads() > threads_)
      return internal_error("a kernel made for {} threads runs on {}", threads_,
                            arguments.queue.pool->threads());
    transform_.run(arguments.inputs[source_], window_ < 0 ? nullptr : arguments.inputs[window_],
                   arguments.outputs[0], *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return transform_.scratch_bytes(); }
  bool uses_input(int input) const override { return input == source_ || input == window_; }

 private:
  int source_, window_, threads_;
  cpu::FourierTransform transform_;
};

}  // namespace

Support supports(const Problem& problem) {
  return Support::of(describe(problem));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(cpu::FourierProblem p, describe(problem));
  return make_kernel<FourierKernel>(std::move(p));
}

}  // namespace tenon::tactics::fft_lines
