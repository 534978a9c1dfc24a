#include "kernels/quantized/byte_convolution.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/arithmetic.h"
#include "device/cpu/worker_memory.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kRowBlock = 128;
/// That are finished together: few enough for their sums to stay in the first-level cache.
constexpr int64_t kFinishedRows = 64;
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kLine = 64;
/// Gathered windows of a task stay in the caches.
constexpr int64_t kMostGathered = 64 << 10;

}  // namespace

Result<ByteConvolution> ByteConvolution::prepare(ByteProblem problem, const ByteWeights* weights) {
  ByteConvolution conv;
  conv.problem_ = std::move(problem);
  conv.problem_.is_bounded = conv.problem_.finds_bounds();
  const ByteProblem& p = conv.problem_;
  if (p.steps.size() > kMaxByteSteps) return unsupported("a chain of {} steps", p.steps.size());
  conv.kernel_ = &byte_kernel(capped_isa(p.isa), p.pixels());
  conv.finish_ = byte_finish_function(capped_isa(p.isa));
  conv.join_ = byte_planes_function(capped_isa(p.isa));
  conv.choose_parts();
  conv.choose_image();
  if (conv.kernel_->gather != nullptr) conv.spread_ = ByteSpread::of(p, conv.kernel_->row_unit);
  conv.choose_tasks();
  conv.choose_gathering();
  const size_t bytes = conv.panels() * (conv.panel_bytes() + kBytePanel * sizeof(int32_t));
  TENON_ASSIGN(conv.packed_, PackedWeights::make(bytes, p.packed, weights));
  if (!conv.packed_.filled()) conv.pack(*weights);
  conv.finish_packing();
  conv.find_flatness();
  return conv;
}

/// As many groups as a panel has columns for.
void ByteConvolution::choose_parts() {
  const ByteProblem& p = problem_;
  const int64_t columns = p.output_channels / p.groups;
  int64_t joined = std::clamp<int64_t>(kBytePanel / columns, 1, p.groups);
  while (p.groups % joined != 0) --joined;
  parts_.count = p.groups / joined;
  parts_.channels = p.input_channels / parts_.count;
  parts_.columns = columns * joined;
  parts_.panels = ceil_div(parts_.columns, kBytePanel);
  parts_.bytes = round_up(parts_.channels, kByteGroup);
}

/// Copies have zero points around them, so that a row of the window is one run, and pixels side by
/// side where a run is shorter so.
void ByteConvolution::choose_image() {
  const ByteProblem& p = problem_;
  copied_ = p.channels_first || parts_.bytes != parts_.channels;
  taps_ = p.window(), groups_ = parts_.bytes / kByteGroup;
  taps_wide_ = p.kernel[2];
  image_ = {p.input, p.pad, p.input_pixel_stride};
  if (!copied_) return;
  image_.pixel = parts_.count * parts_.bytes;
  image_.pad = {0, 0, 0};
  for (int i = 0; i < 3; ++i)
    image_.extents[i] = (p.output[i] - 1) * p.stride[i] + (p.kernel[i] - 1) * p.dilation[i] + 1;
  if (p.dilation[2] != 1 || parts_.count > 1) return;
  const int64_t together = ceil_div(p.kernel[2] * p.input_channels, kByteGroup);
  if (together < groups_ * p.kernel[2]) image_.pixel = p.input_channels;
  taps_ /= p.kernel[2], groups_ = ceil_div(p.kernel[2] * image_.pixel, kByteGroup);
  taps_wide_ = 1;
}

/// So many rows, or up to a quarter fewer, that each thread gets as many blocks.
int64_t ByteConvolution::even_block(int64_t rows, int64_t most) const {
  if (rows <= most) return most;
  const int64_t least = most - most / 4, fewest = ceil_div(rows, most);
  for (int64_t blocks = fewest; blocks <= rows / least; ++blocks) {
    const int64_t block = round_up(ceil_div(rows, blocks), int64_t{kernel_->row_unit});
    if (products() * ceil_div(rows, block) % problem_.threads == 0) return block;
  }
  return most;
}

