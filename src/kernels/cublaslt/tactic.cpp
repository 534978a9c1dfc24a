#include "kernels/tactic.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "base/transpose.h"
#include "kernels/cublaslt/library.h"
#include "kernels/cublaslt/matmul.h"
#include "kernels/cublaslt/padding.h"
#include "kernels/cublaslt/tail.h"
#include "kernels/cuda/tf32.h"
#include "kernels/movable_constants.h"

namespace tenon::tactics::gemm_cublaslt {
namespace {

using namespace cublaslt;

/// Algorithms offered to the search.
constexpr int kProposals = 5;
constexpr size_t kWorkspaceLimit = size_t{32} << 20;
/// Launches that one product may take, where its batch axes have no common stride.
constexpr int64_t kMaxLaunches = 64;

/// The constant B could be kept as [n, k] instead.
bool can_transpose(const Product& product) {
  return product.constant_b != nullptr && !product.b.transposed;
}

/// As of 16-bit elements, in blocks that stay in the cache.
void transpose(const uint32_t* from, int64_t rows, int64_t columns, uint32_t* to) {
  constexpr int64_t kBlock = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
    for (int64_t c0 = 0; c0 < columns; c0 += kBlock)
      for (int64_t r = r0; r < std::min(rows, r0 + kBlock); ++r)
        for (int64_t c = c0; c < std::min(columns, c0 + kBlock); ++c)
          to[c * rows + r] = from[r * columns + c];
}

/// Constants that tensor cores would cut are rounded, in a copy of the kernel's own.
bool rounds(const Problem& problem, const Product& product) {
  return product.allow_tf32 && problem.device->properties().compute_capability >= 80 &&
         product.constant_b != nullptr && product.constant_b->type() == DataType::kFloat32;
}

Tensor transposed(const Tensor& weights, int64_t k, int64_t n) {
  Tensor result(weights.type(), {n, k});
  if (byte_size(weights.type()) == 2)
    tenon::transpose(weights.values<uint16_t>().data(), k, n,
                     result.mutable_values<uint16_t>().data());
  else
    transpose(weights.values<uint32_t>().data(), k, n, result.mutable_values<uint32_t>().data());
  return result;
}

/// Bytes from the first to the current product of the outer batch axes.
struct Offsets {
  int64_t a = 0, b = 0, c = 0, d = 0;
};

/// The library steps through the last batch axis; the others are one launch each.
std::vector<Offsets> outer_offsets(const Product& p) {
  std::vector<Offsets> result(1);
  for (size_t axis = 0; axis + 1 < p.batch.size(); ++axis) {
    const auto step = [&](const Matrix& m) { return m.batch_strides[axis] * byte_size(m.type); };
    std::vector<Offsets> wider;
    for (const Offsets& base : result)
      for (int64_t i = 0; i < p.batch[axis]; ++i)
        wider.push_back({base.a + i * step(p.a), base.b + i * step(p.b), base.c + i * step(p.c),
                         base.d + i * step(p.d)});
    result = std::move(wider);
  }
  return result;
}

int64_t launches(const Product& product) {
  return product.batch.empty() ? 1 : product.batch_count() / product.batch.back();
}

const void* shifted(const void* address, int64_t bytes) {
  return address == nullptr ? nullptr : static_cast<const char*>(address) + bytes;
}

class MatmulKernel final : public Kernel, public MovableConstants {
 public:
  static Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
    auto kernel = std::make_unique<MatmulKernel>();
    TENON_ASSIGN(Product product, describe_product(problem));
    TENON_ASSIGN(kernel->library_, library_of(*problem.device));
    const Library& library = *kernel->library_;
    const bool pads = config.starts_with("w=p") && can_pad(product);
    const bool transposes = pads || (config.starts_with("w=t") && can_transpose(product));
    const Product computed = pads ? padded(product) : product;
    if (transposes || rounds(problem, product))
      TENON_TRY(kernel->prepare_weights(problem, product, computed, transposes));
    if (pads) {
      TENON_ASSIGN(kernel->unpadder_, Unpadder::create(problem, product, computed));
    }
    TENON_ASSIGN(kernel->matmul_, Matmul::create(*library.api, computed, transposes));
    TENON_ASSIGN(kernel->algorithm_, kernel->choose(config));
    TENON_ASSIGN(const AnchoredRegion region, anchored_region(problem, {.branches = true}));
    if (product.taken_steps < region.steps.size()) {
      TENON_ASSIGN(kernel->tail_, Tail::create(problem, region, product.taken_steps));
    }
    kernel->offsets_ = outer_offsets(product);
    kernel->in_place_ = product.c_input >= 0 && product.c.stride == product.d.stride &&
                        product.c.batch_strides == product.d.batch_strides;
    kernel->product_ = std::move(product);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(const LaunchArguments& arguments) const override {
    const void* const own[] = {weights_.get()};
    return run_with(arguments, {own, weights_ ? size_t{1} : 0});
  }
  std::vector<Block> blocks() const override {
    if (!weights_) return {};
    return {{weights_.get(), product_weight_bytes_}};
  }
  Status run_with(const LaunchArguments& arguments,
                  std::span<const void* const> blocks) const override {
    const auto input = [&](int index) { return index < 0 ? nullptr : arguments.inputs[index]; };
    const Matmul::Addresses base{
        input(product_.a_input), blocks.empty() ? input(product_.b_input) : blocks[0],
        input(product_.c_input), bias_ ? bias_.get() : input(product_.bias_input),
        arguments.outputs[0],    arguments.workspace};
    TENON_TRY(unpadder_ ? run_padded(base, arguments) : run_all(base, arguments));
    if (!tail_) return {};
    return tail_->run(arguments, static_cast<char*>(arguments.workspace) + product_workspace());
  }
  size_t workspace_bytes() const override {
    return product_workspace() + (tail_ ? tail_->workspace_bytes() : 0);
  }
  Status let_next_start() override { return tail_ ? tail_->let_next_start() : Status{}; }
  bool uses_input(int input) const override {
    if (tail_ && tail_->uses_input(input)) return true;
    if (input == product_.b_input) return weights_ == nullptr;
    if (input == product_.bias_input) return bias_ == nullptr;
    return input == product_.a_input || input == product_.c_input;
  }
  bool may_alias(int input, int output) const override {
    return output == 0 && in_place_ && input == product_.c_input &&
           !(tail_ && tail_->uses_input(input));
  }
  size_t owned_bytes() const override { return owned_bytes_; }

