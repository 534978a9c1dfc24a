// Products of few rows of 16 bits with constant weights of 4 or 8 bits (quantized/weights.cu).
#include <algorithm>
#include <cstring>

#include "kernels/dequantized_weights.h"
#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/tactic.h"

namespace tenon::tactics::cuda_quantized_weights {
namespace {

/// Of the kernel: columns of a tile, steps along k, rows of a tile of the tensor cores.
constexpr int64_t kTile = 16, kStep = 128, kRows = 8;
constexpr size_t kOffered = 16;
/// Bytes of weights of a block that are on their way at a time: latency times the rate of memory.
constexpr int64_t kWindow = 32 << 10;

struct Description {
  AnchoredRegion region;
  int x = 0;
  DequantizedWeights weights;
  int64_t rows = 0;
  bool has_zeros = false;  ///< Of their own for columns or blocks.
  int64_t zero = 0;        ///< Of all weights, counted from the least number.
  IndexLoop loop;          ///< Of the result.

  /// The number added to a weight so that the least is 0.
  int64_t start() const {
    if (!weights.is_signed()) return 0;
    return weights.nibbles() ? 8 : 128;
  }
  int64_t bits() const { return weights.nibbles() ? 4 : 8; }
  int64_t tiles() const { return blocks_for(weights.columns, kTile); }
  /// Those of whole warps, each of which has so many.
  int64_t padded_tiles(int64_t each) const { return blocks_for(tiles(), each) * each; }
  int64_t steps() const { return blocks_for(weights.depth, kStep); }
  /// Blocks of scales along the whole steps.
  int64_t blocks() const {
    return weights.blocked ? blocks_for(steps() * kStep, weights.block) : 1;
  }
};

/// How the work is shared: warps of a block across the columns and along k, tiles of a warp, blocks
/// along k.
struct Sharing {
  int64_t across = 8, deep = 1, tiles = 1, splits = 1;