void ByteConvolution::choose_tasks() {
  const int64_t rows = this->rows();
  const int64_t most = kRowBlock / kernel_->max_rows * kernel_->max_rows;
  row_tasks_ = std::max<int64_t>(1, ceil_div(rows, most));
  row_block_ = even_block(rows, round_up(ceil_div(rows, row_tasks_), int64_t{kernel_->row_unit}));
  row_tasks_ = ceil_div(rows, row_block_);
  const int64_t wanted = ceil_div(problem_.threads == 1 ? 1 : problem_.threads * kTasksPerThread,
                                  row_tasks_ * products());
  panel_tasks_ = std::min(wanted, panels());
  panel_block_ = ceil_div(panels(), panel_tasks_);
  panel_tasks_ = ceil_div(panels(), panel_block_);
}

/// Where parts of a window are no whole lines, kernels that want even rows would gather them for
/// each panel.
void ByteConvolution::choose_gathering() {
  const int64_t bytes = problem_.copies() * taps_ * groups_ * kByteGroup;
  const int64_t step = round_up(bytes, kLine);
  const bool is_ragged = groups_ * kByteGroup % kLine != 0;
  if (kernel_->gather == nullptr || !is_ragged || parts_.count > 1 || panel_block_ == 1) return;
  if (step * row_block_ <= kMostGathered) gathered_step_ = step;
}

void ByteConvolution::pack(const ByteWeights& weights) {
  const ByteProblem& p = problem_;
  auto* to = static_cast<int8_t*>(packed_.target());
  auto* totals = reinterpret_cast<int32_t*>(to + panels() * panel_bytes());
  std::memset(to, 0, packed_.bytes().size());
  const int64_t channels = p.input_channels / p.groups, columns = p.output_channels / p.groups;
  const int64_t run = p.window() / taps_;  // Of positions that are one tap.
  for (int64_t n = 0; n < p.output_channels; ++n) {
    const int64_t part = n / parts_.columns, within = n % parts_.columns;
    const int64_t column = part * parts_.panels * kBytePanel + within;
    const int64_t first = within / columns * channels;
    int8_t* panel = to + column / kBytePanel * panel_bytes() + column % kBytePanel * kByteGroup;
    for (int64_t position = 0; position < p.window(); ++position)
      for (int64_t c = 0; c < channels; ++c) {
        const int16_t w = weights(n, position, c);
        totals[column] += w;
        for (int64_t copy = 0; copy < p.copies(); ++copy) {
          const int64_t tap = copy * taps_ + position / run;
          const int64_t k = tap * groups_ * kByteGroup + position % run * image_.pixel + first + c;
          panel[k / kByteGroup * kBytePanel * kByteGroup + k % kByteGroup] = weight_part(w, copy);
        }
      }
  }
}

void ByteConvolution::finish_packing() {
  const ByteProblem& p = problem_;
  const int64_t columns = panels() * kBytePanel;
  const char* totals = packed_.at(panels() * panel_bytes());
  const int32_t zero = p.computed_scaling ? 1 : subtracted(p.zero);
  starts_.resize(columns);
  for (int64_t n = 0; n < columns; ++n) {
    int32_t total;
    std::memcpy(&total, totals + n * sizeof(total), sizeof(total));
    starts_[n] = -zero * total;
  }
  problem_.scales.resize(p.output_channels + kBytePanel, 0.0f);
  problem_.biases.resize(p.output_channels + kBytePanel, 0.0f);
  zeros_.assign(parts_.count * groups_ * kByteGroup, static_cast<uint8_t>(p.zero));
}

/// The zero point of rows as the kernel multiplies them.
int32_t ByteConvolution::subtracted(int32_t zero) const {
  return zero + (problem_.is_signed && !kernel_->takes_signed ? 128 : 0);
}

