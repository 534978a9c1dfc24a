// Convolutions in f32 without tensor cores, by a kernel of our own: tiles, and which of them are
// worth timing. Libraries have few such kernels for images whose channels come last.
#include <algorithm>

#include "kernels/conv/device_convolution_cuda.h"
#include "kernels/image.h"

namespace tenon::tactics::cuda_conv_simt {
namespace {

constexpr int64_t kTileK = 16;
constexpr int64_t kStages = 3;
constexpr int64_t kMostSplits = 8;  ///< Blocks of a cluster, on every GPU that has clusters.
constexpr size_t kOffered = 5;      ///< Tiles that are timed; each is compiled.
/// The same where tensor cores may round operands: they win nearly always.
constexpr size_t kBesideTensorCores = 1;
constexpr int64_t kLeastColumns = 16;  ///< Of a group: below, tiles are mostly empty.

/// Rows and columns of results that a block makes; a warp makes 32 rows by 32 or 64 columns. Blocks
/// of a cluster, `splits` of them, share the depth.
struct Tile {
  int64_t rows, columns, quads, splits = 1;

  int64_t threads() const { return 32 * (rows / 32) * (columns / (32 * quads)); }
  int64_t shared_bytes() const {
    const int64_t stage = rows * (kTileK + 4) + kTileK * columns;
    return std::max(kStages * stage, rows * (columns + 4)) * 4;
  }
  std::string text() const {
    return fmt::format("rows={},columns={},quads={},splits={}", rows, columns, quads, splits);
  }
};

constexpr Tile kTiles[] = {{128, 128, 2}, {128, 64, 2}, {128, 32, 1}, {64, 128, 2},
                           {64, 64, 1},   {64, 32, 1},  {32, 64, 1}};

/// The convolution as a product for each group.
struct Sizes {
  int64_t m = 1, n = 1, k = 1, groups = 1, capability = 0, processors = 1;