  int64_t warps() const { return across * deep; }
  /// For a block of the launch behind, whose weights then come while this one ends.
  bool leaves_room() const { return warps() <= 8; }
  int64_t columns() const { return across * tiles * kTile; }
  int64_t piece(const Description& d) const { return blocks_for(d.steps(), splits); }
  int64_t steps(const Description& d) const { return blocks_for(piece(d), deep); }  ///< Of a warp.
  /// Tiles that are multiplied side by side: at most four, so that their numbers stay in registers.
  int64_t group() const { return blocks_for(tiles, groups()); }
  int64_t groups() const { return blocks_for(tiles, 4); }
  std::string text() const {
    return fmt::format("across={},deep={},tiles={},splits={}", across, deep, tiles, splits);
  }
};

constexpr int64_t kAcross[] = {1, 2, 4, 8}, kDeep[] = {1, 2, 4, 8, 16},
                  kTiles[] = {1, 2, 3, 4, 6, 7, 8}, kSplits[] = {1, 2, 4, 8};
constexpr int64_t kLeastWarps = 4, kMostWarps = 16;

bool is_half(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kBFloat16;
}

Status check_blocks(const DequantizedWeights& w) {
  if (!w.blocked || w.block == 32 || w.block == 64 || w.block % kStep == 0) return {};
  return unsupported("blocks of {}; takes 32, 64 and multiples of {}", w.block, kStep);
}

void take_zeros(const Problem& problem, Description& d) {
  d.zero = d.start();
  if (d.weights.zeros < 0) return;
  const Tensor& zeros = *problem.input(d.weights.zeros).constant;
  for (int64_t i = 1; i < zeros.count(); ++i) d.has_zeros |= zeros.as_int64(i) != zeros.as_int64(0);
  d.zero += zeros.as_int64(0);
}

Result<Description> describe(const Problem& problem) {
  Description d;
  TENON_ASSIGN(d.region,
               anchored_region(problem, {.cast = true, .branches = true, .dequantized = true}));
  const auto* product = d.region.anchor.as<MatMul>();
  if (product == nullptr || d.region.dequantize == nullptr)
    return unsupported("not a product with weights that are dequantized in the region");
  d.x = d.region.anchor_inputs[0];
  if (d.x < 0 || product->transpose_a || problem.input(d.x).rank() < 2)
    return unsupported("rows that are computed in the region, or transposed");
  TENON_ASSIGN(d.weights, dequantized_weights(problem, *product, *d.region.dequantize));
  TENON_TRY(check_blocks(d.weights));
  const Operand &x = problem.input(d.x), &y = problem.output();
  if (!is_half(x.type)) return unsupported("rows of {}; takes f16 and bf16", name_of(x.type));
  if (strides_of(x).back() != 1) return unsupported("columns that lie apart");
  if (!is_half(problem.input(d.weights.scales).type) &&
      problem.input(d.weights.scales).type != DataType::kFloat32)
    return unsupported("scales of {}", name_of(problem.input(d.weights.scales).type));
  Extents expected = x.extents;
  expected.back() = d.weights.columns;
  if (y.extents != expected) return unsupported("the epilogue broadcasts");
  d.rows = x.count() / d.weights.depth;
  if (d.rows > kRows) return unsupported("more than {} rows", kRows);
  if (d.weights.depth > 1 << 24 || d.weights.columns > 1 << 24)
    return unsupported("weights of {} by {}; takes 2^24 of each", d.weights.depth,
                       d.weights.columns);
  take_zeros(problem, d);
  for (int axis = 0; axis < y.rank(); ++axis)
    d.loop.push_back({axis, y.extents[static_cast<size_t>(axis)]});
  return d;
}

/// Bytes of a step that a warp reads.
int64_t step_bytes(const Problem& problem, const Description& d, const Sharing& s) {
  const int64_t blocks = d.weights.blocked ? std::max<int64_t>(1, kStep / d.weights.block) : 0;
  const int64_t scale = byte_size(problem.input(d.weights.scales).type);
  return s.tiles *
         (kTile * kStep * d.bits() / 8 + blocks * kTile * (scale + (d.has_zeros ? 2 : 0)));
}

/// Elements of a row that are read at a time.
int64_t load_width(const Operand& x) {
  const std::vector<int64_t> strides = strides_of(x);
  int64_t width = 8;
  const auto divides = [&](int64_t number) { return number % width == 0; };
  for (; width > 1; width /= 2) {
    bool fits = divides(x.extents.back()) && divides(alignment_in_elements(x));
    for (size_t i = 0; i + 1 < strides.size(); ++i)
      fits = fits && (x.extents[i] == 1 || divides(strides[i]));
    if (fits) break;
  }
  return width;
}

/// Whether threads read the numbers of their rows where they are.
bool reads_directly(const Problem& problem, const Description& d) {
  return load_width(problem.input(d.x)) == 8;
}

/// Of a block besides the ring: rows.
int64_t other_bytes(const Problem& problem, const Description& d, const Sharing& s) {
  return reads_directly(problem, d) ? 0 : d.rows * (s.piece(d) * kStep + 32) * 2;
}

/// Steps of a warp on their way to shared memory, some of them at a time: as many as leave room on
/// the multiprocessor for a block of the launch behind, whose weights come while this one ends.
struct Ahead {
  int64_t chunk = 1, chunks = 1;
};
Ahead steps_ahead(const Problem& problem, const Description& d, const Sharing& s) {
  constexpr int64_t kReserved = 1024;  // Of a block's memory.
  constexpr int64_t kMost = 16, kEnough = 3;
  const int64_t half =
      std::min((shared_limit(problem) + kReserved) / 2 - kReserved, allowed_shared(problem));
  const int64_t room = half - other_bytes(problem, d, s) - s.warps() * kMost * 16;
  const int64_t fitting = std::max<int64_t>(1, room / (s.warps() * step_bytes(problem, d, s)));
  const int64_t each = std::max<int64_t>(1, s.steps(d));
  Ahead ahead;
  // Scales of longer blocks do not lie step by step.
  if (!d.weights.blocked || d.weights.block <= kStep)
    for (const int64_t chunk : {2, 4})
      if (chunk <= each && fitting / chunk >= std::min(blocks_for(each, chunk), kEnough))
        ahead.chunk = chunk;
  ahead.chunks =
      std::clamp<int64_t>(fitting / ahead.chunk, 1, std::min(blocks_for(each, ahead.chunk), kMost));
  return ahead;
}

int64_t shared_bytes(const Problem& problem, const Description& d, const Sharing& s) {
  const Ahead ahead = steps_ahead(problem, d, s);
  return s.warps() * ahead.chunks * ahead.chunk * step_bytes(problem, d, s) +
         s.warps() * ahead.chunks * 16 + other_bytes(problem, d, s);
}

/// About how many cycles a launch takes in a chain of others: the busiest multiprocessor's weights
/// come from memory, while the weights before them are multiplied, be it by instructions of its
/// warps or by the chain of one warp's steps; behind the last weights their products are left, and
/// sums on their way, and blocks that meet.
double estimate(const Problem& problem, const Description& d, const Sharing& s) {
  // Counted in machine code for sm_90: instructions for a step, and for each of its tiles; cycles
  // from one group of tiles to the next.
  constexpr int64_t kOfStep = 30, kOfTile = 105, kChain = 300;
  // Of a multiprocessor: schedulers, bytes of shared memory a cycle, of the second-level cache and
  // of memory. Cycles of a launch that does nothing, and by which those of clusters took longer in
  // a chain on an H200.
  constexpr int64_t kSchedulers = 4, kSharedRate = 128, kRate = 64, kMemoryRate = 18,
                    kLaunch = 2000, kMeeting = 2000;
  const int64_t blocks = blocks_for(d.tiles() * kTile, s.columns()) * s.splits;
  const int64_t each = blocks_for(blocks, multiprocessors(problem));
  const int64_t fetching = each * s.piece(d) * s.across * step_bytes(problem, d, s) / kMemoryRate;
  const int64_t products =
      std::max(each * s.steps(d) * s.warps() * (kOfStep + s.tiles * kOfTile) / kSchedulers,
               s.steps(d) * s.groups() * kChain);
  const int64_t rows = d.rows * s.piece(d) * kStep * 2 * s.across;
  const int64_t sums = 2 * d.rows * s.columns() * 4 * s.deep;
  const int64_t behind = products / s.steps(d) + each * (rows / kRate + sums / kSharedRate) +
                         (s.splits > 1 ? kMeeting : 0);
  return static_cast<double>(std::max(fetching, kLaunch + products) + behind);
}

template <class Function>
void for_each_sharing(const Function& function) {
  for (const int64_t across : kAcross)
    for (const int64_t deep : kDeep)
      for (const int64_t tiles : kTiles)
        for (const int64_t splits : kSplits)
          if (across * deep >= kLeastWarps && across * deep <= kMostWarps)
            function(Sharing{across, deep, tiles, splits});
}

std::vector<std::string> sharings(const Problem& problem) {
  const auto d = describe(problem);
  if (!d.ok()) return {""};
  std::vector<std::pair<double, Sharing>> found;
  for_each_sharing([&](const Sharing& s) {
    // Each of the warps has a step, but where there are fewer steps than warps.
    if (s.piece(*d) < s.deep && (s.splits > 1 || s.across == 1)) return;
    if (shared_bytes(problem, *d, s) > allowed_shared(problem)) return;
    found.emplace_back(estimate(problem, *d, s), s);
  });
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // The estimate does not tell many warps from room for the next launch: as many of both.
  std::vector<std::string> texts, others;
  for (const auto& [time, s] : found) {
    std::vector<std::string>& of = s.leaves_room() ? texts : others;
    if (of.size() < kOffered / 2) of.push_back(s.text());
  }
  texts.insert(texts.end(), others.begin(), others.end());
  return texts.empty() ? std::vector<std::string>{""} : texts;
}

Sharing sharing_of(std::string_view config) {
  Sharing s;
  s.across = config_number(config, "across").value_or(s.across);
  s.deep = config_number(config, "deep").value_or(s.deep);
  s.tiles = config_number(config, "tiles").value_or(s.tiles);
  s.splits = config_number(config, "splits").value_or(8);  // The least shared memory.
  return s;
}

/// Where weights lie in the order in which threads of the kernel take them: by the tiles of a warp,
/// step, tile, vector of 16 bytes, thread. A thread has columns `row` and `row + 8` and, of 32
/// along k, those from 8 * `part` on. A weight's first bit is the sum of the two functions of its
/// place in the step.
int64_t bit_along(int64_t k, int64_t bits) {
  const int64_t part = k % 32 / 8, matrix = k / 32 * 2 + k % 8 / 4;  // The latter of 16 along k.
  const int64_t word = bits == 4 ? matrix : matrix * 2;
  const int64_t within = bits == 4 ? (k % 2 * 4 + k % 4 / 2 * 2) * 4 : k % 4 * 8;
  return (word / 4 * 512 + part * 16 + word % 4 * 4) * 8 + within;
}
int64_t bit_across(int64_t column, int64_t bits) {
  const int64_t row = column % 8, second = column / 8;
  return row * 4 * 16 * 8 + second * (bits == 4 ? 4 : 32);
}

std::vector<std::byte> pack(const Tensor& tensor, const Description& d, int64_t tiles) {
  int64_t along[kStep], across[kTile];
  for (int64_t k = 0; k < kStep; ++k) along[k] = bit_along(k, d.bits());
  for (int64_t n = 0; n < kTile; ++n) across[n] = bit_across(n, d.bits());
  const auto* from = reinterpret_cast<const uint8_t*>(tensor.bytes());
  const int64_t step_bytes = kTile * kStep * d.bits() / 8;
  std::vector<std::byte> bytes(static_cast<size_t>(d.padded_tiles(tiles) * d.steps() * step_bytes));
  const unsigned mask = d.bits() == 4 ? 15 : 255, start = static_cast<unsigned>(d.start());
  for (int64_t tile = 0; tile < d.tiles(); ++tile)
    for (int64_t k = 0; k < d.weights.depth; ++k) {
      const int64_t place = (tile / tiles * d.steps() + k / kStep) * tiles + tile % tiles;
      std::byte* to = bytes.data() + place * step_bytes;
      const int64_t count = std::min(kTile, d.weights.columns - tile * kTile);
      for (int64_t n = 0; n < count; ++n) {
        const unsigned weight = (from[d.weights.at(k, tile * kTile + n)] + start) & mask;
        const int64_t bit = along[k % kStep] + across[n];
        to[bit / 8] |= static_cast<std::byte>(weight << (bit % 8));
      }
    }
  return bytes;
}

/// Numbers of blocks and columns in the order of the weights, those of columns `row` and `row + 8`
/// side by side.
std::vector<std::byte> pack_numbers(const Tensor& numbers, const Description& d, int64_t tiles) {
  const auto size = static_cast<size_t>(byte_size(numbers.type()));
  std::vector<std::byte> bytes(static_cast<size_t>(d.padded_tiles(tiles) * d.blocks() * kTile) *
                               size);
  for (int64_t n = 0; n < d.weights.columns; ++n)
    for (int64_t block = 0; block < (d.weights.blocked ? d.weights.blocks() : 1); ++block) {
      const int64_t tile = n / kTile;
      const int64_t place = (tile / tiles * d.blocks() + block) * tiles + tile % tiles;
      const int64_t to = place * kTile + n % 8 * 2 + n % kTile / 8;
      const auto from = static_cast<size_t>(d.weights.number_at(block, n));
      std::memcpy(bytes.data() + static_cast<size_t>(to) * size, numbers.bytes() + from * size,
                  size);
    }
  return bytes;
}

std::string recipe(const Description& d, int64_t tiles, std::string_view of) {
  return fmt::format("quantized.weights: {} of {}x{}, {}, blocks of {}, {} tiles", of,
                     d.weights.depth, d.weights.columns, d.weights.across ? "across" : "along",
                     d.weights.blocked ? d.weights.block : 0, tiles);
}

std::vector<JitConstant> constants(const Problem& problem, const Description& d, int64_t tiles) {
  const Tensor &weights = *problem.input(d.weights.weights).constant,
               &scales = *problem.input(d.weights.scales).constant;
  std::vector<JitConstant> made;
  made.emplace_back([weights, d, tiles] { return pack(weights, d, tiles); }, weights,
                    recipe(d, tiles, "numbers"));
  made.emplace_back([scales, d, tiles] { return pack_numbers(scales, d, tiles); }, scales,
                    recipe(d, tiles, "scales"));
  if (!d.has_zeros) return made;
  const Tensor& zeros = *problem.input(d.weights.zeros).constant;
  const DataType type = problem.input(d.x).type;
  made.emplace_back(
      [zeros, d, type, tiles] {
        Tensor numbers(type, zeros.extents());
        for (int64_t i = 0; i < zeros.count(); ++i)
          numbers.set_from_double(i, static_cast<double>(zeros.as_int64(i) + d.start()));
        return pack_numbers(numbers, d, tiles);
      },
      zeros, recipe(d, tiles, fmt::format("zeros in {}", name_of(type))));
  return made;
}

void add_constants(KernelCode& code, const Problem& problem, const Description& d, const Sharing& s,
                   bool cluster) {
  const Operand &x = problem.input(d.x), &y = problem.output();
  code.type("X", x.type);
  code.type("Y", y.type);
  code.type("Scale", problem.input(d.weights.scales).type);
  code.matrix_type(x.type);
  code.round_to(y.type);
  code.open("kM", d.rows);
  code.constant("kN", d.weights.columns);
  code.constant("kK", d.weights.depth);
  code.constant("kBits", d.bits());
  code.constant("kScaleBlock", d.weights.blocked ? d.weights.block : 0);
  code.flag("kHasZeros", d.has_zeros);
  code.constant("kZero", d.zero);
  code.constant("kLoad", load_width(x));
  code.flag("kDirect", reads_directly(problem, d));
  code.constant("kWarpsN", s.across);
  code.constant("kWarpsK", s.deep);
  code.constant("kTiles", s.tiles);
  code.constant("kGroup", s.group());
  code.constant("kSplits", s.splits);
  const Ahead ahead = steps_ahead(problem, d, s);
  code.constant("kAhead", ahead.chunks);
  code.constant("kChunk", ahead.chunk);
  code.constant("kWindow", std::clamp<int64_t>(kWindow / (ahead.chunk * step_bytes(problem, d, s)),
                                               1, ahead.chunks * s.warps()));
  code.flag("kCluster", cluster);
  const int64_t finished = cluster ? s.columns() / s.splits : s.columns();
  int64_t pack = 4;
  while (d.weights.columns % pack != 0 || finished % pack != 0) pack /= 2;
  code.constant("kPack", pack);
  code.located("XRowAt", loop_over(x.extents, memory_order(x.rank() - 1, Layout::kRowMajor)), x,
               strides_of(x));
  code.located("YAt", d.loop, y);
}

Result<JitLaunch> main_launch(const Problem& problem, const Description& d, const Sharing& s,
                              bool cluster) {
  KernelCode code;
  begin_code(code, problem);
  add_constants(code, problem, d, s, cluster);
  const int64_t threads = s.warps() * 32 + (capability_of(problem) >= 90 ? 32 : 0);
  code.constant("kBlock", threads);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, d.region, d.loop));
  JitLaunch launch;
  TENON_TRY(set_source(
      launch, code,
      {"jit/matrix.cuh", "jit/pairs.cuh", "quantized/weights_unpack.cuh", "quantized/weights.cu"}));
  launch.grid[0] = blocks_for(d.weights.columns, s.columns()) * s.splits;
  launch.block[0] = static_cast<int>(threads);
  launch.shared_bytes = static_cast<int>(shared_bytes(problem, d, s));
  launch.cluster = cluster ? static_cast<int>(s.splits) : 0;
  launch.add(JitArgument::input(d.x));
  launch.add(JitArgument::constant(0));
  launch.add(JitArgument::constant(1));
  launch.add(d.has_zeros ? JitArgument::constant(2) : JitArgument::null());
  launch.add(JitArgument::output());
  launch.add(s.splits > 1 && !cluster ? JitArgument::workspace(0) : JitArgument::null());
  launch.add_inputs(operands);
  return launch;
}