void ByteConvolution::find_flatness() {
  const ByteSpatial ones = {1, 1, 1}, none = {0, 0, 0};
  is_flat_ = taps_ == 1 && problem_.stride == ones && image_.pad == none &&
             image_.extents == problem_.output;
}

int64_t ByteConvolution::image_bytes() const {
  if (is_spread()) return static_cast<int64_t>(spread_.bytes(problem_));
  if (!copied_) return 0;
  const ByteSpatial& e = image_.extents;
  // The last run may end within a group.
  return round_up(problem_.batch * e[0] * e[1] * e[2] * image_.pixel + kByteGroup, int64_t{64});
}
size_t ByteConvolution::rows_bytes() const {
  const int64_t addresses = problem_.copies() * taps_ * row_block_;
  return round_up(addresses * static_cast<int64_t>(sizeof(void*)), 64);
}
size_t ByteConvolution::sums_bytes() const {
  const int64_t rows =
      round_up(std::max<int64_t>(kernel_->max_rows, kFinishedRows), int64_t{kernel_->row_unit});
  return rows * kBytePanel * sizeof(int32_t);
}
size_t ByteConvolution::worker_bytes() const {
  return worker_stride(rows_bytes() + sums_bytes() + gathered_step_ * row_block_, problem_.threads);
}
size_t ByteConvolution::scratch_bytes() const {
  return workers_at() + worker_bytes() * problem_.threads;
}
/// Apart from the images, and from memory ahead of the scratch, which others read.
size_t ByteConvolution::workers_at() const {
  return numbers_bytes() + image_bytes() + workers_apart(problem_.threads);
}
size_t ByteConvolution::numbers_bytes() const {
  if (!problem_.computed_scaling) return 0;
  return round_up(
      starts_.size() * sizeof(int32_t) + problem_.scales.size() * sizeof(float) + zeros_.size(),
      size_t{64});
}

ByteConvolution::Numbers ByteConvolution::numbers_of(const ByteArguments& arguments,
                                                     char* scratch) const {
  const ByteProblem& p = problem_;
  if (!p.computed_scaling) return {p.zero, starts_.data(), p.scales.data(), zeros_.data()};
  auto* starts = reinterpret_cast<int32_t*>(scratch);
  auto* scales = reinterpret_cast<float*>(starts + starts_.size());
  auto* zeros = reinterpret_cast<uint8_t*>(scales + p.scales.size());
  const int32_t zero = subtracted(arguments.zero);
  for (size_t i = 0; i < starts_.size(); ++i) starts[i] = starts_[i] * zero;
  for (size_t i = 0; i < p.scales.size(); ++i) scales[i] = p.scales[i] * arguments.scale;
  std::fill_n(zeros, zeros_.size(), static_cast<uint8_t>(arguments.zero));
  return {arguments.zero, starts, scales, zeros};
}

/// One line of pixels of the copied image.
void ByteConvolution::copy_line(const uint8_t* input, int32_t zero, int64_t line,
                                uint8_t* to) const {
  const ByteProblem& p = problem_;
  const ByteSpatial& e = image_.extents;
  to += line * e[2] * image_.pixel;
  std::memset(to, static_cast<uint8_t>(zero), e[2] * image_.pixel);
  const int64_t h = line % e[1] - p.pad[1], d = line / e[1] % e[0] - p.pad[0];
  if (h < 0 || h >= p.input[1] || d < 0 || d >= p.input[0]) return;
  const int64_t image = line / e[1] / e[0], plane = p.input[0] * p.input[1] * p.input[2];
  const int64_t first = (d * p.input[1] + h) * p.input[2];
  const int64_t end = std::min(p.input[2], e[2] - p.pad[2]);
  if (end <= 0) return;
  if (p.channels_first && image_.pixel <= kByteGroup)
    return join_({input + image * p.input_channels * plane + first, plane, p.input_channels},
                 image_.pixel, end, to + p.pad[2] * image_.pixel);
  if (!p.channels_first && image_.pixel == p.input_pixel_stride)
    return static_cast<void>(std::memcpy(to + p.pad[2] * image_.pixel,
                                         input + (image * plane + first) * image_.pixel,
                                         static_cast<size_t>(end * image_.pixel)));
  for (int64_t c = 0; c < p.input_channels; ++c) {
    const uint8_t* from =
        input + (p.channels_first ? (image * p.input_channels + c) * plane + first
                                  : (image * plane + first) * p.input_pixel_stride + c);
    const int64_t step = p.channels_first ? 1 : p.input_pixel_stride;
    uint8_t* pixel =
        to + p.pad[2] * image_.pixel + c / parts_.channels * parts_.bytes + c % parts_.channels;
    for (int64_t w = 0; w < end; ++w) pixel[w * image_.pixel] = from[w * step];
  }
}

