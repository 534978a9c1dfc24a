#include "kernels/quantized/byte_winograd.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/arithmetic.h"
#include "device/cpu/worker_memory.h"
#include "kernels/quantized/byte_product.h"

namespace tenon::cpu {
namespace {

/// Numbers and sums of a block, for kWinogradDepth channels and a panel, stay in the second-level
/// cache beside the weights in their forms.
constexpr int64_t kMostTiles = 32;
/// So many take as long to transform as the weights of a panel.
constexpr int64_t kTilesOfPanel = 20;
/// Neighbours that are finished together: their sums stay in the first-level cache.
constexpr int64_t kFinishedTiles = 16;
constexpr int64_t kTilePixels = 16;
constexpr int64_t kLine = 64;
/// That are fetched while a point is multiplied.
constexpr int64_t kFetchedLines = 8;
/// Of is_split_ in packed weights.
constexpr int64_t kSplitBytes = 64;

const ByteWinogradFunctions* winograd_functions(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512 && has_byte_products()) return &kByteWinogradAvx512Vnni;
  if (isa >= Isa::avx2) return &kByteWinogradAvx2;
#endif
  (void)isa;
  return nullptr;
}

/// Tiles of so many pixels or more have the numbers of this form along an axis.
constexpr int64_t least_tile(int form) {
  return form == 4 ? 4 : form == 3 ? 3 : 2;
}

/// Part `index` of `count`, in whole lines; the last ones may be shorter, or empty.
std::span<const std::byte> part_of(std::span<const std::byte> bytes, int64_t index, int64_t count) {
  const int64_t each = round_up(ceil_div(std::ssize(bytes), count), kLine);
  const int64_t begin = std::min(index * each, std::ssize(bytes));
  return bytes.subspan(begin, std::min(each, std::ssize(bytes) - begin));
}

/// Into the second-level cache.
void fetch(std::span<const std::byte> bytes) {
  for (int64_t at = 0; at < std::ssize(bytes); at += kLine)
    __builtin_prefetch(bytes.data() + at, 0, 2);
}

}  // namespace

Status ByteWinograd::check(const ByteProblem& p) {
  const ByteSpatial window = {1, 3, 3}, ones = {1, 1, 1};
  if (p.kernel != window || p.stride != ones || p.dilation != ones || p.groups != 1)
    return unsupported("not a 3x3 convolution with stride 1, dilation 1 and one group");
  if (p.input[0] != 1 || p.output[0] != 1) return unsupported("a volume");
  if (p.channels_first) return unsupported("the input is not channels-last");
  if (p.wide_weights) return unsupported("weights that are no i8 beside their zero point");
  const Isa isa = capped_isa(p.isa);
  if (winograd_functions(isa) == nullptr) return unsupported("no AVX2");
  if (byte_kernel(isa, p.pixels()).gather != nullptr)
    return unsupported("a machine with tiles (AMX), which multiply bytes faster");
  return {};
}

Result<ByteWinograd> ByteWinograd::prepare(ByteProblem problem, const ByteWeights* weights) {
  TENON_TRY(check(problem));
  if (problem.steps.size() > kMaxByteSteps)
    return unsupported("a chain of {} steps", problem.steps.size());
  ByteWinograd conv;
  conv.problem_ = std::move(problem);
  ByteProblem& p = conv.problem_;
  p.is_bounded = p.finds_bounds();
  const Isa isa = capped_isa(p.isa);
  conv.functions_ = winograd_functions(isa);
  conv.finish_ = byte_finish_function(isa);
  conv.place_tiles();
  const size_t bytes = conv.panels() * conv.panel_bytes() + kSplitBytes;
  TENON_ASSIGN(conv.packed_, PackedWeights::make(bytes, p.packed, weights));
  if (!conv.packed_.filled()) conv.pack(*weights);
  conv.is_split_ = *conv.packed_.at(bytes - kSplitBytes) != 0;
  p.scales.resize(p.output_channels + kBytePanel, 0.0f);
  p.biases.resize(p.output_channels + kBytePanel, 0.0f);
  return conv;
}

int64_t ByteWinograd::panels() const {
  return ceil_div(problem_.output_channels, kWinogradPanel);
}
int64_t ByteWinograd::depths() const {
  return ceil_div(problem_.input_channels, kWinogradDepth);
}

/// The largest magnitude of a sum, by the sums of a channel's positive and negative weights.
int64_t ByteWinograd::reach_of(int64_t positive, int64_t negative) const {
  if (problem_.computed_scaling) return 255 * (positive + negative);
  const int64_t low = (problem_.is_signed ? -128 : 0) - problem_.zero, high = low + 255;
  return std::max(high * positive - low * negative, high * negative - low * positive);
}

