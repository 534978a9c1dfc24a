#include "kernels/quantized/byte_depthwise.h"

#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"
#include "device/cpu/worker_memory.h"

namespace tenon::cpu {
namespace {

/// Joined columns stay in the first-level cache.
constexpr int64_t kColumnBytes = 16384;
constexpr int64_t kGroupBytes = kBytePanel * kByteGroup;

}  // namespace

Result<ByteDepthwise> ByteDepthwise::prepare(ByteProblem problem, const ByteWeights* weights) {
  ByteDepthwise conv;
  conv.problem_ = std::move(problem);
  conv.problem_.is_bounded = conv.problem_.finds_bounds();
  const ByteProblem& p = conv.problem_;
  if (p.steps.size() > kMaxByteSteps) return unsupported("a chain of {} steps", p.steps.size());
  conv.kernel_ = &byte_line_kernel(capped_isa(p.isa));
  conv.finish_ = byte_finish_function(capped_isa(p.isa));
  conv.groups_ = ceil_div(p.copies() * conv.lines(), kByteGroup);
  conv.pixel_stride_ = p.channels_first ? p.input_channels : p.input_pixel_stride;
  conv.choose_run();
  const size_t bytes = conv.panels() * (conv.panel_bytes() + kBytePanel * sizeof(int32_t));
  TENON_ASSIGN(conv.packed_, PackedWeights::make(bytes, p.packed, weights));
  if (!conv.packed_.filled()) conv.pack(*weights);
  conv.find_starts();
  return conv;
}

int64_t ByteDepthwise::panel_bytes() const {
  return problem_.kernel[2] * groups_ * kGroupBytes;
}
/// Columns under the windows of so many neighbours.
int64_t ByteDepthwise::columns_of(int64_t pixels) const {
  return (pixels - 1) * problem_.stride[2] + (problem_.kernel[2] - 1) * problem_.dilation[2] + 1;
}

void ByteDepthwise::choose_run() {
  const int64_t wanted = kColumnBytes / (groups_ * kGroupBytes) - columns_of(1);
  const int64_t most = std::max<int64_t>(8, wanted / problem_.stride[2]);
  const int64_t pieces = ceil_div(problem_.output[2], most);
  run_pixels_ = ceil_div(problem_.output[2], pieces);
}

void ByteDepthwise::pack(const ByteWeights& weights) {
  const ByteProblem& p = problem_;
  auto* to = static_cast<int8_t*>(packed_.target());
  auto* totals = reinterpret_cast<int32_t*>(to + panels() * panel_bytes());
  std::memset(to, 0, packed_.bytes().size());
  for (int64_t n = 0; n < p.output_channels; ++n) {
    int8_t* panel = to + n / kBytePanel * panel_bytes() + n % kBytePanel * kByteGroup;
    for (int64_t line = 0; line < lines(); ++line)
      for (int64_t tap = 0; tap < p.kernel[2]; ++tap) {
        const int16_t w = weights(n, line * p.kernel[2] + tap, 0);
        totals[n] += w;
        for (int64_t copy = 0; copy < p.copies(); ++copy) {
          const int64_t at = copy * lines() + line;
          panel[(tap * groups_ + at / kByteGroup) * kGroupBytes + at % kByteGroup] =
              weight_part(w, copy);
        }
      }
  }
}

void ByteDepthwise::find_starts() {
  const int64_t columns = panels() * kBytePanel;
  const char* totals = packed_.at(panels() * panel_bytes());
  const int32_t zero = problem_.zero + (problem_.is_signed ? 128 : 0);
  starts_.resize(columns);
  for (int64_t n = 0; n < columns; ++n) {
    int32_t total;
    std::memcpy(&total, totals + n * sizeof(total), sizeof(total));
    starts_[n] = -zero * total;
  }
  problem_.scales.resize(columns, 0.0f);
  problem_.biases.resize(columns, 0.0f);
}

int64_t ByteDepthwise::image_bytes() const {
  const ByteProblem& p = problem_;
  if (!p.channels_first) return 0;
  return round_up(p.batch * p.input[0] * p.input[1] * p.input[2] * p.input_channels, 64);
}
size_t ByteDepthwise::columns_bytes() const {
  return columns_of(run_pixels_) * groups_ * kGroupBytes;
}
size_t ByteDepthwise::worker_bytes() const {
  return worker_stride(columns_bytes() + run_pixels_ * kBytePanel * sizeof(int32_t),
                       problem_.threads);
}
size_t ByteDepthwise::scratch_bytes() const {
  return image_bytes() + workers_apart(problem_.threads) + worker_bytes() * problem_.threads;
}

/// Channels of pixels [begin, end), of all images, side by side.
void ByteDepthwise::copy_lines(const uint8_t* input, int64_t begin, int64_t end,
                               uint8_t* to) const {
  const ByteProblem& p = problem_;
  const int64_t plane = p.input[0] * p.input[1] * p.input[2];
  for (int64_t i = begin; i < end; ++i) {
    const uint8_t* from = input + i / plane * p.input_channels * plane + i % plane;
    for (int64_t c = 0; c < p.input_channels; ++c) to[i * p.input_channels + c] = from[c * plane];
  }
}

/// The columns under the run's windows; beside the image they are zero points.
void ByteDepthwise::join(const uint8_t* image, int64_t panel, const Run& run,
                         uint8_t* columns) const {
  const ByteProblem& p = problem_;
  const int64_t count = columns_of(run.count), step = groups_ * kGroupBytes;
  const int64_t left = run.first * p.stride[2] - p.pad[2];
  const int64_t begin = std::clamp<int64_t>(-left, 0, count),
                end = std::clamp<int64_t>(p.input[2] - left, begin, count);
  const int64_t top = run.line % p.output[1] * p.stride[1] - p.pad[1],
                front = run.line / p.output[1] % p.output[0] * p.stride[0] - p.pad[0],
                batch = run.line / p.output[1] / p.output[0];
  const uint8_t* lines_of_group[kByteGroup];
  for (int64_t g = 0; g < groups_; ++g) {
    for (int64_t i = 0; i < kByteGroup; ++i) {
      const int64_t line = (g * kByteGroup + i) % lines();
      const int64_t d = front + line / p.kernel[1] * p.dilation[0],
                    h = top + line % p.kernel[1] * p.dilation[1];
      const bool present = g * kByteGroup + i < p.copies() * lines();
      const bool inside = present && d >= 0 && d < p.input[0] && h >= 0 && h < p.input[1];
      const int64_t pixel = ((batch * p.input[0] + d) * p.input[1] + h) * p.input[2] + left + begin;
      lines_of_group[i] = inside ? image + pixel * pixel_stride_ + panel * kBytePanel : nullptr;
    }
    const uint8_t* const nothing[kByteGroup] = {};
    ByteColumns to{.lines = lines_of_group, .step = pixel_stride_};
    to.channels = static_cast<int>(std::min(kBytePanel, p.output_channels - panel * kBytePanel));
    to.flip = p.is_signed ? 0x80808080u : 0;
    to.fill = static_cast<uint8_t>(p.zero);
    to.to_step = step;
    to.to = columns + begin * step + g * kGroupBytes;
    to.count = end - begin;
    kernel_->join(to);
    to.lines = nothing;
    to.to = columns + g * kGroupBytes, to.count = begin;
    kernel_->join(to);
    to.to = columns + end * step + g * kGroupBytes, to.count = count - end;
    kernel_->join(to);
  }
}

void ByteDepthwise::run_task(const uint8_t* image, const ByteArguments& arguments, int64_t task,
                             char* scratch) const {
  const ByteProblem& p = problem_;
  const int64_t panel = task % panels(), line = task / panels();
  auto* columns = reinterpret_cast<uint8_t*>(scratch);
  auto* sums = reinterpret_cast<int32_t*>(scratch + columns_bytes());
  const int64_t column = panel * kBytePanel;
  const int64_t count = std::min(kBytePanel, p.output_channels - column);
  PanelFinish finish(p, arguments, {column, count, p.scales.data() + column}, sums);
  for (int64_t first = 0; first < p.output[2]; first += run_pixels_) {
    const int64_t count = std::min(run_pixels_, p.output[2] - first);
    join(image, panel, {line, first, count}, columns);
    kernel_->run({.columns = columns,
                  .taps = p.kernel[2],
                  .groups = groups_,
                  .stride = p.stride[2],
                  .dilation = p.dilation[2],
                  .weights = reinterpret_cast<const int8_t*>(packed_.at(panel * panel_bytes())),
                  .start = starts_.data() + panel * kBytePanel,
                  .pixels = count,
                  .sums = sums});
    finish.run(finish_, line * p.output[2] + first, count);
  }
}

void ByteDepthwise::run(const ByteArguments& arguments, ThreadPool& pool, void* scratch) const {
  const ByteProblem& p = problem_;
  if (p.pixels() == 0) return;
  const auto* image = static_cast<const uint8_t*>(arguments.input);
  char* workers = static_cast<char*>(scratch) + image_bytes() + workers_apart(p.threads);
  if (p.channels_first) {
    auto* copy = static_cast<uint8_t*>(scratch);
    const int64_t pixels = p.batch * p.input[0] * p.input[1] * p.input[2];
    pool.parallel_for(
        pixels, std::max<int64_t>(1, kColumnBytes / p.input_channels),
        [&](int64_t begin, int64_t end, int) { copy_lines(image, begin, end, copy); });
    image = copy;
  }
  const int64_t tasks = p.batch * p.output[0] * p.output[1] * panels();
  const int64_t grain = std::max<int64_t>(1, kColumnBytes / (p.output[2] * kBytePanel * 4));
  pool.for_each(tasks, grain, [&](int64_t task, int worker) {
    run_task(image, arguments, task, workers + worker * worker_bytes());
  });
}

}  // namespace tenon::cpu
