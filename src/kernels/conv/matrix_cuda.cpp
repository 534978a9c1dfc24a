// Convolutions on tensor cores, by a kernel of our own: tiles, and which of them are worth timing.
#include <algorithm>

#include "kernels/conv/device_convolution_cuda.h"
#include "kernels/image.h"

namespace tenon {
TENON_DECLARE_TACTIC(cuda_conv_hopper)
}

namespace tenon::tactics::cuda_conv_matrix {
namespace {

constexpr int64_t kTileK = 64;
constexpr size_t kOffered = 8;         ///< Tiles that are timed; each is compiled.
constexpr size_t kBeside = 3;          ///< The same where the kernel of Hopper's TMA fits too.
constexpr int64_t kWidestBundle = 64;  ///< Channels, of more than one group.
constexpr int64_t kSpill = 208;        ///< Registers of results that leave room for the rest.

/// How the work is cut: tiles of rows and columns, each by groups of four warps with Hopper's
/// instructions or by single warps, `splits` blocks along the depth.
struct Tile {
  int64_t rows = 128, columns = 64, groups = 0, stages = 3, splits = 1, in_l1 = 0;
  int64_t bundle = 1;  ///< Groups of the convolution that are multiplied together.

  int64_t warps() const {
    if (groups != 0) return rows / 16;
    return rows * columns >= 128 * 128 ? 8 : 4;
  }
  /// Warps side by side in a tile of single warps.
  int64_t warps_across() const {
    if (columns % 64 == 0 && rows <= 32) return 4;
    if (columns % 128 == 0 && warps() == 8) return 4;
    return columns % 32 == 0 && !(rows >= 128 && columns == 32) ? 2 : 1;
  }
  int64_t stage_bytes() const { return (rows + columns) * kTileK * 2; }
  int64_t shared_bytes() const {
    return std::max(stages * stage_bytes(), rows * (columns + 8) * 4);
  }
  std::string text() const {
    const std::string text = fmt::format("rows={},columns={},groups={},stages={},splits={},l1={}",
                                         rows, columns, groups, stages, splits, in_l1);
    return bundle == 1 ? text : fmt::format("{},bundle={}", text, bundle);
  }
};

Tile parse(std::string_view config) {
  Tile tile;
  tile.rows = config_number(config, "rows").value_or(tile.rows);
  tile.columns = config_number(config, "columns").value_or(tile.columns);
  tile.groups = config_number(config, "groups").value_or(tile.groups);
  tile.stages = config_number(config, "stages").value_or(tile.stages);
  tile.splits = config_number(config, "splits").value_or(tile.splits);
  tile.in_l1 = config_number(config, "l1").value_or(tile.in_l1);
  tile.bundle = config_number(config, "bundle").value_or(tile.bundle);
  return tile;
}

/// The convolution as a product for each bundle of groups.
struct Sizes {
  int64_t bundle = 1, bundles = 1, channels = 1;  ///< of the input, in a bundle
  int64_t m = 1, n = 1, k = 1, capability = 0, processors = 1, shared = 0;
  int64_t chunks() const { return blocks_for(k, kTileK); }
  /// The most that one of `splits` blocks multiplies.
  int64_t share(int64_t splits) const { return blocks_for(chunks(), splits); }
};

Sizes sizes_of(const Problem& problem, const DeviceConvolution& d, int64_t bundle) {
  Sizes s;
  s.bundle = bundle;
  s.bundles = d.groups / bundle;
  s.channels = d.in_channels / s.bundles;
  s.m = problem.output().extents[0] * d.window.output[1] * d.window.output[2];
  s.n = d.out_channels / s.bundles;
  s.k = s.channels * d.window.kernel[1] * d.window.kernel[2];
  s.capability = capability_of(problem);
  s.processors = multiprocessors(problem);
  s.shared = allowed_shared(problem);
  return s;
}

/// Numbers of groups that make whole packs of 8 channels, from the least on: more of them are more
/// multiplications by zero, but fewer rows that are gathered for a full tile.
std::vector<int64_t> bundles_of(const DeviceConvolution& d) {
  const int64_t in = d.in_channels / d.groups, out = d.out_channels / d.groups;
  std::vector<int64_t> bundles;
  for (int64_t b = 1; b <= d.groups; ++b) {
    if (d.groups % b != 0 || b * in % 8 != 0 || b * out % 8 != 0) continue;
    if (!bundles.empty() && (b * out > kWidestBundle || b * in > kWidestBundle)) break;
    bundles.push_back(b);
  }
  return bundles;
}

/// Chunks that are fetched in advance. Where every chunk has a stage of its own none is reused;
/// else groups of warps still read one while the next instructions are issued.
int64_t ahead(const Tile& tile, const Sizes& s) {
  if (tile.stages >= s.share(tile.splits)) return s.share(tile.splits);
  return tile.groups != 0 ? tile.stages - 2 : tile.stages - 1;
}

bool fits(const Tile& tile, const Sizes& s) {
  if (tile.shared_bytes() > s.shared || tile.splits > s.chunks()) return false;
  if (tile.groups != 0 && (s.capability != 90 || tile.rows % 64 != 0)) return false;
  if (ahead(tile, s) < 1) return false;
  if (tile.splits > 1 && s.capability < 90) return false;
  if (tile.groups == 0) {
    const int64_t across = tile.warps_across(), down = tile.warps() / across;
    if (tile.rows % (down * 16) != 0 || tile.columns % (across * 16) != 0) return false;
  }
  return tile.rows * tile.columns / (tile.warps() * 32) <= kSpill;
}

/// Part of the tensor cores' peak that a tile reaches while its operands are in shared memory.
double efficiency(const Tile& tile) {
  if (tile.groups != 0) return std::min(0.75, static_cast<double>(tile.columns) / 110);
  const auto rows = static_cast<double>(tile.rows * tile.warps_across() / tile.warps());
  const auto columns = static_cast<double>(tile.columns / tile.warps_across());
  return 0.5 * std::min(1.0, rows * columns / (rows + columns) / 21);
}

/// Blocks that a multiprocessor holds.
int64_t resident_blocks(const Tile& tile, const Sizes& s) {
  const int64_t threads = tile.warps() * 32, sums = tile.rows * tile.columns / threads;
  return std::max<int64_t>(1, std::min(s.shared / (tile.shared_bytes() + 1024),
                                       65536 / (threads * std::min<int64_t>(255, sums + 64))));
}

/// About how long it takes, in microseconds on an H200: enough to tell good tiles from bad ones.
double estimate(const Tile& tile, const Sizes& s) {
  const int64_t blocks =
      blocks_for(s.m, tile.rows) * blocks_for(s.n, tile.columns) * s.bundles * tile.splits;
  const int64_t together = std::min(resident_blocks(tile, s), blocks_for(blocks, s.processors));
  const auto rounds = static_cast<double>(blocks_for(blocks, s.processors * together));
  const auto chunks = static_cast<double>(blocks_for(s.chunks(), tile.splits));
  const auto results = static_cast<double>(tile.rows * tile.columns);
  const auto share = static_cast<double>(together);
  const double products = results * 2 * kTileK / (7.5e6 * efficiency(tile));
  const double traffic = static_cast<double>(tile.stage_bytes()) / 40e3;
  const double chunk = std::max({0.1, share * products, share * traffic});
  const double end = share * results / static_cast<double>(tile.splits) * (4 / 30e3 + 8 / 200e3);
  return rounds * (1.0 + chunks * chunk + end) + (tile.splits > 1 ? 0.7 : 0);
}

/// The tile with a block for each, and with several that share its depth.
void add_variants(const Tile& tile, const Sizes& s, std::vector<Tile>& tiles) {
  const int64_t blocks = blocks_for(s.m, tile.rows) * blocks_for(s.n, tile.columns) * s.bundles;
  for (const int64_t splits : {1, 2, 4, 8}) {
    Tile split = tile;
    split.splits = splits;
    split.stages = std::min(tile.stages, s.share(splits));
    // Blocks that have a multiprocessor of their own fetch as much as they can at once.
    if (blocks * splits <= s.processors)
      split.stages = std::min(s.share(splits), (s.shared - 1024) / tile.stage_bytes());
    if (splits > 1 && (blocks * splits > 2 * s.processors || s.chunks() < 2 * splits)) break;
    if (fits(split, s)) tiles.push_back(split);
  }
}

/// Widths of tiles that leave few columns empty.
std::vector<int64_t> widths_for(int64_t n) {
  std::vector<int64_t> widths;
  for (int64_t width = 16; width <= 256; width += 16) {
    const int64_t padded = blocks_for(n, width) * width;
    const bool power = (width & (width - 1)) == 0;
    if (power ? width == 16 || width < 2 * n
              : padded == (n + 15) / 16 * 16 && (width >= 80 || n < 128))
      widths.push_back(width);
  }
  return widths;
}

std::vector<Tile> all_tiles(const Sizes& s, bool many_taps) {
  std::vector<Tile> tiles;
  for (const int64_t columns : widths_for(s.n))
    for (const int64_t rows : {32, 64, 128, 256})
      for (const int64_t groups : {0, 1}) {
        Tile tile{rows, columns, groups};
        tile.bundle = s.bundle;
        tile.stages = groups != 0 ? 5 : 4;
        while (tile.stages > 3 + groups && tile.shared_bytes() > s.shared / 2) --tile.stages;
        tile.in_l1 = many_taps ? 1 : 0;
        add_variants(tile, s, tiles);
      }
  return tiles;
}

/// One that fits where any does.
Tile usual_tile(const Sizes& s, bool many_taps) {
  Tile usual{64, 64};
  usual.bundle = s.bundle;
  if (fits(usual, s)) return usual;
  const std::vector<Tile> tiles = all_tiles(s, many_taps);
  if (!tiles.empty()) return tiles.front();
  usual.rows = 32, usual.columns = 16;
  return usual;
}

/// The instruction of a group of warps: 64 rows by all columns of the tile, 16 of the depth.
std::string group_instruction(int64_t columns, DataType type) {
  std::string registers, operands;
  const int64_t count = columns / 2;
  for (int64_t i = 0; i < count; ++i) {
    registers += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    operands += fmt::format("{}\"+f\"(d[{}][{}])", i == 0 ? "" : ", ", i / 4, i % 4);
  }
  const char* name = type == DataType::kBFloat16 ? "bf16" : "f16";
  return fmt::format(
      "__device__ inline void multiply_group(float (&d)[{0}][4], u64 a, u64 b) {{\n"
      "  asm volatile(\"{{.reg .pred p;\\nsetp.eq.u32 p, 0, "
      "0;\\nwgmma.mma_async.sync.aligned.m64n{1}k16.f32.{2}.{2} {{{3}}}, %{4}, %{5}, "
      "p, 1, 1, 0, 0;}}\" : {6} : \"l\"(a), \"l\"(b));\n}}\n",
      columns / 8, columns, name, registers, count, count + 1, operands);
}

/// A row of packed weights: [taps][in], filled up with zeros to a multiple of kTileK.
int64_t packed_depth(int64_t channels, int64_t taps) {
  return blocks_for(channels * taps, kTileK) * kTileK;
}

/// The same of weights that come with each run, into the workspace.
Result<JitLaunch> packing_launch(const Problem& problem, const DeviceConvolution& d,
                                 const Sizes& s) {
  constexpr int kBlock = 256;
  const Operand& weights = problem.input(d.weights);
  const std::vector<int64_t> strides = strides_of(weights);
  const auto& kernel = d.window.kernel;
  const int64_t depth = packed_depth(s.channels, kernel[1] * kernel[2]);
  KernelCode code = begin_code(problem);
  code.alias("Word", word_type(byte_size(weights.type)));
  code.constants("kBlock kFilters", kBlock, d.out_channels);
  code.constant("kFiltersOfGroup", d.out_channels / d.groups);
  code.constants("kChannelsOfGroup kBundle kDepth", d.in_channels / d.groups, s.bundle, depth);
  code.constants("kRows kColumns kFilterStride", kernel[1], kernel[2], strides[0]);
  code.constants("kChannelStride kRowStride", strides[1], strides.size() > 3 ? strides[2] : 0);
  code.constant("kColumnStride", strides.back());
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"conv/pack_weights.cu"},
                                             blocks_for(d.out_channels * depth, kBlock), kBlock));
  launch.add({JitArgument::input(d.weights), JitArgument::workspace(0)});
  return launch;
}