 private:
  size_t product_workspace() const {
    const size_t bytes = algorithm_.workspace_bytes + (unpadder_ ? unpadder_->bytes() : 0);
    return round_up(bytes, 256);
  }

  Status run_all(const Matmul::Addresses& base, const LaunchArguments& arguments) const {
    const auto stream = static_cast<cudaStream_t>(arguments.queue.stream);
    for (const Offsets& offset : offsets_) {
      Matmul::Addresses at = base;
      at.a = shifted(base.a, offset.a), at.b = shifted(base.b, offset.b);
      at.c = shifted(base.c, offset.c);
      at.d = static_cast<char*>(base.d) + offset.d;
      TENON_TRY(matmul_.run(library_->handle, algorithm_, at, stream));
    }
    return {};
  }

  /// The constant operands as `computed` wants them.
  Status prepare_weights(const Problem& problem, const Product& product, const Product& computed,
                         bool transposes) {
    const bool turns = transposes && !product.b.transposed, rounded = rounds(problem, product);
    const auto make = [&] {
      Tensor weights = *product.constant_b;
      if (product.b.transposed)
        weights = weights.reshaped({product.n, product.k});
      else if (turns)
        weights = transposed(weights, product.k, product.n);
      if (rounded) weights = cuda::rounded_to_tf32(weights);
      return computed.n == product.n ? weights : padded_rows(weights, computed.n);
    };
    TENON_ASSIGN(ConstantStore::Part weights,
                 keep(problem, *product.constant_b,
                      fmt::format("cublaslt: {}x{} to {}{}{}", product.k, product.n, computed.n,
                                  turns ? ", transposed" : "", rounded ? ", rounded" : ""),
                      make));
    weights_ = std::move(weights.buffer);
    product_weight_bytes_ = weights.bytes;
    if (computed.n == product.n || product.bias_input < 0) return {};
    TENON_ASSIGN(ConstantStore::Part bias,
                 keep(problem, *product.constant_bias,
                      fmt::format("cublaslt: {} to {}", product.n, computed.n), [&] {
                        return padded_rows(product.constant_bias->reshaped({product.n}),
                                           computed.n);
                      }));
    bias_ = std::move(bias.buffer);
    return {};
  }

