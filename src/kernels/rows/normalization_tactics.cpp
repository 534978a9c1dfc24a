// Layer and RMS normalization over rows; instance and group normalization over channels-last
// images.
#include <algorithm>
#include <cmath>

#include "device/cpu/thread_pool.h"
#include "device/cpu/worker_memory.h"
#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/image.h"
#include "kernels/rows/describe.h"
#include "kernels/strides.h"
#include "ops/nn.h"

namespace tenon::tactics {
namespace {

/// Scale or bias as floats: a copy when it is constant, else read at each launch.
struct Factors {
  int input = -1;
  std::vector<float> copy;

  static Factors of(const Problem& problem, const AnchoredRegion& region, size_t operand) {
    Factors factors;
    factors.input = operand < region.anchor_inputs.size() ? region.anchor_inputs[operand] : -1;
    if (factors.input < 0) return factors;
    const Operand& source = problem.input(factors.input);
    if (source.constant != nullptr)
      factors.copy =
          cpu::to_floats(*cpu::element_type(source.type), source.constant->bytes(), source.count());
    return factors;
  }
};

Status check_factors(const Problem& problem, const AnchoredRegion& region, int64_t count) {
  for (size_t i = 1; i < region.anchor_inputs.size(); ++i) {
    if (region.anchor_inputs[i] < 0) continue;
    const Operand& factors = problem.input(region.anchor_inputs[i]);
    if (factors.count() != count)
      return unsupported("scale or bias broadcasts within the normalized axes");
    if (factors.constant == nullptr) return unsupported("scale or bias is computed at run time");
    if (!cpu::is_vector_type(factors.type)) return unsupported("the type of scale or bias");
  }
  return {};
}

}  // namespace

namespace normalization_rows {
namespace {

class RowNormalization final : public Kernel {
 public:
  RowNormalization(const Problem& problem, const AnchoredRegion& region)
      : input_(region.anchor_inputs[0]),
        type_(*cpu::element_type(problem.output().type)),
        scale_(Factors::of(problem, region, 1)),
        bias_(Factors::of(problem, region, 2)),
        epsilon_(static_cast<float>(region.anchor.as<Normalization>()->epsilon)),
        rms_(region.anchor.as<Normalization>()->norm == NormKind::kRms),
        steps_(*cpu::unary_steps(region)),
        threads_(problem.threads),
        functions_(cpu::row_functions(cpu::isa_up_to(problem.isa_limit))) {
    const Extents& extents = problem.output().extents;
    const auto& op = *region.anchor.as<Normalization>();
    const int64_t axis = op.axis < 0 ? op.axis + static_cast<int64_t>(extents.size()) : op.axis;
    for (size_t i = static_cast<size_t>(axis); i < extents.size(); ++i) length_ *= extents[i];
    rows_ = problem.output().count() / length_;
  }

  Status run(const LaunchArguments& arguments) const override {
    const float* scale = scale_.copy.empty() ? nullptr : scale_.copy.data();
    const float* bias = bias_.copy.empty() ? nullptr : bias_.copy.data();
    const int64_t grain = std::max<int64_t>(1, 4096 / length_);
    arguments.queue.pool->for_each(rows_, grain, [&](int64_t row, int worker) {
      float* buffer = static_cast<float*>(arguments.workspace) + worker * buffer_floats();
      functions_.normalize(type_, cpu::advance(arguments.inputs[input_], row * length_, type_),
                           cpu::advance(arguments.outputs[0], row * length_, type_), length_, scale,
                           bias, epsilon_, rms_, steps_, buffer);
    });
    return {};
  }
  size_t workspace_bytes() const override {
    return static_cast<size_t>(threads_ * buffer_floats()) * sizeof(float);
  }
  bool uses_input(int index) const override {
    return index != scale_.input && index != bias_.input;
  }

 private:
  int64_t buffer_floats() const {
    return cpu::worker_stride(length_ * sizeof(float), threads_) / sizeof(float);
  }

  int input_;
  cpu::ElementType type_;
  int64_t rows_ = 0, length_ = 1;
  Factors scale_, bias_;
  float epsilon_;
  bool rms_;
  cpu::UnarySteps steps_;
  int threads_;
  const cpu::RowFunctions& functions_;
};

Result<AnchoredRegion> describe(const Problem& problem) {
  TENON_ASSIGN(AnchoredRegion region, cpu::normalization_region(problem, /*over_rows=*/true));
  const Operand& x = problem.input(region.anchor_inputs[0]);
  if (!is_plain(x) || !is_plain(problem.output())) return unsupported("not dense");
  int64_t length = 1, axis = region.anchor.as<Normalization>()->axis;
  for (int64_t i = axis < 0 ? axis + x.rank() : axis; i < x.rank(); ++i) length *= x.extents[i];
  TENON_TRY(check_factors(problem, region, length));
  return region;
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<RowNormalization>)

}  // namespace normalization_rows

namespace normalization_nhwc {
namespace {

/// Two passes over each image: sums per channel (in pieces, one a task, added up in order), then
/// scaling.
class ImageNormalization final : public Kernel {
 public:
  ImageNormalization(const Problem& problem, const AnchoredRegion& region)
      : input_(region.anchor_inputs[0]),
        type_(*cpu::element_type(problem.output().type)),
        scale_(Factors::of(problem, region, 1)),
        bias_(Factors::of(problem, region, 2)),
        epsilon_(region.anchor.as<Normalization>()->epsilon),
        steps_(*cpu::unary_steps(region)),
        functions_(cpu::row_functions(cpu::isa_up_to(problem.isa_limit))) {
    const Operand& x = problem.input(input_);
    batch_ = x.extents[0];
    channels_ = x.extents[1];
    const auto& op = *region.anchor.as<Normalization>();
    groups_ = op.norm == NormKind::kInstance ? channels_ : op.groups;
    for (int i = 2; i < x.rank(); ++i) pixels_ *= x.extents[i];
    x_stride_ = *pixel_stride(x);
    y_stride_ = *pixel_stride(problem.output());
    pieces_ = std::clamp<int64_t>(pixels_ * channels_ / 16384, 1, kMaxPieces);
  }

