#include <algorithm>

#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/fourier/fft.h"
#include "kernels/strides.h"

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
  FourierKernel(const Problem&, cpu::FourierProblem fourier)
      : source_(fourier.lines.source),
        window_(fourier.lines.window),
        threads_(fourier.threads),
        transform_(std::move(fourier)) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), threads_));
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

TENON_DESCRIBED_TACTIC(describe, make_kernel<FourierKernel>)

}  // namespace tenon::tactics::fft_lines