/// Panels of output channels: [pair of channels][half a panel][9][16][2].
void ByteWinograd::pack(const ByteWeights& weights) {
  const ByteProblem& p = problem_;
  auto* to = static_cast<int8_t*>(packed_.target());
  std::memset(to, 0, packed_.bytes().size());
  constexpr int64_t kHalf = kWinogradPanel / 2;
  for (int64_t n = 0; n < p.output_channels; ++n) {
    const int64_t column = n % kWinogradPanel;
    int8_t* panel = to + n / kWinogradPanel * panel_bytes() + column / kHalf * kWinogradUnit;
    int64_t positive = 0, negative = 0;
    for (int64_t position = 0; position < 9; ++position)
      for (int64_t c = 0; c < p.input_channels; ++c) {
        const int16_t w = weights(n, position, c);
        (w > 0 ? positive : negative) += std::abs(w);
        panel[c / 2 * 2 * kWinogradUnit + position * 2 * kHalf + column % kHalf * 2 + c % 2] =
            static_cast<int8_t>(w);
      }
    if (reach_of(positive, negative) >= kWinogradSums) to[panels() * panel_bytes()] = 1;
  }
}

ByteWinograd::Tile ByteWinograd::tile(int64_t index) const {
  const int64_t line = index / tiles_wide_;
  Tile t;
  t.image = line / tiles_high_, t.row = line % tiles_high_ * 4, t.column = index % tiles_wide_ * 4;
  t.rows = std::min<int64_t>(4, problem_.output[1] - t.row);
  t.columns = std::min<int64_t>(4, problem_.output[2] - t.column);
  t.high = std::max<int64_t>(2, t.rows), t.wide = std::max<int64_t>(2, t.columns);
  return t;
}

ByteWinograd::Block ByteWinograd::block_of(int64_t first, int64_t count) const {
  Block block{first, count, {}};
  std::array<int64_t, kGroups> counts = {};
  for (int64_t i = first; i < first + count; ++i) ++counts[tile(i).group()];
  int64_t place = 0;
  for (const int group : kOrder) block.places[group] = std::exchange(place, place + counts[group]);
  return block;
}

/// Places [begin, end) of a block's tiles that have a point.
ByteWinograd::Places ByteWinograd::places_of(const Block& block, int point) const {
  const bool low = smallest_.high >= least_tile(point / kWinogradForms);
  const bool narrow = smallest_.wide >= least_tile(point % kWinogradForms);
  const auto& at = block.places;
  return {low ? 0 : at[kFull], narrow ? (low ? block.count : at[kLow | kNarrow]) : at[kNarrow]};
}

void ByteWinograd::place_tiles() {
  const ByteProblem& p = problem_;
  tiles_high_ = ceil_div(p.output[1], int64_t{4}), tiles_wide_ = ceil_div(p.output[2], int64_t{4});
  const int64_t tiles = p.batch * tiles_high_ * tiles_wide_;
  smallest_ = tile(tiles_high_ * tiles_wide_ - 1);
  // Each worker transforms the tiles of its block, and the weights of a panel for each block.
  const int64_t parts = tiles * p.threads / (panels() * kTilesOfPanel);
  int64_t count = ceil_div(tiles, kMostTiles);
  while (count * count < parts) ++count;
  while (count > 1 && count * panels() % p.threads != 0) ++count;
  const int64_t each = std::max<int64_t>(1, ceil_div(tiles, std::max<int64_t>(1, count)));
  for (int64_t first = 0; first < tiles; first += each)
    blocks_.push_back(block_of(first, std::min(each, tiles - first)));
}

int64_t ByteWinograd::scales_bytes() const {
  if (!problem_.computed_scaling) return 0;
  return round_up(std::ssize(problem_.scales) * static_cast<int64_t>(sizeof(float)), kLine);
}

ByteWinograd::WorkerMemory ByteWinograd::worker_memory() const {
  WorkerMemory m;
  m.weights = block_bytes();
  m.pixels = m.weights +
             kWinogradForms * functions_->weights_stride * static_cast<int64_t>(sizeof(int16_t));
  // Windows are copied to where pixels come later.
  m.totals = m.pixels + std::max(kFinishedTiles * kTilePixels * kWinogradPointBytes,
                                 round_up(kWinogradPoints * problem_.input_channels, kLine));
  // Also where no sums are split: other weights take no more memory.
  m.numbers = m.totals + (depths() > 1 ? blocks_[0].count * kTilePixels * kWinogradPointBytes : 0);
  m.block = m.numbers + depths() * block_bytes();
  m.size = static_cast<int64_t>(worker_stride(m.block + kLine, problem_.threads));
  return m;
}