  Status run(const LaunchArguments& arguments) const override {
    auto* sums = static_cast<float*>(arguments.workspace);
    float* factors = sums + batch_ * pieces_ * 2 * channels_;
    cpu::ThreadPool& pool = *arguments.queue.pool;
    pool.for_each(batch_ * pieces_, 1, [&](int64_t task) {
      float* to = sums + task * 2 * channels_;
      std::fill_n(to, 2 * channels_, 0.0f);
      const int64_t first = first_pixel(task % pieces_), last = first_pixel(task % pieces_ + 1);
      const int64_t at = (task / pieces_ * pixels_ + first) * x_stride_;
      functions_.moments(type_, cpu::advance(arguments.inputs[input_], at, type_), last - first,
                         x_stride_, channels_, to, to + channels_);
    });
    for (int64_t n = 0; n < batch_; ++n)
      make_factors(sums + n * pieces_ * 2 * channels_, factors + n * 2 * channels_);
    pool.for_each(batch_ * pieces_, 1, [&](int64_t task) {
      const int64_t n = task / pieces_, first = first_pixel(task % pieces_),
                    last = first_pixel(task % pieces_ + 1);
      const float* factor = factors + n * 2 * channels_;
      functions_.scale_pixels(
          type_, cpu::advance(arguments.inputs[input_], (n * pixels_ + first) * x_stride_, type_),
          cpu::advance(arguments.outputs[0], (n * pixels_ + first) * y_stride_, type_),
          last - first, x_stride_, y_stride_, channels_, factor, factor + channels_, steps_);
    });
    return {};
  }
  size_t workspace_bytes() const override {
    return static_cast<size_t>(batch_ * (pieces_ + 1) * 2 * channels_) * sizeof(float);
  }
  bool uses_input(int index) const override {
    return index != scale_.input && index != bias_.input;
  }

 private:
  static constexpr int64_t kMaxPieces = 32;
  int64_t first_pixel(int64_t piece) const { return piece * pixels_ / pieces_; }

  /// One factor and shift a channel from the sums of all pieces.
  void make_factors(const float* sums, float* factors) const {
    const int64_t each = channels_ / groups_;
    for (int64_t g = 0; g < groups_; ++g) {
      double sum = 0, square = 0;
      for (int64_t piece = 0; piece < pieces_; ++piece)
        for (int64_t c = g * each; c < (g + 1) * each; ++c) {
          sum += sums[piece * 2 * channels_ + c];
          square += sums[piece * 2 * channels_ + channels_ + c];
        }
      const double count = static_cast<double>(each * pixels_), mean = sum / count;
      const double inverse = 1 / std::sqrt(std::max(0.0, square / count - mean * mean) + epsilon_);
      for (int64_t c = g * each; c < (g + 1) * each; ++c) {
        const double scale = scale_.copy.empty() ? 1 : scale_.copy[c],
                     bias = bias_.copy.empty() ? 0 : bias_.copy[c];
        factors[c] = static_cast<float>(inverse * scale);
        factors[channels_ + c] = static_cast<float>(bias - mean * inverse * scale);
      }
    }
  }

  int input_;
  cpu::ElementType type_;
  int64_t batch_ = 1, channels_ = 1, groups_ = 1, pixels_ = 1, x_stride_ = 1, y_stride_ = 1,
          pieces_ = 1;
  Factors scale_, bias_;
  double epsilon_;
  cpu::UnarySteps steps_;
  const cpu::RowFunctions& functions_;
};

Result<AnchoredRegion> describe(const Problem& problem) {
  TENON_ASSIGN(AnchoredRegion region, cpu::normalization_region(problem, /*over_rows=*/false));
  const Operand& x = problem.input(region.anchor_inputs[0]);
  if (!pixel_stride(x) || !pixel_stride(problem.output())) return unsupported("not channels-last");
  TENON_TRY(check_factors(problem, region, x.extents[1]));
  return region;
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<ImageNormalization>)

}  // namespace normalization_nhwc

}  // namespace tenon::tactics
