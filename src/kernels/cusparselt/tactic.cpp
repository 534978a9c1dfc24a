// Products of 16-bit floats with constant weights of which two of each four along the sums are 0.
#include "kernels/tactic.h"

#include <algorithm>
#include <charconv>

#include "base/arithmetic.h"
#include "kernels/cublaslt/tail.h"
#include "kernels/cuda/contract.h"
#include "kernels/cusparselt/matmul.h"
#include "kernels/sparse_weights.h"

namespace tenon::tactics::gemm_cusparselt {
namespace {

using cublaslt::Activation;
using cublaslt::Matrix;
using cublaslt::Product;
using cublaslt::Tail;
using cusparselt::Matmul;

/// Algorithms offered to the search.
constexpr int kProposals = 4;

/// Rows and addresses that the library takes.
bool is_aligned(const Matrix& m) {
  constexpr int64_t kElements = 8, kBytes = 16;
  return m.stride % kElements == 0 && m.alignment % kBytes == 0;
}

/// Constant weights as two axes, the latter along k where they lie so.
Tensor matrix_of(const Product& p) {
  return p.constant_b->reshaped(p.b.transposed ? Extents{p.n, p.k} : Extents{p.k, p.n});
}

Status check_weights(const Product& p) {
  if (p.constant_b == nullptr) return unsupported("weights that are not constant");
  if (!has_sparse_pattern(matrix_of(p), p.b.transposed ? 1 : 0))
    return unsupported("weights of which more than two of four along the sums are not zero");
  return {};
}

/// With as much of its epilogue as the library takes.
Result<Product> describe(const Problem& problem) {
  TENON_ASSIGN(Product p, cublaslt::describe_product(problem));
  if (!is_half(p.a.type) || p.b.type != p.a.type || p.d.type != p.a.type)
    return unsupported("a product of {} and {} to {}", name_of(p.a.type), name_of(p.b.type),
                       name_of(p.d.type));
  if (!p.batch.empty()) return unsupported("batches of products");
  // GELU is computed behind it.
  if (p.activation == Activation::kGeluTanh) p.activation = Activation::kNone, --p.taken_steps;
  constexpr int64_t kLeast = 32, kRows = 8;
  if (p.k % kLeast != 0 || p.n % kLeast != 0 || p.m % kRows != 0)
    return unsupported("a product of {}x{}x{}; takes whole {}, {} and {}", p.m, p.n, p.k, kRows,
                       kLeast, kLeast);
  if (p.a.transposed || !is_aligned(p.a) || !is_aligned(p.d) ||
      (p.c_input >= 0 && !is_aligned(p.c)))
    return unsupported("rows that are not aligned");
  if (p.bias_input >= 0 && p.constant_bias == nullptr)
    return unsupported("a bias that is not constant");
  TENON_TRY(check_weights(p));
  return p;
}

Tensor weights_by_columns(const Product& p) {
  const Tensor weights = matrix_of(p);
  if (p.b.transposed) return weights;
  Tensor result(weights.type(), {p.n, p.k});
  const uint16_t* from = weights.values<uint16_t>().data();
  uint16_t* to = result.mutable_values<uint16_t>().data();
  for (int64_t n = 0; n < p.n; ++n)
    for (int64_t k = 0; k < p.k; ++k) to[n * p.k + k] = from[k * p.n + n];
  return result;
}

int algorithm_of(std::string_view config) {
  int number = 0;
  if (config.starts_with("id="))
    std::from_chars(config.data() + 3, config.data() + config.size(), number);
  return number;
}

class SparseKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
    auto kernel = std::make_unique<SparseKernel>();
    TENON_ASSIGN(Product product, describe(problem));
    TENON_ASSIGN(auto library, cusparselt::library_of(*problem.device));
    if (product.bias_input >= 0) {
      const Tensor& bias = *product.constant_bias;
      TENON_ASSIGN(kernel->bias_, cuda::upload_constant(problem, bias.bytes(),
                                                        static_cast<size_t>(bias.byte_count())));
    }
    TENON_ASSIGN(kernel->matmul_, Matmul::create(std::move(library), product, algorithm_of(config),
                                                 kernel->bias_.get()));
    TENON_TRY(kernel->compress(problem, product));
    TENON_ASSIGN(const AnchoredRegion region, anchored_region(problem, {.branches = true}));
    if (product.taken_steps < region.steps.size()) {
      TENON_ASSIGN(kernel->tail_, Tail::create(problem, region, product.taken_steps));
    }
    kernel->in_place_ = product.c_input >= 0 && product.c.stride == product.d.stride;
    kernel->product_ = std::move(product);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(const LaunchArguments& arguments) const override {
    const auto input = [&](int index) { return index < 0 ? nullptr : arguments.inputs[index]; };
    TENON_TRY(matmul_->run(input(product_.a_input), weights_.get(), input(product_.c_input),
                           arguments.outputs[0], arguments.workspace,
                           static_cast<CUstream_st*>(arguments.queue.stream)));
    if (!tail_) return {};
    return tail_->run(arguments, static_cast<char*>(arguments.workspace) + product_workspace());
  }
  size_t workspace_bytes() const override {
    return product_workspace() + (tail_ ? tail_->workspace_bytes() : 0);
  }
  Status let_next_start() override { return tail_ ? tail_->let_next_start() : Status{}; }
  bool uses_input(int input) const override {
    return input == product_.a_input || input == product_.c_input ||
           (tail_ && tail_->uses_input(input));
  }
  bool may_alias(int input, int output) const override {
    return output == 0 && in_place_ && input == product_.c_input &&
           !(tail_ && tail_->uses_input(input));
  }
  size_t owned_bytes() const override { return weight_bytes_; }

 private:
  size_t product_workspace() const { return round_up(matmul_->workspace_bytes(), 256); }

  Status compress(const Problem& problem, const Product& product) {
    const Tensor dense = weights_by_columns(product);
    const auto bytes = static_cast<size_t>(dense.byte_count());
    TENON_ASSIGN(const DeviceBuffer uploaded,
                 cuda::device_of(problem).upload_constant(dense.bytes(), bytes));
    TENON_ASSIGN(weights_, matmul_->compress(*problem.device, uploaded.get(), weight_bytes_));
    return {};
  }

  Product product_;
  DeviceBuffer bias_, weights_;
  std::unique_ptr<Matmul> matmul_;
  std::unique_ptr<Tail> tail_;
  size_t weight_bytes_ = 0;
  bool in_place_ = false;
};

}  // namespace

Support supports(const Problem& problem) {
  const auto product = describe(problem);
  if (!product.ok()) return Support::of(product);
  const Status tail = Tail::supports(problem, product->taken_steps);
  if (!tail.ok()) return Support::of(tail);
  return Support::of(cuda::load_cusparselt());
}

std::vector<std::string> configs(const Problem& problem) {
  std::vector<std::string> texts;
  const auto product = describe(problem);
  const auto library = cusparselt::library_of(*problem.device);
  if (product.ok() && library.ok()) {
    const auto count = Matmul::algorithms(*library, *product);
    for (int i = 0; count.ok() && i < std::min(*count, kProposals); ++i)
      texts.push_back(fmt::format("id={}", i));
  }
  return texts.empty() ? single_config(problem) : texts;
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
  return SparseKernel::create(problem, config);
}

}  // namespace tenon::tactics::gemm_cusparselt