size_t ByteWinograd::scratch_bytes() const {
  if (blocks_.empty()) return 0;
  return scales_bytes() + workers_apart(problem_.threads) + worker_memory().size * problem_.threads;
}

size_t ByteWinograd::fetch_capacity() const {
  return std::ssize(blocks_) * kWinogradPoints * kFetchedLines * kLine;
}

struct ByteWinograd::Walk {
  std::array<int64_t, kGroups> places;
  /// Bytes to what belongs to a tile, which is the next one.
  int64_t next(const Tile& tile) { return places[tile.group()]++ * kWinogradTileBytes; }
};

/// The window of a tile, or a copy of it with zero points around the image.
const uint8_t* ByteWinograd::window(const Run& run, const Tile& t, uint8_t* copy,
                                    ByteWinogradInput& to) const {
  const ByteProblem& p = problem_;
  const auto* image = static_cast<const uint8_t*>(run.arguments.input);
  const int64_t y = t.row - p.pad[1], x = t.column - p.pad[2], pixel = p.input_pixel_stride;
  to.pixel_stride = pixel, to.row_stride = p.input[2] * pixel;
  const auto at = [&](int64_t i, int64_t j) {
    return image + ((t.image * p.input[1] + y + i) * p.input[2] + x + j) * pixel;
  };
  const int64_t high = t.high + 2, wide = t.wide + 2;
  if (y >= 0 && x >= 0 && y + high <= p.input[1] && x + wide <= p.input[2]) return at(0, 0);
  to.pixel_stride = p.input_channels, to.row_stride = wide * p.input_channels;
  // Those of a row that are inside.
  const int64_t begin = std::clamp<int64_t>(-x, 0, wide);
  const int64_t end = std::clamp<int64_t>(p.input[2] - x, begin, wide);
  for (int64_t i = 0; i < high; ++i) {
    uint8_t* row = copy + i * to.row_stride;
    const bool inside = y + i >= 0 && y + i < p.input[1];
    const int64_t first = inside ? begin : wide, last = inside ? end : wide;
    std::memset(row, run.zero, first * p.input_channels);
    for (int64_t j = first; j < last; ++j)
      std::memcpy(row + j * p.input_channels, at(i, j), p.input_channels);
    std::memset(row + last * p.input_channels, run.zero, (wide - last) * p.input_channels);
  }
  return copy;
}

/// All tiles of a block to a worker's numbers: those of another worker would come later.
void ByteWinograd::transform(const Run& run, const Block& block, char* memory) const {
  const ByteProblem& p = problem_;
  const WorkerMemory at = worker_memory();
  auto* copy = reinterpret_cast<uint8_t*>(memory + at.pixels);
  Walk walk{block.places};
  for (int64_t index = block.first; index < block.first + block.count; ++index) {
    const Tile t = tile(index);
    ByteWinogradInput input{.channels = p.input_channels,
                            .zero = run.zero,
                            .to = memory + at.numbers + walk.next(t),
                            .depth_stride = block_bytes()};
    input.pixels = window(run, t, copy, input);
    functions_->input[p.is_signed ? 1 : 0][t.high - 2][t.wide - 2](input);
  }
}

/// All points of channels from the depth-th kWinogradDepth on.
void ByteWinograd::multiply(const Task& task, int64_t depth,
                            std::span<const std::byte> next) const {
  const WorkerMemory at = worker_memory();
  auto* formed = reinterpret_cast<int16_t*>(task.memory + at.weights);
  const int64_t first = depth * kWinogradDepth / 2;
  const int64_t count = std::min(depths_together() * kWinogradDepth / 2, pairs() - first);
  const char* plain = packed_.at(task.panel * panel_bytes() + first * 2 * kWinogradUnit);
  functions_->weights(reinterpret_cast<const int8_t*>(plain), count, formed);
  for (int point = 0; point < kWinogradPoints; ++point) {
    fetch(part_of(next, point, kWinogradPoints));
    const auto [begin, end] = places_of(task.block, point);
    char* memory = task.memory + begin * kWinogradTileBytes + point * kWinogradPointBytes;
    ByteWinogradProduct product{
        .numbers = memory + at.numbers + depth * block_bytes(),
        .depth_stride = block_bytes(),
        .weights = formed + point / kWinogradForms * functions_->weights_stride,
        .sums = memory,
        .pairs = count,
        .adds = depth > 0 && !is_split_};
    const int64_t most = functions_->most_tiles;
    for (int64_t left = end - begin; left > 0;) {
      const int64_t calls = ceil_div(left, most), tiles = ceil_div(left, calls);
      functions_->product[point % kWinogradForms][tiles - 1](product);
      product.numbers += tiles * kWinogradTileBytes, product.sums += tiles * kWinogradTileBytes;
      left -= tiles;
    }
  }
}

