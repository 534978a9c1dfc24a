#include "kernels/cuda/contract.h"
#include "kernels/cuda/tf32.h"
#include "kernels/cudnn/library.h"
#include "kernels/cudnn/matmul.h"
#include "kernels/movable_constants.h"

namespace tenon::tactics::gemm_cudnn {
namespace {

using namespace cudnn;

constexpr size_t kProposals = 4;
constexpr size_t kMaxBindings = 16;

EngineLimits limits_of(const MatrixProduct& product) {
  return {.tensor_core_f32 = product.allow_tf32};
}

class MatmulKernel final : public Kernel, public MovableConstants {
 public:
  static Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
    auto kernel = std::make_unique<MatmulKernel>();
    TENON_ASSIGN(const MatrixProduct product, describe_matrix_product(problem));
    TENON_ASSIGN(kernel->library_, library_of(*problem.device));
    TENON_ASSIGN(const Borrowed handle, Borrowed::from(*kernel->library_));
    const Context context = kernel->library_->context(handle.get());
    TENON_ASSIGN(kernel->graph_, build_graph(*context.api, context.handle, product));
    if (kernel->graph_.operands.size() + 3 > kMaxBindings)
      return unsupported("{} operands; takes {}", kernel->graph_.operands.size(), kMaxBindings - 3);
    TENON_ASSIGN(kernel->plan_,
                 build_plan(context, kernel->graph_.graph, product.type == DataType::kFloat32,
                            limits_of(product), config));
    kernel->a_input_ = product.a_input, kernel->b_input_ = product.b_input;
    const Operand& b = problem.input(product.b_input);
    if (product.type == DataType::kFloat32 && kernel->plan_.uses_matrix_units() && b.dense() &&
        b.constant != nullptr && product.b_input != product.a_input) {
      TENON_ASSIGN(ConstantStore::Part weights,
                   cuda::keep_constant(problem, *b.constant, "rounded to tf32",
                                       [&] { return cuda::rounded_to_tf32(*b.constant); }));
      kernel->weight_bytes_ = weights.bytes;
      kernel->owned_bytes_ = cuda::owned_constants(problem, weights.bytes);
      kernel->weights_ = std::move(weights.buffer);
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(const LaunchArguments& arguments) const override {
    const void* const own[] = {weights_.get()};
    return run_with(arguments, {own, weights_ ? size_t{1} : 0});
  }
  std::vector<Block> blocks() const override {
    if (!weights_) return {};
    return {{weights_.get(), weight_bytes_}};
  }
  Status run_with(const LaunchArguments& arguments,
                  std::span<const void* const> blocks) const override {
    const void* b = blocks.empty() ? arguments.inputs[b_input_] : blocks[0];
    Binding bindings[kMaxBindings] = {{graph_.a, const_cast<void*>(arguments.inputs[a_input_])},
                                      {graph_.b, const_cast<void*>(b)},
                                      {graph_.d, arguments.outputs[0]}};
    size_t count = 3;
    for (const StepOperand& operand : graph_.operands)
      bindings[count++] = {operand.id, const_cast<void*>(arguments.inputs[operand.input])};
    TENON_ASSIGN(const Borrowed handle, Borrowed::from(*library_, arguments.queue.stream));
    return plan_.run(handle.get(), {bindings, count}, arguments.workspace);
  }
  size_t workspace_bytes() const override { return static_cast<size_t>(plan_.workspace_bytes()); }
  bool reads_early(int input) const override { return input != a_input_ && input != b_input_; }
  bool uses_input(int input) const override { return !weights_ || input != b_input_; }
  size_t owned_bytes() const override { return owned_bytes_; }

 private:
  std::shared_ptr<const Library> library_;
  MatrixProductGraph graph_;
  Plan plan_;
  DeviceBuffer weights_;  ///< Rounded; null: the operand as it is.
  size_t weight_bytes_ = 0, owned_bytes_ = 0;
  int a_input_ = 0, b_input_ = 1;
};

}  // namespace

Support supports(const Problem& problem) {
  const auto product = describe_matrix_product(problem);
  if (!product.ok()) return Support::of(product);
  if (product->type == DataType::kFloat32 && !product->allow_tf32)
    return Support::no("cuDNN's products round f32 to tf32, which is not allowed");
  return Support::of(cuda::load_cudnn());
}

std::vector<std::string> configs(const Problem& problem) {
  const auto list = [&]() -> Result<std::vector<std::string>> {
    TENON_ASSIGN(const MatrixProduct product, describe_matrix_product(problem));
    TENON_ASSIGN(const auto library, library_of(*problem.device));
    TENON_ASSIGN(const Borrowed handle, Borrowed::from(*library));
    const Context context = library->context(handle.get());
    TENON_ASSIGN(const MatrixProductGraph graph,
                 build_graph(*context.api, context.handle, product));
    TENON_ASSIGN(const auto choices,
                 propose_engines(context, graph.graph, product.type == DataType::kFloat32,
                                 limits_of(product), kProposals));
    std::vector<std::string> texts;
    for (const EngineChoice& choice : choices) texts.push_back(to_text(choice));
    return texts;
  };
  const auto texts = list();
  return texts.ok() ? *texts : single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
  TENON_TRY(cuda::prepare_fence(problem));
  return MatmulKernel::create(problem, config);
}

}  // namespace tenon::tactics::gemm_cudnn