/// The image that products read.
const uint8_t* ByteConvolution::copy_image(const Run& run, ThreadPool& pool, uint8_t* to) const {
  if (!copied_ && !is_spread()) return run.image;
  constexpr int64_t kBytesTogether = 16384;
  const ByteSpatial& e = image_.extents;
  const int64_t bytes = is_spread() ? spread_.width * problem_.input_channels : e[2] * image_.pixel;
  const int64_t lines = is_spread() ? spread_.pixels() / spread_.width : e[0] * e[1];
  const int32_t zero = run.numbers.zero;
  pool.for_each(problem_.batch * lines, std::max<int64_t>(1, kBytesTogether / bytes),
                [&](int64_t line) {
                  if (is_spread())
                    spread_.copy_line(problem_, run.image, static_cast<uint8_t>(zero), line, to);
                  else
                    copy_line(run.image, zero, line, to);
                });
  return to;
}

/// Addresses of the input of each tap of `count` neighbours of a line, the first of whose windows
/// begins at `origin`.
void ByteConvolution::find_line(const ByteSpatial& origin, int64_t count, const uint8_t* base,
                                const uint8_t* zeros, const uint8_t** to) const {
  const ByteProblem& p = problem_;
  const ByteSpatial& e = image_.extents;
  const int64_t stride = p.stride[2], step = stride * image_.pixel;
  for (int64_t kd = 0; kd < p.kernel[0]; ++kd)
    for (int64_t kh = 0; kh < p.kernel[1]; ++kh) {
      const int64_t d = origin[0] + kd * p.dilation[0], h = origin[1] + kh * p.dilation[1];
      const bool inside = d >= 0 && d < e[0] && h >= 0 && h < e[1];
      for (int64_t kw = 0; kw < taps_wide_; ++kw, to += row_block_) {
        const int64_t w = origin[2] + kw * p.dilation[2];
        // Those inside of the line.
        const int64_t begin = inside ? std::clamp<int64_t>(ceil_div(-w, stride), 0, count) : count;
        const int64_t end = std::clamp<int64_t>(ceil_div(e[2] - w, stride), begin, count);
        std::fill(to, to + begin, zeros);
        std::fill(to + end, to + count, zeros);
        const uint8_t* at = base + ((d * e[1] + h) * e[2] + w + begin * stride) * image_.pixel;
        for (int64_t i = begin; i < end; ++i, at += step) to[i] = at;
      }
    }
}

void ByteConvolution::find_spread_rows(const Run& run, int64_t first, int64_t count,
                                       const uint8_t** rows) const {
  const int64_t pixel = problem_.input_channels;
  const int64_t product = first / this->rows(), row = first % this->rows();
  const uint8_t* image = run.image + (product * spread_.pixels() + row) * pixel;
  for (const int64_t tap : spread_.taps) {
    const uint8_t* at = image + tap * pixel;
    for (int64_t r = 0; r < count; ++r, at += pixel) rows[r] = at;
    rows += row_block_;
  }
}