Result<JitLaunch> finish_launch(const Problem& problem, const Description& d, const Sharing& s) {
  constexpr int kFinishBlock = 128;
  KernelCode code;
  begin_code(code, problem);
  add_constants(code, problem, d, s, false);
  code.constant("kBlock", kFinishBlock);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, d.region, d.loop));
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"gemm/skinny_finish.cu"}));
  launch.grid[0] = blocks_for(d.rows * d.weights.columns, kFinishBlock);
  launch.block[0] = kFinishBlock;
  launch.add(JitArgument::output());
  launch.add(JitArgument::workspace(0));
  launch.add_inputs(operands);
  return launch;
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const Description d, describe(problem));
  const Sharing s = sharing_of(config);
  const bool cluster = s.splits > 1 && capability_of(problem) >= 90;
  JitPlan plan;
  TENON_ASSIGN(JitLaunch main, main_launch(problem, d, s, cluster));
  plan.launches.push_back(std::move(main));
  plan.constants = constants(problem, d, s.tiles);
  if (s.splits == 1 || cluster) return plan;
  plan.workspace_bytes = s.splits * d.rows * d.weights.columns * 4;
  TENON_ASSIGN(JitLaunch finish, finish_launch(problem, d, s));
  plan.launches.push_back(std::move(finish));
  return plan;
}

}  // namespace
}  // namespace tenon::tactics::cuda_quantized_weights

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_quantized_weights, cuda_quantized_weights::sharings)
}  // namespace tenon::tactics
