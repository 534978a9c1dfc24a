#include "kernels/conv/expanded.h"

#include <algorithm>
#include <limits>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/caches.h"
#include "device/cpu/worker_memory.h"
#include "kernels/conv/plain_steps.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/product.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kBandsPerThread = 4;
// Expanded lines at a time, beside weights and input in a first-level cache.
constexpr int64_t kRingBytes = int64_t{32} << 10;
// Fewer bytes than a line a step of k, so that memory keeps up.
constexpr int64_t kFetchStep = 16;
constexpr int64_t kLine = 64, kLineFloats = 16;
// A line of the cache that another core has takes as long as so many products of vectors, two of
// which are done a cycle.
constexpr int64_t kFetching = kTransferCycles / kTransfersAtOnce * 2;
// Tiles that fetch the next panel of weights, a line a step of k each.
constexpr int64_t kPanelLines = 2;

/// Lines [first, end) that are not of the thread's own part of `all`.
int64_t lines_of_others(int64_t first, int64_t end, int64_t all, int64_t thread, int64_t threads) {
  const int64_t own_first = std::max(first, all * thread / threads);
  const int64_t own_end = std::min(end, all * (thread + 1) / threads);
  return end - first - std::max<int64_t>(0, own_end - own_first);
}

}  // namespace

Status ExpandedDepthwise::check(const ConvProblem& e, const ConvProblem& d) {
  const Spatial ones = {1, 1, 1};
  if (!e.is_float() || !d.is_float()) return unsupported("a type other than f32");
  if (e.kernel != ones || e.stride != ones || e.pad != Spatial{} || e.groups != 1 ||
      e.input != e.output || e.channels_first_input)
    return unsupported("the first convolution is not 1x1 over a channels-last image");
  if (!DepthwiseRing::fits(d))
    return unsupported("the second convolution is not depthwise over images");
  if (!has_plain_steps(e) || !has_plain_steps(d))
    return unsupported("an epilogue of more than a bias and functions of one operand");
  if (!can_read_directly(microkernels(ElementType::f32, capped_isa(e.isa)), e.input_channels,
                         e.input_pixel_stride))
    return unsupported("{} channels between pixels share cache sets", e.input_pixel_stride);
  return {};
}

Result<ExpandedDepthwise> ExpandedDepthwise::prepare(const ConvProblem& expand,
                                                     const ConvProblem& depthwise,
                                                     const void* expand_weights,
                                                     const void* depthwise_weights) {
  TENON_TRY(check(expand, depthwise));
  ExpandedDepthwise both;
  both.expand_ = expand;
  const Isa isa = capped_isa(expand.isa);
  both.kernels_ = &microkernels(ElementType::f32, isa);
  both.ring_ = DepthwiseRing::of(depthwise, isa, both.kernels_->panel);
  both.expand_registers_ = register_epilogue(expand.steps, expand.output_type);
  both.expand_bytes_ =
      align_up(packed_bytes(*both.kernels_, expand.input_channels, expand.output_channels));
  TENON_ASSIGN(both.packed_,
               PackedWeights::make(both.expand_bytes_ + packed_depthwise_bytes(depthwise),
                                   expand.packed, expand_weights));
  if (!both.packed_.filled()) both.pack(expand_weights, depthwise_weights);
  DepthwiseRing& ring = both.ring_;
  ring.lines = std::clamp(kRingBytes / (ring.line_floats() * int64_t{sizeof(float)}), ring.window(),
                          std::max(ring.window(), depthwise.input[1]));
  both.choose_bands();
  return both;
}

void ExpandedDepthwise::pack(const void* expand_weights, const void* depthwise_weights) {
  const int64_t k = expand_.input_channels, n = expand_.output_channels;
  auto* to = static_cast<char*>(packed_.target());
  pack_panels(*kernels_, {expand_weights, ElementType::f32, 1, k}, k, n, 0, chunks(), to);
  pack_depthwise(ring_.problem, depthwise_weights, reinterpret_cast<float*>(to + expand_bytes_));
}