/// [out][taps][in of a bundle] of constant weights, zeros where a filter does not see a channel.
JitConstant packed_weights(const Tensor& weights, const Sizes& sizes, int64_t taps) {
  const auto make = [weights, sizes, taps] {
    const int64_t filters = weights.extents()[0], channels = weights.extents()[1];
    const int64_t depth = packed_depth(sizes.channels, taps), group = sizes.n / sizes.bundle;
    std::vector<std::byte> bytes(static_cast<size_t>(filters * depth * 2));
    auto* to = reinterpret_cast<uint16_t*>(bytes.data());
    const auto* from = reinterpret_cast<const uint16_t*>(weights.bytes());
    for (int64_t f = 0; f < filters; ++f) {
      uint16_t* row = to + f * depth + f / group % sizes.bundle * channels;
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t t = 0; t < taps; ++t) row[t * sizes.channels + c] = *from++;
    }
    return bytes;
  };
  return {make, weights,
          fmt::format("conv.matrix: {} taps of {}, bundles of {} of {}", taps, sizes.channels,
                      sizes.bundle, sizes.n)};
}

Status check(const Problem& problem, const DeviceConvolution& d, const Sizes& s) {
  const Operand &x = problem.input(d.input), &w = problem.input(d.weights), &y = problem.output();
  if (d.transposed) return unsupported("transposed");
  if (d.groups > 1 && d.groups == d.in_channels) return unsupported("each channel by itself");
  if (byte_size(x.type) != 2 || !is_real(x.type) || x.type != w.type || x.type != y.type)
    return unsupported("{} by {} to {}; takes f16 or bf16 for all", name_of(x.type),
                       name_of(w.type), name_of(y.type));
  if (s.capability < 80) return unsupported("its matrix instructions need sm_80");
  if (!is_planar(d.window)) return unsupported("three spatial axes; takes two");
  if (!is_part_of_image(x) || !pixel_stride(y)) return unsupported("not channels-last");
  if (d.groups % s.bundle != 0 || s.channels % 8 != 0 || s.n % 8 != 0)
    return unsupported("channels are no multiple of 8");
  if (pack_width(memory_loop(x), x) < 8) return unsupported("channels cannot be loaded in eights");
  if (!small_indices(problem)) return unsupported("a tensor beyond 2^31 elements");
  return {};
}

