#include "kernels/sampling/roi_align.h"

#include <algorithm>
#include <cmath>

#include "base/arithmetic.h"
#include "device/cpu/worker_memory.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kMostSamples = 4096;

bool is_channels_last(const RoiAlignProblem& p) {
  return p.x_channel == 1;
}

/// Scratch memory: the image with its channels last, then each worker's own.
struct Layout {
  int64_t image = 0, taps = 0, counts = 0, bins = 0;  ///< Elements; taps and counts of one worker.
  int threads;

  explicit Layout(const RoiAlignProblem& p)
      : image(is_channels_last(p) ? 0 : p.batch * p.height * p.width * p.channels),
        taps(p.bin_rows * p.height + p.bin_columns * p.width),
        counts(p.bin_rows + p.bin_columns),
        bins(p.bin_rows * p.bin_columns * p.channels),
        threads(p.threads) {}
  size_t worker_bytes() const {
    const auto bytes = static_cast<size_t>(taps) * sizeof(RoiTap) +
                       static_cast<size_t>(counts) * sizeof(int64_t) +
                       static_cast<size_t>(bins) * sizeof(float);
    return worker_stride(bytes, threads);
  }
  size_t image_bytes() const { return round_up(static_cast<size_t>(image) * sizeof(float), 64); }
};

/// One axis of a region: where it starts, and the size and samples of its bins.
struct Axis {
  double start = 0, bin = 0;
  int64_t samples = 0, extent = 0, step = 0;

  Axis(const RoiAlignProblem& p, double from, double to, int64_t bins, int64_t limit,
       int64_t stride)
      : extent(limit), step(stride) {
    const double shift = p.half_pixel ? 0.5 : 0.0;
    start = from * p.spatial_scale - shift;
    double length = to * p.spatial_scale - shift - start;
    if (!p.half_pixel) length = std::max(length, 1.0);
    bin = length / static_cast<double>(bins);
    const double wanted =
        p.sampling_ratio > 0 ? static_cast<double>(p.sampling_ratio) : std::ceil(bin);
    samples = static_cast<int64_t>(
        std::clamp(wanted == wanted ? wanted : 0.0, 0.0, static_cast<double>(kMostSamples)));
  }

  /// The taps of one bin: at most one a place, of those that any sample reads.
  int64_t find_taps(int64_t index, RoiTap* taps) const {
    int64_t count = 0;
    for (int64_t i = 0; i < samples; ++i) {
      double at = start + static_cast<double>(index) * bin +
                  (static_cast<double>(i) + 0.5) * bin / static_cast<double>(samples);
      if (!(at >= -1 && at <= static_cast<double>(extent))) continue;
      at = std::max(at, 0.0);
      const int64_t low = std::min(static_cast<int64_t>(at), extent - 1);
      const double part = low == extent - 1 ? 0.0 : at - static_cast<double>(low);
      add(taps, count, low, 1 - part);
      if (part > 0) add(taps, count, low + 1, part);
    }
    return count;
  }

 private:
  /// Samples go up, or down where a region ends before it starts: a place met before is one of the
  /// last three.
  void add(RoiTap* taps, int64_t& count, int64_t place, double weight) const {
    const auto part = static_cast<float>(weight / static_cast<double>(samples));
    for (int64_t i = std::max<int64_t>(0, count - 3); i < count; ++i)
      if (taps[i].offset == place * step) {
        taps[i].weight += part;
        return;
      }
    taps[count++] = {place * step, part};
  }
};

void to_channels_last(const RoiAlignProblem& p, const float* x, float* to, ThreadPool& pool) {
  pool.for_each(p.batch * p.height, 1, [&](int64_t line) {
    const float* from = x + line / p.height * p.x_image + line % p.height * p.x_row;
    float* row = to + line * p.width * p.channels;
    for (int64_t w = 0; w < p.width; ++w)
      for (int64_t c = 0; c < p.channels; ++c)
        row[w * p.channels + c] = from[w * p.x_column + c * p.x_channel];
  });
}

/// One thread's walk over regions.
struct Worker {
  const RoiAlignProblem& p;
  const Layout& layout;
  RoiBinFunction sum_bin;
  char* scratch;

  void region(const float* image, int64_t row_step, int64_t column_step, const float* box,
              float* y) const {
    auto* taps = reinterpret_cast<RoiTap*>(scratch);
    auto* counts = reinterpret_cast<int64_t*>(taps + layout.taps);
    auto* bins = reinterpret_cast<float*>(counts + layout.counts);
    const Axis rows(p, box[1], box[3], p.bin_rows, p.height, row_step);
    const Axis columns(p, box[0], box[2], p.bin_columns, p.width, column_step);
    RoiTap* column_taps = taps + p.bin_rows * p.height;
    for (int64_t i = 0; i < p.bin_rows; ++i) counts[i] = rows.find_taps(i, taps + i * p.height);
    for (int64_t j = 0; j < p.bin_columns; ++j)
      counts[p.bin_rows + j] = columns.find_taps(j, column_taps + j * p.width);
    for (int64_t i = 0; i < p.bin_rows; ++i)
      for (int64_t j = 0; j < p.bin_columns; ++j) {
        const RoiBin bin{taps + i * p.height, column_taps + j * p.width, counts[i],
                         counts[p.bin_rows + j]};
        sum_bin(bin, image, p.channels, bins + (i * p.bin_columns + j) * p.channels);
      }
    store(bins, y);
  }

  void store(const float* bins, float* y) const {
    for (int64_t c = 0; c < p.channels; ++c)
      for (int64_t i = 0; i < p.bin_rows; ++i)
        for (int64_t j = 0; j < p.bin_columns; ++j)
          y[c * p.y_channel + i * p.y_row + j * p.y_column] =
              bins[(i * p.bin_columns + j) * p.channels + c];
  }
};

}  // namespace

size_t roi_align_scratch_bytes(const RoiAlignProblem& problem) {
  const Layout layout(problem);
  return layout.image_bytes() + layout.worker_bytes() * static_cast<size_t>(problem.threads);
}

Status roi_align(const RoiAlignProblem& problem, const float* x, const float* boxes,
                 const int64_t* images, float* y, ThreadPool& pool, void* scratch) {
  const RoiAlignProblem& p = problem;
  for (int64_t n = 0; images != nullptr && n < p.regions; ++n)
    if (images[n] < 0 || images[n] >= p.batch)
      return user_error("batch index {} is outside [0, {})", images[n], p.batch);
  const Layout layout(p);
  int64_t image_step = p.x_image, row_step = p.x_row, column_step = p.x_column;
  if (!is_channels_last(p)) {
    to_channels_last(p, x, static_cast<float*>(scratch), pool);
    x = static_cast<const float*>(scratch);
    column_step = p.channels, row_step = p.width * column_step, image_step = p.height * row_step;
  }
  char* own = static_cast<char*>(scratch) + layout.image_bytes();
  pool.for_each(p.regions, 1, [&](int64_t n, int worker) {
    const Worker walk{p, layout, roi_bin_function(p.isa),
                      own + static_cast<size_t>(worker) * layout.worker_bytes()};
    walk.region(x + (images == nullptr ? 0 : images[n]) * image_step, row_step, column_step,
                boxes + 4 * n, y + n * p.y_region);
  });
  return {};
}

}  // namespace tenon::cpu
