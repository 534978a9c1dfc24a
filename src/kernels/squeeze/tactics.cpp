#include <algorithm>
#include <optional>

#include "device/cpu/thread_pool.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/gemm/gemm.h"
#include "kernels/image.h"
#include "kernels/rows/describe.h"
#include "kernels/tactic.h"
#include "ops/ops.h"

namespace tenon::tactics::squeeze_nhwc {
namespace {

/// A 1x1 convolution of the means with the functions behind it. Numbers are problem inputs; -1: no
/// bias.
struct Layer {
  int weights = -1, bias = -1;
  std::vector<cpu::EpilogueStep> functions;
};

/// The region { mean; conv; functions; conv; functions; mul } taken apart.
struct Description {
  int image = -1;
  Layer layers[2];
};

int number_of(const Value* value) {
  return value != nullptr && value->producer() == nullptr ? value->index() : -1;
}

/// One layer that ends in `value`, which becomes what it starts from; nothing for other nodes.
std::optional<Layer> take_layer(const Value*& value) {
  Layer layer;
  while (value->producer() != nullptr && value->producer()->is<Pointwise>()) {
    const auto* function = value->producer()->as<Pointwise>();
    if (value->producer()->inputs().size() != 1) return std::nullopt;
    cpu::EpilogueStep step;
    step.function = function->function;
    step.alpha = static_cast<float>(function->alpha);
    step.beta = static_cast<float>(function->beta);
    layer.functions.insert(layer.functions.begin(), step);
    value = value->producer()->input(0);
  }
  const Node* conv = value->producer();
  if (conv == nullptr || !conv->is<Conv>() || conv->as<Conv>()->groups != 1) return std::nullopt;
  layer.weights = number_of(conv->input(1));
  layer.bias = number_of(conv->input(2));
  value = conv->input(0);
  return layer.weights >= 0 ? std::optional(layer) : std::nullopt;
}

std::optional<Description> describe(const Node& node) {
  if (!node.is<Fused>() || node.bodies[0]->outputs().size() != 1) return std::nullopt;
  const Node* product = node.bodies[0]->outputs()[0]->producer();
  const auto* multiply = product == nullptr ? nullptr : product->as<Pointwise>();
  if (multiply == nullptr || multiply->function != PointwiseFunction::k_mul) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    Description d;
    d.image = number_of(product->input(i));
    const Value* value = product->input(1 - i);
    if (d.image < 0) continue;
    for (Layer* layer : {&d.layers[1], &d.layers[0]}) {
      const auto taken = take_layer(value);
      if (!taken.has_value()) return std::nullopt;
      *layer = *taken;
    }
    const Node* mean = value->producer();
    if (mean == nullptr || !mean->is<Reduce>() || number_of(mean->input(0)) != d.image)
      return std::nullopt;
    return d;
  }
  return std::nullopt;
}

/// A layer as a product of [batch, k] with its weights, which are [n, k].
Result<cpu::Gemm> prepare(const Problem& problem, const Layer& layer, int64_t batch) {
  const Operand& weights = problem.input(layer.weights);
  cpu::GemmProblem p;
  p.m = batch;
  p.n = weights.extents[0];
  p.k = weights.extents[1];
  p.a.row_stride = p.k;
  p.b.row_stride = 1;
  p.b.column_stride = p.k;
  p.c.row_stride = p.n;
  if (layer.bias >= 0) p.steps.push_back({PointwiseFunction::k_add, cpu::OperandKind::per_column});
  p.steps.insert(p.steps.end(), layer.functions.begin(), layer.functions.end());
  p.step_batch_strides.resize(p.steps.size());
  p.isa = cpu::isa_up_to(problem.isa_limit);
  p.threads = std::max(1, problem.threads);
  p.constant_b = true;
  return cpu::Gemm::prepare(p, weights.constant->bytes());
}

class SqueezeKernel final : public Kernel {
 public:
  SqueezeKernel(const Problem& problem, Description description, cpu::Gemm first, cpu::Gemm second)
      : d_(std::move(description)),
        products_{std::move(first), std::move(second)},
        functions_(cpu::row_functions(cpu::isa_up_to(problem.isa_limit))) {
    const Operand& x = problem.input(d_.image);
    batch_ = x.extents[0];
    channels_ = x.extents[1];
    for (int i = 2; i < x.rank(); ++i) pixels_ *= x.extents[i];
    x_stride_ = *pixel_stride(x);
    y_stride_ = *pixel_stride(problem.output());
    hidden_ = problem.input(d_.layers[0].weights).extents[0];
    pieces_ = std::clamp<int64_t>(pixels_ * channels_ / 16384, 1, kMaxPieces);
    for (int i = 0; i < 2; ++i)
      if (const int bias = d_.layers[i].bias; bias >= 0)
        biases_[i] = cpu::to_floats(cpu::ElementType::f32, problem.input(bias).constant->bytes(),
                                    problem.input(bias).count());
    zeros_.assign(static_cast<size_t>(channels_), 0.0f);
  }

