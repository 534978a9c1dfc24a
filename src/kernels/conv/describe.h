#pragma once

#include "device/cpu/thread_pool.h"
#include "kernels/conv/problem.h"
#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "ops/nn.h"

namespace tenon::cpu {

/// A convolution problem in the kernels' terms.
struct ConvDescription {
  ConvProblem conv;
  std::vector<BoundStep> steps;
  int input = 0;       ///< problem input
  int weights = 1;     ///< problem input
  int64_t images = 1;  ///< Runs of `conv`, one after the other.
};

Result<ConvDescription> describe_convolution(const Problem& problem);

/// Fills in extents, kernel, strides, dilations and padding of a convolution of images.
void describe_window(const Conv& conv, const Extents& input, const Extents& weights,
                     const Extents& output, ConvProblem& p);

/// Moves the addresses of a run on to the next image.
void next_image(const ConvDescription& description, ConvArguments& arguments,
                EpilogueOperand* operands);

/// Whether the output may take the memory of problem input `input`: an image that one step adds or
/// combines, pixel by pixel, just before that pixel is written.
bool may_write_over(const ConvDescription& description, int input);

/// Kernel of the tactic layer around DirectConvolution and its siblings.
template <class Implementation> class ConvKernel final : public Kernel {
 public:
  ConvKernel(Implementation implementation, ConvDescription description)
      : implementation_(std::move(implementation)), description_(std::move(description)) {}

  static Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                                ConvDescription description) {
    const Tensor* weights = problem.input(description.weights).constant;
    TENON_ASSIGN(
        Implementation implementation,
        Implementation::prepare(description.conv, weights == nullptr ? nullptr : weights->bytes()));
    return std::unique_ptr<Kernel>(
        std::make_unique<ConvKernel>(std::move(implementation), std::move(description)));
  }

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(check_threads(arguments.queue.pool->threads(), description_.conv.threads));
    EpilogueOperand operands[kMaxConvSteps];
    bind_operands(description_.steps, arguments, operands);
    const ConvProblem& conv = description_.conv;
    ConvArguments one{arguments.inputs[description_.input],
                      conv.weights_change ? arguments.inputs[description_.weights] : nullptr,
                      arguments.outputs[0], operands, arguments.ahead};
    for (int64_t image = 0; image < description_.images; ++image) {
      implementation_.run(one, *arguments.queue.pool, arguments.workspace);
      if (image + 1 < description_.images) next_image(description_, one, operands);
    }
    return {};
  }
  size_t workspace_bytes() const override { return implementation_.scratch_bytes(); }
  bool may_alias(int input, int output) const override {
    return output == 0 && may_write_over(description_, input);
  }
  bool uses_input(int input) const override {
    return input == description_.input || reads_input(description_.steps, input) ||
           (input == description_.weights && description_.conv.weights_change);
  }
  std::span<const std::byte> packed() const override { return implementation_.packed(); }
  bool packs_input(int input) const override {
    return input == description_.weights && !description_.conv.weights_change;
  }
  size_t fetch_capacity() const override { return implementation_.fetch_capacity(); }

 private:
  Implementation implementation_;
  ConvDescription description_;
};

}  // namespace tenon::cpu