int64_t ExpandedDepthwise::chunks() const {
  return ceil_div(expand_.output_channels, kernels_->panel);
}

/// The time of a thread, which begins with an equal part of the tasks. Images amid its part are as
/// much work each: only those at its ends are looked at one by one, however many there are.
int64_t ExpandedDepthwise::share_of(int64_t thread) const {
  const int64_t threads = expand_.threads, an_image = bands_ * chunks();
  const int64_t begin = tasks() * thread / threads, end = tasks() * (thread + 1) / threads;
  const int64_t amid = std::min(end, round_up(begin, an_image) + an_image);
  const int64_t images = std::max<int64_t>(0, end / an_image - 1 - amid / an_image);
  int64_t time = time_of(begin, amid, thread) + time_of(amid + images * an_image, end, thread);
  if (images > 0) time += images * time_of(amid, amid + an_image, thread);
  return time;
}

/// Of tasks in a row, in products of vectors. Other steps give each thread as many lines of an
/// image, in their order.
int64_t ExpandedDepthwise::time_of(int64_t first, int64_t end, int64_t thread) const {
  const ConvProblem& d = ring_.problem;
  const Spatial &in = d.input, &out = d.output;
  const auto foreign = [&](int64_t image, int64_t line, int64_t last, int64_t height) {
    return lines_of_others(image * height + line, image * height + last, expand_.batch * height,
                           thread, expand_.threads);
  };
  const ExpandedArguments none;
  int64_t products = 0, fetched = 0, next;
  for (int64_t i = first; i < end; i = next) {
    const Task t = task(none, i, nullptr);
    next = std::min(end, (i / chunks() + 1) * chunks());  // All panels of these lines.
    const int64_t panel = kernels_->panel, lines = t.input_end - t.input_first;
    const int64_t channels = std::min((next - i) * panel, d.groups - t.channel);
    const auto parts = [&](int64_t width) {
      return channels / panel * ceil_div(panel, width) + ceil_div(channels % panel, width);
    };
    products += lines * in[2] * expand_.input_channels * parts(panel / 2);
    fetched += foreign(t.image, t.input_first, t.input_end, in[1]) * in[2] *
               ceil_div(expand_.input_channels, kLineFloats);
    fetched += foreign(t.image, t.first, t.end, out[1]) * out[2] * parts(kLineFloats);
  }
  return products + fetched * kFetching;
}

/// Lines at the edges of bands are expanded twice. Where pixels do not begin with lines of the
/// cache, each thread has whole bands: channels of one would share lines with others'.
void ExpandedDepthwise::choose_bands() {
  const ConvProblem& d = ring_.problem;
  const int64_t pixel_bytes = d.output_pixel_stride * int64_t{sizeof(float)};
  const int64_t most = std::min<int64_t>(d.output[1], expand_.threads * kBandsPerThread);
  int64_t best = 1, least = std::numeric_limits<int64_t>::max();
  for (bands_ = 1; bands_ <= most; ++bands_) {
    if (pixel_bytes % kLine != 0 && expand_.batch * bands_ % expand_.threads != 0) continue;
    int64_t longest = 0;
    for (int64_t i = 0; i < expand_.threads; ++i) longest = std::max(longest, share_of(i));
    if (longest < least) least = longest, best = bands_;
  }
  bands_ = best;
}

size_t ExpandedDepthwise::worker_bytes() const {
  return worker_stride(ring_.bytes(), expand_.threads);
}

size_t ExpandedDepthwise::fetch_capacity() const {
  const ConvProblem& d = ring_.problem;
  const int64_t lines = std::min(d.input[1], d.output[1] / bands_ * d.stride[1]);
  const int64_t tiles = lines * ceil_div(d.input[2], kernels_->max_rows) - kPanelLines;
  return tasks() * std::max<int64_t>(0, tiles) * expand_.input_channels * kFetchStep;
}

void ExpandedDepthwise::run(const ExpandedArguments& arguments, ThreadPool& pool,
                            void* scratch) const {
  pool.for_each(tasks(), 1, [&](int64_t i, int worker) {
    char* own = static_cast<char*>(scratch) + worker * worker_bytes();
    run_task(task(arguments, i, reinterpret_cast<float*>(own)));
  });
}