/// Addresses of the input of each tap of the output pixels.
void ByteConvolution::find_rows(const Run& run, int64_t first, int64_t count,
                                const uint8_t** rows) const {
  const ByteProblem& p = problem_;
  const ByteSpatial& e = image_.extents;
  const int64_t image_bytes = e[0] * e[1] * e[2] * image_.pixel;
  if (is_spread()) return find_spread_rows(run, first, count, rows);
  if (is_flat_) {
    for (int64_t r = 0; r < count; ++r) rows[r] = run.image + (first + r) * image_.pixel;
    return;
  }
  for (int64_t r = 0; r < count;) {
    int64_t at = first + r;
    ByteSpatial origin;
    int64_t left = 0;
    for (int i = 2; i >= 0; at /= p.output[i--]) {
      if (i == 2) left = p.output[2] - at % p.output[2];
      origin[i] = at % p.output[i] * p.stride[i] - image_.pad[i];
    }
    const int64_t together = std::min(left, count - r);
    find_line(origin, together, run.image + at * image_bytes, run.numbers.zeros, rows + r);
    r += together;
  }
}

/// The next weights come from memory while this panel's are multiplied by the first blocks of rows,
/// a line of the cache with each group.
void ByteConvolution::prefetch_next(std::span<const std::byte> next, int64_t block,
                                    ByteTile& tile) {
  const int64_t bytes = tile.taps * tile.groups * kLine, from = block * bytes;
  const bool is_there = from + bytes <= std::ssize(next);
  tile.ahead = is_there ? reinterpret_cast<const int8_t*>(next.data()) + from : tile.weights;
  tile.ahead_step = is_there ? kLine : 0;
}

/// Weights behind a panel: those of the next one, which a single block would wait for, or the
/// beginning of the next step's weights.
std::span<const std::byte> ByteConvolution::weights_behind(const Run& run, int64_t panel) const {
  if (panel + 1 == panels()) return run.arguments.ahead;
  if (row_block_ <= kernel_->max_rows) return {};
  return packed_.bytes().subspan((panel + 1) * panel_bytes(), panel_bytes());
}

/// In the last panel's blocks.
size_t ByteConvolution::fetch_capacity() const {
  if (kernel_->gather != nullptr) return 0;  // Tiles wait for memory already.
  return ceil_div(row_block_, int64_t{kernel_->max_rows}) * problem_.copies() * taps_ * groups_ *
         kLine;
}

/// Rows [first, first + count), of which those beyond the output's lines are dropped.
void ByteConvolution::finish_rows(PanelFinish& finish, int64_t first, int64_t count) const {
  if (!is_spread()) return finish.run(finish_, first, count);
  const int64_t width = problem_.output[2];
  for (int64_t done = 0; done < count;) {
    const int64_t line = (first + done) / spread_.width, at = (first + done) % spread_.width;
    const int64_t left = std::min(count - done, spread_.width - at);
    if (at < width) finish.run(finish_, line * width + at, std::min(left, width - at), done);
    done += left;
  }
}

ByteConvolution::Blocks ByteConvolution::blocks_of(int64_t rows) const {
  const int64_t units = ceil_div(rows, int64_t{kernel_->row_unit});
  const int64_t count = ceil_div(rows, int64_t{kernel_->max_rows});
  return {rows, units / count * kernel_->row_unit, units % count};
}

/// All rows of a task by the weights of a panel.
void ByteConvolution::run_panel(ByteTile tile, int64_t first, const Blocks& blocks,
                                std::span<const std::byte> next, PanelFinish& finish) const {
  int32_t* const sums = tile.sums;
  const int64_t most_together = std::max<int64_t>(kFinishedRows, kernel_->max_rows);
  int64_t together = 0;  // Rows whose sums are there.
  for (int64_t block = 0, left = blocks.all; left > 0; ++block, left -= tile.rows) {
    const int64_t size = blocks.rows + (block < blocks.larger ? kernel_->row_unit : 0);
    tile.rows = static_cast<int>(std::min(size, left));
    tile.sums = sums + together * kBytePanel;
    prefetch_next(next, block, tile);
    // Where threads share the panels, the steps behind have the results' lines on all cores.
    if (panel_tasks_ > 1) finish.fetch_output(first + together, tile.rows);
    kernel_->run(tile);
    tile.rows_of_taps += tile.rows;
    together += tile.rows;
    if (left > tile.rows && together + kernel_->max_rows <= most_together) continue;
    finish_rows(finish, first, together);
    first += std::exchange(together, 0);
  }
}