  Result<ConstantStore::Part> keep(const Problem& problem, const Tensor& source,
                                   const std::string& recipe, FunctionRef<Tensor()> make) {
    TENON_ASSIGN(ConstantStore::Part part, cuda::keep_constant(problem, source, recipe, make));
    owned_bytes_ += cuda::owned_constants(problem, part.bytes);
    return part;
  }

  Status run_padded(Matmul::Addresses at, const LaunchArguments& arguments) const {
    at.d = arguments.workspace;
    at.workspace = static_cast<char*>(arguments.workspace) + unpadder_->bytes();
    const auto stream = static_cast<cudaStream_t>(arguments.queue.stream);
    TENON_TRY(matmul_.run(library_->handle, algorithm_, at, stream));
    return unpadder_->run(at.d, arguments.outputs[0], arguments.queue);
  }

  Result<cublaslt::Algorithm> choose(std::string_view config) const {
    if (!config.empty()) return matmul_.from_text(library_->handle, config);
    TENON_ASSIGN(auto proposals, matmul_.propose(library_->handle, kWorkspaceLimit, 1));
    return proposals.front();
  }

  std::shared_ptr<const Library> library_;
  Product product_;
  Matmul matmul_;
  cublaslt::Algorithm algorithm_;
  std::vector<Offsets> offsets_;
  DeviceBuffer weights_, bias_;
  std::unique_ptr<Unpadder> unpadder_;
  std::unique_ptr<Tail> tail_;
  size_t owned_bytes_ = 0, product_weight_bytes_ = 0;
  bool in_place_ = false;
};

/// Appends the library's proposals for weights as they are, transposed or padded.
void propose(const Library& library, const Product& product, bool transposes, bool pads,
             std::vector<std::string>& texts) {
  const auto matmul =
      Matmul::create(*library.api, pads ? padded(product) : product, transposes || pads);
  if (!matmul.ok()) return;
  auto found = matmul->propose(library.handle, kWorkspaceLimit, kProposals);
  if (!found.ok()) return;
  for (cublaslt::Algorithm& algorithm : *found) {
    algorithm.padded = pads;
    texts.push_back(to_text(*library.api, algorithm));
  }
}

}  // namespace

Support supports(const Problem& problem) {
  const auto product = describe_product(problem);
  if (!product.ok()) return Support::of(product);
  if (launches(*product) > kMaxLaunches) return Support::no("batch axes without a common stride");
  const Status tail = Tail::supports(problem, product->taken_steps);
  if (!tail.ok()) return Support::of(tail);
  return Support::of(cuda::load_cublaslt());
}

std::vector<std::string> configs(const Problem& problem) {
  std::vector<std::string> texts;
  const auto product = describe_product(problem);
  const auto library = library_of(*problem.device);
  if (product.ok() && library.ok()) {
    if (can_pad(*product)) propose(**library, *product, true, true, texts);
    propose(**library, *product, false, false, texts);
    if (can_transpose(*product)) propose(**library, *product, true, false, texts);
  }
  return texts.empty() ? single_config(problem) : texts;
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
  return MatmulKernel::create(problem, config);
}

}  // namespace tenon::tactics::gemm_cublaslt