ExpandedDepthwise::Task ExpandedDepthwise::task(const ExpandedArguments& arguments, int64_t index,
                                                float* ring) const {
  const ConvProblem& d = ring_.problem;
  const int64_t channel = index % chunks() * kernels_->panel;
  const int64_t band = index / chunks() % bands_;
  const int64_t first = d.output[1] * band / bands_, end = d.output[1] * (band + 1) / bands_;
  const int64_t top = ring_.top(first), bottom = ring_.top(end - 1) + ring_.window();
  return {.arguments = arguments,
          .image = index / chunks() / bands_,
          .first = first,
          .end = end,
          .input_first = std::clamp<int64_t>(top, 0, d.input[1]),
          .input_end = std::clamp<int64_t>(bottom, 0, d.input[1]),
          .channel = channel,
          .channels = std::min<int64_t>(kernels_->panel, d.groups - channel),
          .ahead = part_of(arguments.ahead, index, tasks()),
          .ring = ring};
}

void ExpandedDepthwise::run_task(const Task& task) const {
  const float* bias = task.arguments.depthwise_bias;
  ring_.pad(task.ring);
  DepthwiseLine line = ring_.filter_over(
      task.ring, reinterpret_cast<const float*>(packed_.at(expand_bytes_)) + task.channel,
      bias == nullptr ? nullptr : bias + task.channel, task.channels);
  int64_t expanded = task.input_first;
  for (line.height = task.first; line.height < task.end; ++line.height) {
    const int64_t top = ring_.top(line.height);
    if (expanded < std::min(top + ring_.window(), task.input_end))
      for (; expanded < std::min(top + ring_.lines, task.input_end); ++expanded)
        expand_line(task, expanded);
    ring_.compute(line, task.image, task.arguments.output + task.channel);
  }
}

void ExpandedDepthwise::expand_line(const Task& task, int64_t line) const {
  const ConvProblem& d = ring_.problem;
  const int64_t width = d.input[2], panel = kernels_->panel;
  const int64_t tiles = ceil_div(width, kernels_->max_rows);
  const int64_t first = (task.image * d.input[1] + line) * width;
  const int64_t panel_bytes = panel_stride(*kernels_, expand_.input_channels) * 4;
  const int64_t before = (line - task.input_first) * tiles;
  const int64_t fetching = (task.input_end - task.input_first) * tiles - kPanelLines;
  float* to = ring_.at(task.ring, line);
  Tile tile;
  tile.a_stride = expand_.input_pixel_stride;
  tile.b = packed_.at(task.channel / panel * panel_bytes);
  tile.k = expand_.input_channels;
  tile.columns = static_cast<int>(task.channels);
  if (task.arguments.expand_bias != nullptr)
    tile.initial = task.arguments.expand_bias + task.channel;
  tile.activation = expand_registers_.activation;
  tile.low = expand_registers_.low;
  tile.high = expand_registers_.high;
  tile.output_stride = panel;
  for (int64_t i = 0, x = 0, next; i < tiles; ++i, x = next) {
    const int64_t index = before + i - kPanelLines;
    next = (i + 1) * width / tiles;
    tile.rows = static_cast<int>(next - x);
    tile.a = task.arguments.input + (first + x) * tile.a_stride;
    tile.output = to + x * panel;
    if (index < 0) {  // The next panel of weights first, then the prefetched one.
      tile.prefetch_step = kLine;
      tile.prefetch =
          static_cast<const char*>(tile.b) + panel_bytes + (before + i) * tile.k * kLine;
    } else {
      const auto ahead = part_of(task.ahead, index, fetching);
      tile.prefetch_step = static_cast<int64_t>(ahead.size()) / tile.k;
      tile.prefetch = ahead.empty() ? tile.b : static_cast<const void*>(ahead.data());
    }
    kernels_->run(tile);
  }
  finish_line(ring_.finish, expand_, expand_registers_.rest, to, width, panel, task.channels);
}

}  // namespace tenon::cpu