  Status run(const LaunchArguments& arguments) const override {
    cpu::ThreadPool& pool = *arguments.queue.pool;
    auto* sums = static_cast<float*>(arguments.workspace);
    float* means = sums + batch_ * pieces_ * 2 * channels_;
    float* hidden = means + padded(batch_ * channels_);
    float* gates = hidden + padded(batch_ * hidden_);
    void* scratch = gates + padded(batch_ * channels_);
    const auto* x = static_cast<const float*>(arguments.inputs[d_.image]);
    squeeze(x, sums, means, pool);
    excite(0, means, hidden, pool, scratch);
    excite(1, hidden, gates, pool, scratch);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    pool.parallel_for(batch_ * pieces_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t n = task / pieces_, first = first_pixel(task % pieces_);
        functions_.scale_pixels(cpu::ElementType::f32, x + (n * pixels_ + first) * x_stride_,
                                y + (n * pixels_ + first) * y_stride_,
                                first_pixel(task % pieces_ + 1) - first, x_stride_, y_stride_,
                                channels_, gates + n * channels_, zeros_.data(), {});
      }
    });
    return {};
  }

  size_t workspace_bytes() const override {
    const int64_t floats = batch_ * pieces_ * 2 * channels_ + 2 * padded(batch_ * channels_) +
                           padded(batch_ * hidden_);
    return static_cast<size_t>(floats) * sizeof(float) +
           std::max(products_[0].scratch_bytes(), products_[1].scratch_bytes());
  }
  bool uses_input(int index) const override { return index == d_.image; }
  size_t owned_bytes() const override {
    return products_[0].packed().size() + products_[1].packed().size();
  }

 private:
  static constexpr int64_t kMaxPieces = 16;
  /// Floats, so that what follows is aligned.
  static int64_t padded(int64_t floats) { return (floats + 15) / 16 * 16; }
  int64_t first_pixel(int64_t piece) const { return piece * pixels_ / pieces_; }

  /// Means over the pixels, summed in pieces that are added up in order.
  void squeeze(const float* x, float* sums, float* means, cpu::ThreadPool& pool) const {
    pool.parallel_for(batch_ * pieces_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t task = begin; task < end; ++task) {
        float* to = sums + task * 2 * channels_;
        std::fill_n(to, 2 * channels_, 0.0f);
        const int64_t first = first_pixel(task % pieces_);
        functions_.moments(
            cpu::ElementType::f32, x + (task / pieces_ * pixels_ + first) * x_stride_,
            first_pixel(task % pieces_ + 1) - first, x_stride_, channels_, to, to + channels_);
      }
    });
    const float factor = 1.0f / static_cast<float>(pixels_);
    for (int64_t n = 0; n < batch_; ++n) {
      float* total = sums + n * pieces_ * 2 * channels_;
      for (int64_t piece = 1; piece < pieces_; ++piece)
        for (int64_t c = 0; c < channels_; ++c) total[c] += total[piece * 2 * channels_ + c];
      for (int64_t c = 0; c < channels_; ++c) means[n * channels_ + c] = total[c] * factor;
    }
  }

  void excite(int layer, const float* from, float* to, cpu::ThreadPool& pool, void* scratch) const {
    std::vector<cpu::EpilogueOperand>::size_type count = d_.layers[layer].functions.size();
    cpu::EpilogueOperand operands[cpu::kMaxEpilogueSteps];
    if (!biases_[layer].empty()) {
      operands[0].data = biases_[layer].data();
      ++count;
    }
    products_[layer].run({from, nullptr, to, {operands, count}, {}}, pool, scratch);
  }

  Description d_;
  cpu::Gemm products_[2];
  const cpu::RowFunctions& functions_;
  std::vector<float> biases_[2], zeros_;
  int64_t batch_ = 1, channels_ = 1, hidden_ = 1, pixels_ = 1, x_stride_ = 1, y_stride_ = 1,
          pieces_ = 1;
};

Support check_layer(const Problem& problem, const Layer& layer, int64_t from, int64_t to) {
  const Operand& weights = problem.input(layer.weights);
  if (weights.constant == nullptr) return Support::no("weights computed at run time");
  if (weights.type != DataType::kFloat32) return Support::no("weights that are not f32");
  if (weights.count() != from * to || weights.extents[0] != to)
    return Support::no("a convolution with a window");
  if (layer.functions.size() + 1 > cpu::kMaxEpilogueSteps) return Support::no("too many functions");
  if (layer.bias < 0) return {};
  const Operand& bias = problem.input(layer.bias);
  return bias.constant != nullptr && bias.type == DataType::kFloat32
             ? Support{}
             : Support::no("a bias that is no constant of f32");
}

}  // namespace

Support supports(const Problem& problem) {
  const auto d = describe(*problem.node);
  if (!d.has_value()) return Support::no("not an image times a gate of its means");
  const Operand& x = problem.input(d->image);
  if (x.type != DataType::kFloat32) return Support::no("the image is not f32");
  if (!pixel_stride(x) || !pixel_stride(problem.output())) return Support::no("not channels-last");
  if (x.count() == 0) return Support::no("an empty image");
  const int64_t channels = x.extents[1];
  const int64_t hidden = problem.input(d->layers[0].weights).extents[0];
  if (const Support first = check_layer(problem, d->layers[0], channels, hidden); !first)
    return first;
  return check_layer(problem, d->layers[1], hidden, channels);
}

std::vector<std::string> configs(const Problem& problem) {
  return single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  Description d = *describe(*problem.node);
  const int64_t batch = problem.input(d.image).extents[0];
  TENON_ASSIGN(cpu::Gemm first, prepare(problem, d.layers[0], batch));
  TENON_ASSIGN(cpu::Gemm second, prepare(problem, d.layers[1], batch));
  return std::unique_ptr<Kernel>(
      std::make_unique<SqueezeKernel>(problem, std::move(d), std::move(first), std::move(second)));
}

}  // namespace tenon::tactics::squeeze_nhwc