/// Sums to pixels, to which those of channels ahead are added, and to results.
void ByteWinograd::finish(const Run& run, const Task& task, int64_t depth) const {
  const ByteProblem& p = problem_;
  const Block& block = task.block;
  const WorkerMemory memory = worker_memory();
  auto* pixels = reinterpret_cast<int32_t*>(task.memory + memory.pixels);
  auto* totals = reinterpret_cast<int32_t*>(task.memory + memory.totals);
  const int64_t column = task.panel * kWinogradPanel;
  const BytePanel columns = {column, std::min(kWinogradPanel, p.output_channels - column),
                             run.scales + column};
  PanelFinish panel(p, run.arguments, columns, pixels);
  Walk walk{block.places};
  for (int64_t begin = 0; begin < block.count;) {
    const Tile first = tile(block.first + begin);
    const int64_t count =
        std::min({block.count - begin, kFinishedTiles, tiles_wide_ - first.column / 4});
    const Tile last = tile(block.first + begin + count - 1);
    const int64_t wide = last.column + last.wide - first.column;
    for (int64_t i = 0; i < count; ++i) {
      const Tile t = tile(block.first + begin + i);
      const int64_t from = walk.next(t);
      functions_->output[t.high - 2][t.wide - 2](
          {.sums = task.memory + from,
           .to = pixels + (t.column - first.column) * kWinogradPanel,
           .row_stride = wide * kWinogradPanel});
    }
    const int64_t size = first.high * wide * kWinogradPanel;
    if (is_split_ && depth > 0)
      for (int64_t i = 0; i < size; ++i) pixels[i] += totals[i];
    if (depth + depths_together() >= depths())
      finish_lines(panel, first, wide, last.column + last.columns - first.column);
    else
      std::copy_n(pixels, size, totals);
    totals += size, begin += count;
  }
}

/// The lines of neighbours, `wide` pixels apart.
void ByteWinograd::finish_lines(PanelFinish& panel, const Tile& first, int64_t wide,
                                int64_t columns) const {
  const int64_t width = problem_.output[2];
  const int64_t pixel = (first.image * problem_.output[1] + first.row) * width + first.column;
  if (wide == width) return panel.run(finish_, pixel, first.rows * wide);
  for (int64_t i = 0; i < first.rows; ++i) panel.run(finish_, pixel + i * width, columns, i * wide);
}

/// Weights that are read next.
std::span<const std::byte> ByteWinograd::weights_behind(const Run& run, const Task& task,
                                                        int64_t depth) const {
  const int64_t bytes = depths_together() * kWinogradDepth * kWinogradUnit;
  const int64_t end = (task.panel + 1) * panel_bytes();
  const int64_t at =
      std::min(end, task.panel * panel_bytes() + depth * kWinogradDepth * kWinogradUnit + bytes);
  if (at == panels() * panel_bytes())
    return part_of(run.arguments.ahead, &task.block - blocks_.data(), std::ssize(blocks_));
  return packed_.bytes().subspan(at, std::min(bytes, panels() * panel_bytes() - at));
}

void ByteWinograd::run_task(const Run& run, const Task& task) const {
  for (int64_t depth = 0; depth < depths(); depth += depths_together()) {
    multiply(task, depth, weights_behind(run, task, depth));
    if (is_split_ || depth + depths_together() >= depths()) finish(run, task, depth);
  }
}

void ByteWinograd::run(const ByteArguments& arguments, ThreadPool& pool, void* scratch) const {
  const ByteProblem& p = problem_;
  if (p.pixels() == 0) return;
  auto* shared = static_cast<char*>(scratch);
  Run run{arguments, p.scales.data(), p.zero};
  if (p.computed_scaling) {
    auto* scales = reinterpret_cast<float*>(shared);
    for (size_t i = 0; i < p.scales.size(); ++i) scales[i] = p.scales[i] * arguments.scale;
    run.scales = scales, run.zero = arguments.zero;
    shared += scales_bytes();
  }
  const WorkerMemory at = worker_memory();
  char* workers = shared + workers_apart(p.threads);
  const auto own_block = [&](int worker) {
    return reinterpret_cast<int64_t*>(workers + worker * at.size + at.block);
  };
  for (int worker = 0; worker < p.threads; ++worker) *own_block(worker) = -1;
  // Panels of a block follow each other: neighbours share numbers.
  pool.for_each(tasks(), 1, [&](int64_t index, int worker) {
    const int64_t number = index / panels();
    const Block& block = blocks_[number];
    char* own = workers + worker * at.size;
    if (std::exchange(*own_block(worker), number) != number) transform(run, block, own);
    run_task(run, {block, index % panels(), own});
  });
}

}  // namespace tenon::cpu
