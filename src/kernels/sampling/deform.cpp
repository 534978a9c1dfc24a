#include "kernels/sampling/deform.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/worker_memory.h"
#include "kernels/gemm/pack.h"

namespace tenon::cpu {
namespace {

/// Dense images: channels first to channels last, or back.
StridedCopy move_channels(int64_t batch, int64_t channels, const ImageExtents& image, bool last) {
  const int64_t pixels = image[0] * image[1];
  const std::vector<int64_t> first_strides{channels * pixels, pixels, 1};
  const std::vector<int64_t> last_strides{channels * pixels, 1, channels};
  return StridedCopy::make({batch, channels, pixels}, last ? first_strides : last_strides,
                           last ? last_strides : first_strides, sizeof(float));
}

}  // namespace

Result<DeformConvolution> DeformConvolution::prepare(const DeformProblem& problem,
                                                     const void* weights) {
  DeformConvolution conv;
  conv.problem_ = problem;
  DeformProblem& p = conv.problem_;
  const Isa isa = capped_isa(p.isa);
  const Microkernels& kernels = microkernels(ElementType::f32, isa);
  conv.mix_ = deform_point_function(isa);
  std::vector<EpilogueStep> steps;
  if (p.has_bias)
    steps.push_back({.function = PointwiseFunction::k_add, .operand = OperandKind::per_column});
  conv.plan_ = plan_product(kernels, p.batch * conv.positions(), conv.group_filters(),
                            conv.taps() * conv.group_channels(), ElementType::f32, steps, p.groups,
                            p.threads, true);
  conv.packed_each_ = align_up(packed_bytes(kernels, conv.plan_.k, conv.plan_.n));
  TENON_ASSIGN(conv.packed_, PackedWeights::make(conv.packed_each_ * p.groups, p.packed, weights));
  if (!conv.packed_.filled()) conv.pack(static_cast<const float*>(weights));
  conv.from_x_ = move_channels(p.batch, p.channels, p.input, true);
  conv.to_y_ = move_channels(p.batch, p.filters, p.output, false);
  return conv;
}

/// Rows are taps, the channels of each side by side.
void DeformConvolution::pack(const float* weights) {
  const int64_t channels = group_channels(), filters = group_filters(), k = plan_.k;
  std::vector<float> dense(static_cast<size_t>(k * filters));
  for (int64_t group = 0; group < problem_.groups; ++group) {
    for (int64_t f = 0; f < filters; ++f)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t tap = 0; tap < taps(); ++tap)
          dense[(tap * channels + c) * filters + f] = *weights++;
    const MatrixView matrix{dense.data(), ElementType::f32, filters, 1};
    pack_panels(*plan_.kernels, matrix, k, filters, 0, ceil_div(filters, plan_.kernels->panel),
                static_cast<char*>(packed_.target()) + group * packed_each_);
  }
}

size_t DeformConvolution::x_bytes() const {
  const DeformProblem& p = problem_;
  if (p.x_pixel != 0) return 0;
  return align_up(p.batch * p.channels * p.input[0] * p.input[1] * sizeof(float));
}

size_t DeformConvolution::y_bytes() const {
  const DeformProblem& p = problem_;
  return p.y_pixel != 0 ? 0 : align_up(p.batch * p.filters * positions() * sizeof(float));
}

size_t DeformConvolution::worker_bytes() const {
  return worker_stride(plan_.worker_scratch_bytes(), problem_.threads);
}

size_t DeformConvolution::scratch_bytes() const {
  return x_bytes() + y_bytes() + align_up(plan_.staged_bytes()) + worker_bytes() * problem_.threads;
}

void DeformConvolution::run(const DeformArguments& arguments, ThreadPool& pool,
                            void* scratch) const {
  char* memory = static_cast<char*>(scratch);
  DeformArguments own = arguments;
  if (problem_.x_pixel == 0) {
    from_x_.run(arguments.x, memory, pool);
    own.x = reinterpret_cast<const float*>(memory);
  }
  memory += x_bytes();
  if (problem_.y_pixel == 0) own.y = reinterpret_cast<float*>(memory);
  multiply(own, pool, memory + y_bytes());
  if (problem_.y_pixel == 0) to_y_.run(own.y, arguments.y, pool);
}