void ByteConvolution::run_panels(const Run& run, ByteTile tile, int64_t first, int64_t count,
                                 int64_t task) const {
  const Blocks blocks = blocks_of(count);
  const int64_t begin = task % panel_tasks_ * panel_block_;
  for (int64_t panel = begin; panel < std::min(begin + panel_block_, panels()); ++panel) {
    const int64_t part = panel / parts_.panels, within = panel % parts_.panels * kBytePanel;
    tile.row_offset = part * parts_.bytes;
    tile.weights = reinterpret_cast<const int8_t*>(packed_.at(panel * panel_bytes()));
    tile.start = run.numbers.starts + panel * kBytePanel;
    const int64_t column = part * parts_.columns + within;
    const BytePanel columns = {column, std::min(kBytePanel, parts_.columns - within),
                               run.numbers.scales + column};
    PanelFinish finish(problem_, run.arguments, columns, tile.sums);
    run_panel(tile, first, blocks, weights_behind(run, panel), finish);
  }
}

/// Windows of a task, whose rows are then those of one tap.
void ByteConvolution::gather_rows(int64_t count, const uint8_t** rows, uint8_t* to,
                                  ByteTile& tile) const {
  tile.rows = static_cast<int>(count);
  kernel_->gather(tile, to, gathered_step_);
  for (int64_t r = 0; r < count; ++r) rows[r] = to + r * gathered_step_;
  tile.groups *= std::exchange(tile.taps, 1);
  tile.row_step = gathered_step_;
}

void ByteConvolution::run_task(const Run& run, int64_t task, char* scratch) const {
  const int64_t row_task = task / panel_tasks_;
  const int64_t in_product = row_task % row_tasks_ * row_block_;
  const int64_t first = row_task / row_tasks_ * this->rows() + in_product;
  const int64_t count = std::min(row_block_, this->rows() - in_product);
  if (count <= 0) return;
  auto* rows = reinterpret_cast<const uint8_t**>(scratch);
  auto* sums = reinterpret_cast<int32_t*>(scratch + rows_bytes());
  find_rows(run, first, count, rows);
  if (problem_.wide_weights) std::copy_n(rows, taps_ * row_block_, rows + taps_ * row_block_);
  ByteTile tile{.rows_of_taps = rows,
                .tap_stride = row_block_,
                .taps = problem_.copies() * taps_,
                .groups = groups_};
  tile.row_step = is_spread() ? problem_.input_channels : is_flat_ ? image_.pixel : 0;
  tile.flip = problem_.is_signed ? 0x80808080u : 0;
  if (gathered_step_ > 0)
    gather_rows(count, rows, reinterpret_cast<uint8_t*>(scratch + rows_bytes() + sums_bytes()),
                tile);
  tile.sums = sums;
  run_panels(run, tile, first, count, task);
}

void ByteConvolution::run(const ByteArguments& arguments, ThreadPool& pool, void* scratch) const {
  if (problem_.pixels() == 0) return;
  auto* own = static_cast<char*>(scratch);
  char* workers = own + workers_at();
  Run run{arguments, numbers_of(arguments, own), static_cast<const uint8_t*>(arguments.input)};
  own += numbers_bytes();
  run.image = copy_image(run, pool, reinterpret_cast<uint8_t*>(own));
  pool.parallel_for(products() * row_tasks_ * panel_tasks_, 1,
                    [&](int64_t begin, int64_t end, int worker) {
                      kernel_->begin();
                      for (int64_t task = begin; task < end; ++task)
                        run_task(run, task, workers + worker * worker_bytes());
                      kernel_->end();
                    });
}

}  // namespace tenon::cpu
