#include "kernels/conv/describe_pair.h"
#include "kernels/conv/expanded.h"

namespace tenon::tactics::conv_expanded {
namespace {

Result<cpu::ConvPair> describe(const Problem& problem) {
  TENON_ASSIGN(cpu::ConvPair d, cpu::describe_pair(problem, false));
  TENON_TRY(cpu::ExpandedDepthwise::check(d.problems[0], d.problems[1]));
  return d;
}

class ExpandedKernel final : public Kernel {
 public:
  ExpandedKernel(cpu::ExpandedDepthwise both, cpu::ConvPair description)
      : both_(std::move(both)), d_(std::move(description)) {}

  Status run(const LaunchArguments& arguments) const override {
    const auto floats = [&](int input) {
      return input < 0 ? nullptr : static_cast<const float*>(arguments.inputs[input]);
    };
    if (arguments.queue.pool->threads() > d_.problems[0].threads)
      return internal_error("a kernel made for {} threads runs on {}", d_.problems[0].threads,
                            arguments.queue.pool->threads());
    both_.run({floats(d_.image), static_cast<float*>(arguments.outputs[0]),
               floats(d_.layers[0].bias), floats(d_.layers[1].bias), arguments.ahead},
              *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return both_.scratch_bytes(); }
  bool uses_input(int input) const override { return !packs_input(input); }
  std::span<const std::byte> packed() const override { return both_.packed(); }
  bool packs_input(int input) const override {
    return input == d_.layers[0].weights || input == d_.layers[1].weights;
  }
  size_t fetch_capacity() const override { return both_.fetch_capacity(); }

 private:
  cpu::ExpandedDepthwise both_;
  cpu::ConvPair d_;
};

}  // namespace

Support supports(const Problem& problem) {
  return Support::of(describe(problem));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(cpu::ConvPair d, describe(problem));
  TENON_ASSIGN(cpu::ExpandedDepthwise both,
               cpu::ExpandedDepthwise::prepare(d.problems[0], d.problems[1],
                                               cpu::weights_of(problem, d.layers[0]),
                                               cpu::weights_of(problem, d.layers[1])));
  return make_kernel<ExpandedKernel>(std::move(both), std::move(d));
}

}  // namespace tenon::tactics::conv_expanded