void DeformConvolution::multiply(const DeformArguments& arguments, ThreadPool& pool,
                                 char* scratch) const {
  const DeformProblem& p = problem_;
  const int64_t each = plan_.row_tasks() * plan_.column_tasks();
  const auto source_of = [&](int64_t group) {
    return
        [&, group](int64_t row, int64_t rows, int64_t k, int64_t count, void* to, int64_t stride) {
          sample(arguments, group, row, rows, k, count, static_cast<float*>(to), stride);
        };
  };
  char* workers = scratch + align_up(plan_.staged_bytes());
  const auto first_group = source_of(0);
  if (plan_.staged) stage_rows(plan_, RowSource(first_group), pool, scratch);
  pool.for_each(p.groups * each, 1, [&](int64_t task, int worker) {
    const int64_t group = task / each;
    const auto [row_task, column] = plan_.place_of(task % each);
    const int64_t row = row_task * plan_.row_block, filter = group * group_filters();
    const auto gather = source_of(group);
    const RowSource source(gather);
    const EpilogueOperand bias{arguments.bias + (p.has_bias ? filter : 0), 0};
    const ProductOperands product{.a = plan_.staged ? scratch : nullptr,
                                  .a_stride = plan_.staged ? plan_.staged_stride() : 0,
                                  .source = plan_.staged ? nullptr : &source,
                                  .b = packed_.at(group * packed_each_),
                                  .output = arguments.y + filter,
                                  .output_stride = p.y_pixel == 0 ? p.filters : p.y_pixel,
                                  .operands = &bias,
                                  .ahead = {}};
    run_product(plan_, product, row, std::min(plan_.row_block, plan_.m - row), column,
                std::min(plan_.column_block, plan_.n - column), workers + worker * worker_bytes());
  });
}

DeformPoint DeformConvolution::point(const DeformArguments& arguments, const Pixel& pixel,
                                     int64_t tap, int64_t offset_group) const {
  const DeformProblem& p = problem_;
  const int64_t place = (pixel.image * p.offset_groups + offset_group) * taps() + tap;
  const int64_t position = pixel.row * p.output[1] + pixel.column;
  const auto base = [&](int axis, int64_t at, int64_t step) {
    return static_cast<double>(at * p.stride[axis] - p.pad[axis] + step * p.dilation[axis]);
  };
  const float* offset = arguments.offsets + 2 * place * positions() + position;
  const double y = base(0, pixel.row, tap / p.kernel[1]) + offset[0];
  const double x = base(1, pixel.column, tap % p.kernel[1]) + offset[positions()];
  const float* image = arguments.x + pixel.image * p.input[0] * p.input[1] *
                                         (p.x_pixel == 0 ? p.channels : p.x_pixel);
  DeformPoint result;
  std::fill_n(result.pixels, 4, image);
  std::fill_n(result.parts, 4, 0.0f);
  // Also a place that is no number.
  if (!(y > -1 && x > -1 && y < static_cast<double>(p.input[0]) &&
        x < static_cast<double>(p.input[1])))
    return result;
  const double top = std::floor(y), left = std::floor(x), down = y - top, right = x - left;
  const double mask = p.has_mask ? arguments.mask[place * positions() + position] : 1.0;
  for (int i = 0; i < 4; ++i) {
    const int64_t row = static_cast<int64_t>(top) + i / 2;
    const int64_t column = static_cast<int64_t>(left) + i % 2;
    if (row < 0 || row >= p.input[0] || column < 0 || column >= p.input[1]) continue;
    result.pixels[i] =
        image + (row * p.input[1] + column) * (p.x_pixel == 0 ? p.channels : p.x_pixel);
    result.parts[i] = static_cast<float>((i / 2 == 0 ? 1 - down : down) *
                                         (i % 2 == 0 ? 1 - right : right) * mask);
  }
  return result;
}

void DeformConvolution::sample(const DeformArguments& arguments, int64_t group, int64_t row,
                               int64_t rows, int64_t k, int64_t count, float* to,
                               int64_t to_stride) const {
  const DeformProblem& p = problem_;
  const int64_t channels = group_channels(), shared = p.channels / p.offset_groups;
  for (int64_t r = row; r < row + rows; ++r, to += to_stride) {
    const Pixel pixel{r / positions(), r % positions() / p.output[1], r % p.output[1]};
    for (int64_t at = k, next; at < k + count; at = next) {
      const int64_t tap = at / channels, channel = group * channels + at % channels;
      const int64_t offset_group = channel / shared;
      next =
          std::min({k + count, (tap + 1) * channels, at + (offset_group + 1) * shared - channel});
      DeformPoint mean = point(arguments, pixel, tap, offset_group);
      for (const float*& from : mean.pixels) from += channel;
      mix_(mean, next - at, to + at - k);
    }
  }
}

}  // namespace tenon::cpu
