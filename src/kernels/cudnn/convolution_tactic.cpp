#include <fmt/ranges.h>

#include <algorithm>

#include "device/cuda/cuda_device.h"
#include "kernels/cuda/tf32.h"
#include "kernels/cudnn/convolution.h"
#include "kernels/cudnn/library.h"
#include "kernels/cudnn/packer.h"
#include "kernels/cudnn/steps.h"
#include "kernels/movable_constants.h"

namespace tenon::tactics::conv_cudnn {
namespace {

using namespace cudnn;

/// Engines offered to the search, for each way to lay out the input.
constexpr size_t kProposals = 6;
/// Convolutions of one channel a group have kernels of their own, cuDNN's seldom win.
constexpr size_t kDepthwiseProposals = 2;
constexpr size_t kMaxBindings = 16;

/// "fold=2x16,engine=..." or "engine=...".
struct Config {
  Packing packing;
  std::string_view engine;
};

std::string config_text(const Packing& packing, const EngineChoice& choice) {
  const std::string engine = to_text(choice);
  return packing.fold == 0 ? engine : fmt::format("fold={},{}", packing.fold, engine);
}

/// The packing among those that fit whose fold the text names, and the rest of the text.
Result<Config> parse(std::string_view text, const std::vector<Packing>& packings) {
  for (const Packing& packing : packings) {
    const std::string prefix =
        packing.fold == 0 ? "engine=" : fmt::format("fold={},", packing.fold);
    if (text.empty()) return Config{packing, text};
    if (text.starts_with(prefix))
      return Config{packing, packing.fold == 0 ? text : text.substr(prefix.size())};
  }
  return user_error("'{}' does not fit this convolution", text);
}

class ConvolutionKernel final : public Kernel, public MovableConstants {
 public:
  static Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view text) {
    auto kernel = std::make_unique<ConvolutionKernel>();
    TENON_ASSIGN(const Convolution whole, describe_convolution(problem));
    TENON_ASSIGN(const Config config, parse(text, packings_of(whole)));
    TENON_ASSIGN(kernel->library_, library_of(*problem.device));
    const Convolution convolution = cudnn::packed(whole, config.packing);
    TENON_TRY(kernel->build(convolution, config.engine));
    TENON_TRY(kernel->keep_weights(problem, whole, config.packing));
    if (config.packing.fold > 0) {
      TENON_ASSIGN(kernel->packer_, Packer::create(problem, whole, convolution, config.packing));
    }
    kernel->x_input_ = whole.x_input;
    kernel->weights_input_ = whole.weights_input;
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(const LaunchArguments& arguments) const override {
    const void* const own[] = {weights_.get()};
    return run_with(arguments, own);
  }
  std::vector<Block> blocks() const override { return {{weights_.get(), weight_bytes_}}; }
  Status run_with(const LaunchArguments& arguments,
                  std::span<const void* const> blocks) const override {
    auto* workspace = static_cast<char*>(arguments.workspace);
    const void* x = arguments.inputs[x_input_];
    if (packer_) {
      TENON_TRY(packer_->run(x, workspace, arguments.queue));
      x = workspace;
      workspace += packer_->bytes();
    }
    Binding bindings[kMaxBindings] = {{graph_.x, const_cast<void*>(x)},
                                      {graph_.weights, const_cast<void*>(blocks[0])},
                                      {graph_.y, arguments.outputs[0]}};
    size_t count = 3;
    for (const StepOperand& operand : graph_.operands)
      bindings[count++] = {operand.id, const_cast<void*>(arguments.inputs[operand.input])};
    TENON_ASSIGN(const Borrowed handle, Borrowed::from(*library_, arguments.queue.stream));
    return plan_.run(handle.get(), {bindings, count}, workspace);
  }
  size_t workspace_bytes() const override {
    return static_cast<size_t>(plan_.workspace_bytes()) + (packer_ ? packer_->bytes() : 0);
  }
  bool uses_input(int input) const override { return input != weights_input_; }
  bool reads_early(int input) const override { return input != x_input_; }
  size_t owned_bytes() const override { return owned_bytes_; }

 private:
  Status build(const Convolution& convolution, std::string_view engine) {
    TENON_ASSIGN(const Borrowed handle, Borrowed::from(*library_));
    const Context context = library_->context(handle.get());
    TENON_ASSIGN(graph_, build_graph(*context.api, context.handle, convolution));
    if (graph_.operands.size() + 3 > kMaxBindings)
      return unsupported("{} operands; takes {}", graph_.operands.size(), kMaxBindings - 3);
    TENON_ASSIGN(plan_, build_plan(context, graph_.graph, convolution.type == DataType::kFloat32,
                                   limits_of(convolution), engine));
    return {};
  }

  Status keep_weights(const Problem& problem, const Convolution& whole, const Packing& packing) {
    const Tensor& constant = *problem.input(whole.weights_input).constant;
    const bool rounds = whole.type == DataType::kFloat32 && plan_.uses_matrix_units();
    const std::string recipe =
        fmt::format("conv.cudnn: [{}]{}, fold {}x{}{}", fmt::join(whole.weights, ","),
                    whole.channels_last ? " channels last" : "", packing.fold, packing.channels,
                    rounds ? ", rounded" : "");
    TENON_ASSIGN(ConstantStore::Part weights, cuda::keep_constant(problem, constant, recipe, [&] {
                   Tensor packed = packed_weights(whole, packing, constant);
                   return rounds ? cuda::rounded_to_tf32(packed) : packed;
                 }));
    weight_bytes_ = weights.bytes;
    owned_bytes_ = cuda::owned_constants(problem, weights.bytes);
    weights_ = std::move(weights.buffer);
    return {};
  }

 public:
  static EngineLimits limits_of(const Convolution& convolution) {
    return {.tensor_core_f32 = convolution.allow_tf32};
  }

 private:
  std::shared_ptr<const Library> library_;
  ConvolutionGraph graph_;
  Plan plan_;
  std::unique_ptr<Packer> packer_;
  DeviceBuffer weights_;
  size_t weight_bytes_ = 0, owned_bytes_ = 0;
  int x_input_ = 0, weights_input_ = 1;
};

Result<std::vector<EngineChoice>> proposals(const Library& library,
                                            const Convolution& convolution) {
  TENON_ASSIGN(const Borrowed handle, Borrowed::from(library));
  const Context context = library.context(handle.get());
  TENON_ASSIGN(const ConvolutionGraph graph,
               build_graph(*context.api, context.handle, convolution));
  const bool depthwise = convolution.groups > 1 && convolution.weights[1] == 1;
  return propose_engines(context, graph.graph, convolution.type == DataType::kFloat32,
                         ConvolutionKernel::limits_of(convolution),
                         depthwise ? kDepthwiseProposals : kProposals);
}

}  // namespace

Support supports(const Problem& problem) {
  const auto convolution = describe_convolution(problem);
  if (!convolution.ok()) return Support::of(convolution);
  if (packings_of(*convolution).empty())
    return Support::no("the input is not channels-last, or has gaps");
  for (const Step& step : convolution->steps)
    if (nodes_of(step.step) == 0)
      return Support::no(
          fmt::format("{} in the epilogue", pointwise_info(step.step.function).name));
  return Support::of(cuda::load_cudnn());
}

std::vector<std::string> configs(const Problem& problem) {
  std::vector<std::string> texts;
  const auto convolution = describe_convolution(problem);
  const auto library = library_of(*problem.device);
  if (!convolution.ok() || !library.ok()) return single_config(problem);
  for (const Packing& packing : packings_of(*convolution)) {
    const auto choices = proposals(**library, cudnn::packed(*convolution, packing));
    if (!choices.ok()) continue;
    for (const EngineChoice& choice : *choices) texts.push_back(config_text(packing, choice));
  }
  return texts.empty() ? single_config(problem) : texts;
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
  TENON_TRY(cuda::prepare_fence(problem));
  return ConvolutionKernel::create(problem, config);
}

}  // namespace tenon::tactics::conv_cudnn
