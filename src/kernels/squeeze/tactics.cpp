#include <algorithm>
#include <optional>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/microkernel.h"
#include "kernels/gemm/pack.h"
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

/// One layer that ends in `value`, which becomes its input; nothing for other nodes.
std::optional<Layer> take_layer(const Value*& value) {
  Layer layer;
  auto functions = cpu::take_functions(value);
  if (!functions) return std::nullopt;
  layer.functions = std::move(*functions);
  const Node* conv = value->producer();
  if (conv == nullptr || !conv->is<Conv>() || conv->as<Conv>()->groups != 1) return std::nullopt;
  layer.weights = input_number(conv->input(1));
  layer.bias = input_number(conv->input(2));
  value = conv->input(0);
  return layer.weights >= 0 ? std::optional(layer) : std::nullopt;
}

std::optional<Description> take_apart(const Operation& node) {
  if (!node.is<Fused>() || node.bodies()[0]->outputs().size() != 1) return std::nullopt;
  const Node* product = node.bodies()[0]->outputs()[0]->producer();
  const auto* multiply = product == nullptr ? nullptr : product->as<Pointwise>();
  if (multiply == nullptr || multiply->function != PointwiseFunction::k_mul) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    Description d;
    d.image = input_number(product->input(i));
    const Value* value = product->input(1 - i);
    if (d.image < 0) continue;
    for (Layer* layer : {&d.layers[1], &d.layers[0]}) {
      const auto taken = take_layer(value);
      if (!taken.has_value()) return std::nullopt;
      *layer = *taken;
    }
    const Node* mean = value->producer();
    if (mean == nullptr || !mean->is<Reduce>() || input_number(mean->input(0)) != d.image)
      return std::nullopt;
    return d;
  }
  return std::nullopt;
}

constexpr int64_t kChannels = 16;  // That a task adds up at least: a cache line.
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kMaxPieces = 16;
// Images of more bytes leave the second-level cache between the sums and the products: they are
// read line by line, and the second time from the end, which is still there.
constexpr int64_t kLargeImage = int64_t{512} << 10;
// Weights that one thread reads sooner than several share them out.
constexpr int64_t kSmallLayer = int64_t{128} << 10;

/// Floats, so that the next part is aligned.
int64_t padded(int64_t floats) {
  return ceil_div(floats, 16) * 16;
}

/// A layer as a product of [batch, k] with its weights, which are [n, k].
struct Product {
  const cpu::Microkernels* kernels = nullptr;
  cpu::FinishFunction finish = nullptr;
  std::vector<cpu::EpilogueStep> functions;
  std::vector<float> bias;
  int64_t k = 0, n = 0;
  const char* packed = nullptr;

  int64_t panels() const { return ceil_div(n, kernels->panel); }
  size_t bytes() const { return cpu::align_up(cpu::packed_bytes(*kernels, k, n)); }
  /// Columns of one panel, for all rows.
  void run(const float* from, int64_t rows, float* to, int64_t panel) const {
    const int64_t column = panel * kernels->panel;
    const int64_t panel_bytes = cpu::panel_stride(*kernels, k) * int64_t{sizeof(float)};
    cpu::Tile tile;
    tile.a_stride = k;
    tile.b = packed + panel * panel_bytes;
    tile.k = k;
    tile.columns = static_cast<int>(std::min<int64_t>(kernels->panel, n - column));
    tile.prefetch = packed + (panel + 1) * panel_bytes;
    tile.prefetch_step = kernels->panel * int64_t{sizeof(float)};
    if (!bias.empty()) tile.initial = bias.data() + column;
    tile.output_stride = n;
    for (int64_t r = 0; r < rows; r += kernels->max_rows) {
      tile.a = from + r * k;
      tile.rows = static_cast<int>(std::min<int64_t>(kernels->max_rows, rows - r));
      float* output = to + r * n + column;
      tile.output = output;
      kernels->run(tile);
      if (functions.empty()) continue;
      const cpu::EpilogueOperand operands[cpu::kMaxEpilogueSteps] = {};
      finish({.tile = output,
              .tile_stride = n,
              .rows = tile.rows,
              .columns = tile.columns,
              .output = output,
              .output_stride = n},
             functions, operands);
    }
  }
};

class SqueezeKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const Problem& problem, Description description) {
    auto kernel =
        std::unique_ptr<SqueezeKernel>(new SqueezeKernel(problem, std::move(description)));
    TENON_TRY(kernel->pack(problem));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(const LaunchArguments& arguments) const override {
    cpu::ThreadPool& pool = *arguments.queue.pool;
    auto* sums = static_cast<float*>(arguments.workspace);
    float* means = sums + padded(batch_ * pieces_ * channels_);
    float* hidden = means + padded(batch_ * channels_);
    float* gates = hidden + padded(batch_ * hidden_);
    const auto* x = static_cast<const float*>(arguments.inputs[d_.image]);
    squeeze(x, sums, means, pool);
    const Product& first = products_[0];
    const int64_t panels = first.panels();
    const auto layer = [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) first.run(means, batch_, hidden, i);
    };
    pool.parallel_for(panels, hidden_ * channels_ * 4 <= kSmallLayer ? panels : 1, layer);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    pool.for_each(products_[1].panels(), 1, [&](int64_t i) { excite(hidden, gates, x, y, i); });
    if (by_pixels_) excite_pixels(gates, x, y, pool);
    return {};
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(padded(batch_ * pieces_ * channels_) +
                               2 * padded(batch_ * channels_) + padded(batch_ * hidden_)) *
           sizeof(float);
  }
  bool uses_input(int index) const override { return index == d_.image; }
  std::span<const std::byte> packed() const override { return packed_.bytes(); }
  bool packs_input(int index) const override {
    return index == d_.layers[0].weights || index == d_.layers[1].weights;
  }

 private:
  SqueezeKernel(const Problem& problem, Description description)
      : d_(std::move(description)),
        functions_(cpu::row_functions(cpu::isa_up_to(problem.isa_limit))) {
    const Operand& x = problem.input(d_.image);
    batch_ = x.extents[0];
    channels_ = x.extents[1];
    for (int i = 2; i < x.rank(); ++i) pixels_ *= x.extents[i];
    x_stride_ = *pixel_stride(x);
    y_stride_ = *pixel_stride(problem.output());
    hidden_ = problem.input(d_.layers[0].weights).extents[0];
    const int64_t wanted = std::max(1, problem.threads) * kTasksPerThread;
    chunk_ = ceil_div(ceil_div(channels_ * batch_, wanted), kChannels) * kChannels;
    // Few channels are cut by pixels too.
    const int64_t chunks = batch_ * ceil_div(channels_, chunk_);
    by_pixels_ = pixels_ * channels_ * int64_t{sizeof(float)} > kLargeImage;
    if (by_pixels_) {
      chunk_ = channels_;
      pieces_ = ceil_div(kMaxPieces, batch_);  // Sums are the same for any number of threads.
    } else if (chunks < problem.threads) {
      pieces_ = std::clamp<int64_t>(pixels_ * channels_ / 16384, 1, kMaxPieces);
    }
    zeros_.assign(static_cast<size_t>(channels_), 0.0f);
  }

  Status pack(const Problem& problem) {
    const cpu::Isa isa = cpu::isa_up_to(problem.isa_limit);
    const void* weights[2];
    for (int i = 0; i < 2; ++i) {
      const Layer& layer = d_.layers[i];
      Product& product = products_[i];
      product.kernels = &cpu::microkernels(cpu::ElementType::f32, cpu::capped_isa(isa));
      product.finish = cpu::finish_function(cpu::capped_isa(isa));
      product.functions = layer.functions;
      product.k = i == 0 ? channels_ : hidden_;
      product.n = i == 0 ? hidden_ : channels_;
      weights[i] = problem.input(layer.weights).constant->bytes();
      if (layer.bias >= 0)
        product.bias =
            cpu::to_floats(cpu::ElementType::f32, problem.input(layer.bias).constant->bytes(),
                           problem.input(layer.bias).count());
    }
    TENON_ASSIGN(packed_, cpu::PackedWeights::make(products_[0].bytes() + products_[1].bytes(),
                                                   problem.packed, weights[0]));
    for (int i = 0; i < 2; ++i) {
      Product& product = products_[i];
      const size_t offset = i == 0 ? 0 : products_[0].bytes();
      product.packed = packed_.at(offset);
      if (!packed_.filled())
        cpu::pack_panels(*product.kernels, {weights[i], cpu::ElementType::f32, 1, product.k},
                         product.k, product.n, 0, product.panels(),
                         static_cast<char*>(packed_.target()) + offset);
    }
    return {};
  }

  int64_t first_pixel(int64_t piece) const { return piece * pixels_ / pieces_; }

  /// Means over the pixels; sums of pieces are added up in order.
  void squeeze(const float* x, float* sums, float* means, cpu::ThreadPool& pool) const {
    const int64_t chunks = ceil_div(channels_, chunk_);
    float* to = pieces_ > 1 ? sums : means;
    pool.for_each(batch_ * pieces_ * chunks, 1, [&](int64_t task) {
      const int64_t row = task / chunks, c = task % chunks * chunk_;
      const int64_t first = first_pixel(row % pieces_), last = first_pixel(row % pieces_ + 1);
      const int64_t n = std::min(chunk_, channels_ - c);
      float* own = to + row * channels_ + c;
      std::fill_n(own, n, 0.0f);
      functions_.reduce_columns(cpu::ElementType::f32,
                                x + (row / pieces_ * pixels_ + first) * x_stride_ + c, last - first,
                                x_stride_, n, cpu::RowReduction::sum, own);
      if (pieces_ == 1) scale(own, n);
    });
    if (pieces_ == 1) return;
    for (int64_t n = 0; n < batch_; ++n) {
      const float* from = sums + n * pieces_ * channels_;
      std::copy_n(from, channels_, means + n * channels_);
      for (int64_t piece = 1; piece < pieces_; ++piece)
        for (int64_t c = 0; c < channels_; ++c)
          means[n * channels_ + c] += from[piece * channels_ + c];
      scale(means + n * channels_, channels_);
    }
  }

  void scale(float* sums, int64_t n) const {
    const float factor = 1.0f / static_cast<float>(pixels_);
    for (int64_t i = 0; i < n; ++i) sums[i] *= factor;
  }

  /// The gates of one panel of channels, and these channels of all images times them, unless
  /// excite_pixels() does that.
  void excite(const float* hidden, float* gates, const float* x, float* y, int64_t panel) const {
    const Product& product = products_[1];
    product.run(hidden, batch_, gates, panel);
    if (by_pixels_) return;
    const int64_t c = panel * product.kernels->panel;
    const int64_t n = std::min<int64_t>(product.kernels->panel, channels_ - c);
    for (int64_t image = 0; image < batch_; ++image)
      functions_.scale_pixels(cpu::ElementType::f32, x + image * pixels_ * x_stride_ + c,
                              y + image * pixels_ * y_stride_ + c, pixels_, x_stride_, y_stride_, n,
                              gates + image * channels_ + c, zeros_.data(), {});
  }

  /// All channels of a piece of the pixels at a time, the last ones first.
  void excite_pixels(const float* gates, const float* x, float* y, cpu::ThreadPool& pool) const {
    const int64_t count = batch_ * pieces_;
    pool.for_each(count, 1, [&](int64_t task) {
      const int64_t i = count - 1 - task;
      const int64_t image = i / pieces_, first = first_pixel(i % pieces_);
      const int64_t at = image * pixels_ + first;
      functions_.scale_pixels(cpu::ElementType::f32, x + at * x_stride_, y + at * y_stride_,
                              first_pixel(i % pieces_ + 1) - first, x_stride_, y_stride_, channels_,
                              gates + image * channels_, zeros_.data(), {});
    });
  }

  Description d_;
  Product products_[2];
  cpu::PackedWeights packed_;
  const cpu::RowFunctions& functions_;
  std::vector<float> zeros_;
  int64_t batch_ = 1, channels_ = 1, hidden_ = 1, pixels_ = 1, x_stride_ = 1, y_stride_ = 1;
  int64_t chunk_ = 1, pieces_ = 1;  ///< of the sums
  bool by_pixels_ = false;          ///< The image is large: tasks are pieces of its pixels.
};