void add_tile(KernelCode& code, const Tile& tile, const Sizes& s) {
  code.open("kM", s.m);
  code.constants("kN kK kC kBundles kTileM", s.n, s.k, s.channels, s.bundles, tile.rows);
  code.constants("kTileN kTileK kStages kAhead", tile.columns, kTileK, tile.stages, ahead(tile, s));
  code.constant("kSplits", tile.splits);
  code.constant("kSteps", s.chunks() == 1 ? blocks_for(s.k, 16) : kTileK / 16);
  code.constant("kBlock", tile.warps() * 32);
  if (tile.groups == 0) {
    code.constants("kWarpsM kWarpsN", tile.warps() / tile.warps_across(), tile.warps_across());
  }
  code.text(fmt::format("#define WARP_GROUPS {}\n#define CLUSTER {}\n#define CACHE_IN_L1 {}\n",
                        tile.groups != 0 ? 1 : 0, tile.splits > 1 ? 1 : 0, tile.in_l1));
}

std::vector<std::string> tile_configs(const Problem& problem) {
  const auto d = describe_device_convolution(problem);
  if (!d.ok()) return {};
  const bool many_taps = d->window.kernel[1] * d->window.kernel[2] > 1;
  std::vector<std::pair<double, Tile>> tiles;
  for (const int64_t bundle : bundles_of(*d)) {
    const Sizes sizes = sizes_of(problem, *d, bundle);
    for (const Tile& tile : all_tiles(sizes, many_taps))
      tiles.emplace_back(estimate(tile, sizes), tile);
  }
  std::stable_sort(tiles.begin(), tiles.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const Sizes s = sizes_of(problem, *d, 1);
  // Large problems differ less from tile to tile.
  const bool large = s.m * d->out_channels > int64_t{128} * 128 * s.processors;
  size_t offered = large ? kOffered / 2 : kOffered;
  // Where it wins beside that one, one of the first does.
  if (s.capability == 90 && cuda_conv_hopper::supports(problem))
    offered = std::min(offered, kBeside);
  std::vector<std::string> texts;
  for (const auto& [time, tile] : tiles)
    if (texts.size() < offered) texts.push_back(tile.text());
  return texts;
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const DeviceConvolution d, describe_device_convolution(problem));
  const std::vector<int64_t> bundles = bundles_of(d);
  if (bundles.empty()) return unsupported("channels are no multiple of 8");
  const int64_t given = parse(config).bundle, bundle = config.empty() ? bundles[0] : given;
  if (bundle < 1 || d.groups % bundle != 0) return unsupported("no {} groups together", bundle);
  const Sizes s = sizes_of(problem, d, bundle);
  TENON_TRY(check(problem, d, s));
  const Tile tile =
      config.empty() ? usual_tile(s, d.window.kernel[1] * d.window.kernel[2] > 1) : parse(config);
  TENON_TRY(check_shared(problem, "a tile", tile.shared_bytes()));
  if (!fits(tile, s)) return unsupported("the tile does not fit");
  const Operand &x = problem.input(d.input), &y = problem.output();
  KernelCode code = begin_code(problem);
  code.types("X Y", x.type, y.type);
  code.round_to(y.type);
  add_window(code, d.window);
  add_image_strides(code, "X", x);
  add_tile(code, tile, s);
  code.matrix_type(x.type);
  if (tile.groups != 0) code.text(group_instruction(tile.columns, x.type));
  const IndexLoop loop = memory_loop(y);
  code.located("YAt", loop, y);
  TENON_ASSIGN(const std::vector<int> operands,
               add_epilogue(code, problem, d.region, loop, d.bias));
  const int64_t blocks =
      blocks_for(s.m, tile.rows) * blocks_for(s.n, tile.columns) * s.bundles * tile.splits;
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"jit/matrix.cuh", "conv/matrix.cu"}, blocks, tile.warps() * 32));
  launch.starts_early = false;
  launch.shared_bytes = static_cast<int>(tile.shared_bytes());
  launch.cluster = tile.splits > 1 ? static_cast<int>(tile.splits) : 0;
  const Operand& weights = problem.input(d.weights);
  const bool computed = weights.constant == nullptr;
  // Weights are prefetched before the end of the launch before: here it makes them.
  launch.overlaps = !computed;
  launch.add({JitArgument::input(d.input),
              computed ? JitArgument::workspace(0) : JitArgument::constant(0),
              JitArgument::output()});
  launch.add_inputs(operands);
  const int64_t taps = d.window.kernel[1] * d.window.kernel[2];
  JitPlan plan;
  if (computed) {
    TENON_ASSIGN(JitLaunch packing, packing_launch(problem, d, s));
    plan.launches.push_back(std::move(packing));
    plan.workspace_bytes = d.out_channels * packed_depth(s.channels, taps) * 2;
  } else {
    plan.constants.push_back(packed_weights(*weights.constant, s, taps));
  }
  plan.launches.push_back(std::move(launch));
  return plan;
}

}  // namespace
}  // namespace tenon::tactics::cuda_conv_matrix

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_conv_matrix, cuda_conv_matrix::tile_configs)
}  // namespace tenon::tactics