  int64_t chunks() const { return blocks_for(k, kTileK); }
  int64_t blocks(const Tile& tile) const {
    return blocks_for(m, tile.rows) * blocks_for(n, tile.columns) * groups * tile.splits;
  }
};

Sizes sizes_of(const Problem& problem, const DeviceConvolution& d) {
  Sizes s;
  s.groups = d.groups;
  s.m = problem.output().extents[0] * d.window.output[1] * d.window.output[2];
  s.n = d.out_channels / d.groups;
  s.k = d.in_channels / d.groups * d.window.kernel[1] * d.window.kernel[2];
  s.capability = capability_of(problem);
  s.processors = multiprocessors(problem);
  return s;
}

/// Clusters of blocks, which share a depth, begin with 9.0.
bool fits(const Tile& tile, const Sizes& s) {
  return tile.splits == 1 || (s.capability >= 90 && 2 * tile.splits <= s.chunks());
}

/// About how long it takes, in microseconds on an H200: enough to tell good tiles from bad ones. A
/// multiprocessor adds 128 products in a cycle; a chunk that nothing overlaps with takes its
/// latency.
double estimate(const Tile& tile, const Sizes& s) {
  const auto rounds = static_cast<double>(blocks_for(s.blocks(tile), s.processors));
  const auto chunks = static_cast<double>(blocks_for(s.chunks(), tile.splits));
  const auto products = static_cast<double>(tile.rows * tile.columns * kTileK);
  const double rate = 128 * 1.7e3 * (tile.quads == 2 ? 0.8 : 0.65);
  const double chunk = std::max(rounds * products / rate, 0.15);
  const double results = rounds * static_cast<double>(tile.rows * tile.columns) / 30e3;
  return 1.5 + chunks * chunk + results + (tile.splits > 1 ? 0.7 : 0);
}

std::vector<Tile> all_tiles(const Sizes& s) {
  std::vector<Tile> tiles;
  for (Tile tile : kTiles)
    for (tile.splits = 1; tile.splits <= kMostSplits; tile.splits *= 2)
      if (fits(tile, s) && (tile.splits == 1 || s.blocks(tile) <= 3 * s.processors))
        tiles.push_back(tile);
  std::ranges::stable_sort(tiles, {}, [&](const Tile& tile) { return estimate(tile, s); });
  return tiles;
}

Result<Tile> tile_of(std::string_view config, const Sizes& s) {
  if (config.empty()) return Tile{64, 64, 1};
  for (Tile tile : kTiles)
    for (tile.splits = 1; tile.splits <= kMostSplits; tile.splits *= 2)
      if (tile.text() == config && fits(tile, s)) return tile;
  return unsupported("there is no tile of {}", config);
}

Status check(const Problem& problem, const DeviceConvolution& d, const Sizes& s) {
  const Operand &x = problem.input(d.input), &w = problem.input(d.weights), &y = problem.output();
  if (d.transposed) return unsupported("transposed");
  if (w.constant == nullptr) return unsupported("the weights are not constant");
  for (const Operand* operand : {&x, &w, &y})
    if (operand->type != DataType::kFloat32)
      return unsupported("{}; takes f32 for all", name_of(operand->type));
  if (d.groups > 1 && s.n < kLeastColumns)
    return unsupported("groups of {} channels; takes {} and more", s.n, kLeastColumns);
  if (!is_planar(d.window)) return unsupported("three spatial axes; takes two");
  if (!pixel_stride(y)) return unsupported("the result is not channels-last");
  if (!small_indices(problem)) return unsupported("a tensor beyond 2^31 elements");
  return {};
}

/// Elements of the input that are loaded together.
int64_t vector_of(const Operand& x, int64_t channels) {
  const bool quads = pixel_stride(x) && channels % 4 == 0 && pack_width(memory_loop(x), x) >= 4;
  return quads ? 4 : 1;
}

/// [group][taps of channels][out], filled up with zeros.
JitConstant packed_weights(const Tensor& weights, const Sizes& s, int64_t taps) {
  const auto make = [weights, s, taps] {
    const int64_t depth = s.chunks() * kTileK, columns = blocks_for(s.n, 4) * 4;
    const int64_t channels = s.k / taps;
    std::vector<std::byte> bytes(static_cast<size_t>(s.groups * depth * columns) * sizeof(float));
    auto* to = reinterpret_cast<float*>(bytes.data());
    const auto* from = reinterpret_cast<const float*>(weights.bytes());
    for (int64_t f = 0; f < s.groups * s.n; ++f) {
      float* column = to + f / s.n * depth * columns + f % s.n;
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t t = 0; t < taps; ++t) column[(t * channels + c) * columns] = *from++;
    }
    return bytes;
  };
  return {make, weights,
          fmt::format("conv.simt: {} taps, depth {}, {} groups of {}", taps, s.k, s.groups, s.n)};
}

std::vector<std::string> tile_configs(const Problem& problem) {
  const auto d = describe_device_convolution(problem);
  if (!d.ok()) return {};
  std::vector<std::string> texts;
  const size_t offered = problem.numerics.tf32 ? kBesideTensorCores : kOffered;
  for (const Tile& tile : all_tiles(sizes_of(problem, *d)))
    if (texts.size() < offered) texts.push_back(tile.text());
  return texts;
}

void add_tile(KernelCode& code, const Tile& tile, const Sizes& s) {
  code.open("kM", s.m);
  code.constants("kN kK kGroups kTileM kTileN", s.n, s.k, s.groups, tile.rows, tile.columns);
  code.constants("kTileK kQuads kStages kAhead", kTileK, tile.quads, kStages, kStages - 1);
  code.constants("kSplits kBlock", tile.splits, tile.threads());
  code.text(fmt::format("#define CLUSTER {}\n", tile.splits > 1 ? 1 : 0));
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const DeviceConvolution d, describe_device_convolution(problem));
  const Sizes s = sizes_of(problem, d);
  TENON_TRY(check(problem, d, s));
  TENON_ASSIGN(const Tile tile, tile_of(config, s));
  TENON_TRY(check_shared(problem, "a tile", tile.shared_bytes()));
  const Operand &x = problem.input(d.input), &y = problem.output();
  const int64_t channels = d.in_channels / d.groups, taps = s.k / channels;
  KernelCode code = begin_code(problem);
  code.types("X Y", x.type, y.type);
  code.round_to(y.type);
  add_window(code, d.window);
  add_image_strides(code, "X", x);
  add_tile(code, tile, s);
  code.constants("kC kVector", channels, vector_of(x, channels));
  const IndexLoop loop = memory_loop(y);
  code.constant("kPack", s.n % 4 == 0 ? std::min<int64_t>(4, pack_width(loop, y)) : 1);
  code.located("YAt", loop, y);
  TENON_ASSIGN(const std::vector<int> operands,
               add_epilogue(code, problem, d.region, loop, d.bias));
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"conv/simt.cu"}, s.blocks(tile), tile.threads()));
  launch.starts_early = false;
  launch.shared_bytes = static_cast<int>(tile.shared_bytes());
  launch.cluster = tile.splits > 1 ? static_cast<int>(tile.splits) : 0;
  launch.add({JitArgument::input(d.input), JitArgument::constant(0), JitArgument::output()});
  launch.add_inputs(operands);
  JitPlan plan = plan_of(std::move(launch));
  plan.constants.push_back(packed_weights(*problem.input(d.weights).constant, s, taps));
  return plan;
}

}  // namespace
}  // namespace tenon::tactics::cuda_conv_simt

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_conv_simt, cuda_conv_simt::tile_configs)
}  // namespace tenon::tactics