Status check_layer(const Problem& problem, const Layer& layer, int64_t from, int64_t to) {
  const Operand& weights = problem.input(layer.weights);
  if (weights.constant == nullptr) return unsupported("weights computed at run time");
  if (weights.type != DataType::kFloat32) return unsupported("weights that are not f32");
  if (weights.count() != from * to || weights.extents[0] != to)
    return unsupported("a convolution with a window");
  if (layer.functions.size() + 1 > cpu::kMaxEpilogueSteps) return unsupported("too many functions");
  if (layer.bias < 0) return {};
  const Operand& bias = problem.input(layer.bias);
  if (bias.constant == nullptr || bias.type != DataType::kFloat32)
    return unsupported("a bias that is no constant of f32");
  return {};
}

Result<Description> describe(const Problem& problem) {
  auto d = take_apart(problem.operation);
  if (!d.has_value()) return unsupported("not an image times a gate of its means");
  const Operand& x = problem.input(d->image);
  if (x.type != DataType::kFloat32) return unsupported("the image is not f32");
  if (!pixel_stride(x) || !pixel_stride(problem.output())) return unsupported("not channels-last");
  if (x.count() == 0) return unsupported("an empty image");
  const int64_t channels = x.extents[1];
  const int64_t hidden = problem.input(d->layers[0].weights).extents[0];
  TENON_TRY(check_layer(problem, d->layers[0], channels, hidden));
  TENON_TRY(check_layer(problem, d->layers[1], hidden, channels));
  return std::move(*d);
}

}  // namespace

Support supports(const Problem& problem) {
  return Support::of(describe(problem));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(Description description, describe(problem));
  return SqueezeKernel::create(problem, std::move(description));
}

}  // namespace tenon::tactics::squeeze_nhwc
