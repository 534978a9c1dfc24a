// Products of few rows of 16 bits with constant weights of 4 or 8 bits (quantized/weights.cu).
#include <algorithm>
#include <cstring>
#include <set>

#include "kernels/dequantized_weights.h"
#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/tactic.h"

namespace tenon::tactics::cuda_quantized_weights {
namespace {

/// Of the kernel: columns of a tile, steps along k, rows of a tile of the tensor cores.
constexpr int64_t kTile = 16, kStep = 128, kRows = 8;
constexpr int64_t kBarrier = 8;     ///< Bytes, of a chunk.
constexpr int64_t kAllPlaces = 99;  ///< A window of more chunks than have places.
/// Sharings, those of each form of rows where there are two, and ways of each.
constexpr size_t kOffered = 8, kOfferedOfEachForm = 4, kMostWays = 4;

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
  int64_t steps() const { return blocks_for(weights.depth, kStep); }
  /// Blocks of scales that a step's record has.
  int64_t record_blocks() const {
    return weights.blocked ? std::max<int64_t>(1, kStep / weights.block) : 0;
  }
};

/// How the work is shared: warps of a block across the columns and along k, tiles of a warp, blocks
/// along k. A warp takes `chunk` steps at a time and has places for `slots` of them, of which it
/// asks for `window` at a time at first; the launch behind may start when `lets` in a hundred
/// chunks are asked for, or kBehindRows. Rows pass shared memory, or are loaded `ahead` steps
/// before these are multiplied, with `digits` as integers.
struct Sharing {
  int64_t across = 1, deep = 8, tiles = 1, splits = 1, chunk = 1, slots = 1, lets = 100, ahead = 0,
          window = kAllPlaces;
  bool digits = false;

  int64_t warps() const { return across * deep; }
  int64_t columns() const { return across * tiles * kTile; }
  int64_t piece(const Description& d) const { return blocks_for(d.steps(), splits); }
  /// Chunks of a warp.
  int64_t chunks(const Description& d) const { return blocks_for(piece(d), chunk * deep); }
  /// Tiles that are multiplied side by side: at most four, so that their numbers stay in registers.
  int64_t group() const { return blocks_for(tiles, groups()); }
  int64_t groups() const { return blocks_for(tiles, 4); }
  std::string text() const {
    return fmt::format(
        "across={},deep={},tiles={},splits={},chunk={},slots={},window={},lets={},ahead={},digits={"
        "}",
        across, deep, tiles, splits, chunk, slots, window, lets, ahead, digits ? 1 : 0);
  }
};

constexpr int64_t kAcross[] = {1, 2, 4, 8}, kDeep[] = {1, 2, 4, 8, 16}, kTiles[] = {1, 2, 4},
                  kSplits[] = {1, 2, 4, 8};
constexpr int64_t kFewestWarps = 8, kMostWarps = 16, kMostTiles = 16;
constexpr int64_t kDigits = 3;        ///< Of a row's number.
constexpr int64_t kBehindRows = 101;  ///< The launch behind starts when the first rows are here.

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

/// Bytes of a step of a warp: weights, scales, zero points.
int64_t record_bytes(const Problem& problem, const Description& d, const Sharing& s) {
  const int64_t scale = byte_size(problem.input(d.weights.scales).type);
  return s.tiles * kTile *
         (kStep * d.bits() / 8 + d.record_blocks() * (scale + (d.has_zeros ? 2 : 0)));
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

/// Whether rows are copied to shared memory without passing registers. Before Hopper groups of such
/// copies are those of weights.
bool copies_rows(const Problem& problem, const Description& d) {
  return capability_of(problem) >= 90 && load_width(problem.input(d.x)) == 8;
}

/// Whether rows may be loaded to registers.
bool takes_registers(const Problem& problem, const Description& d) {
  return load_width(problem.input(d.x)) == 8;
}

/// Whether rows may be multiplied as integers, of which a product of bytes takes two rows.
bool takes_digits(const Problem& problem, const Description& d) {
  return d.weights.nibbles() && d.rows <= 2 && takes_registers(problem, d);
}

int64_t row_bytes(const Description& d, const Sharing& s) {
  if (s.digits) return s.warps() * s.ahead * d.rows * kDigits * kStep;
  if (s.ahead > 0) return 0;
  return d.rows * (s.piece(d) * kStep + 32) * 2;
}

/// Bytes of a place for chunks of all warps of a block.
int64_t slot_bytes(const Problem& problem, const Description& d, const Sharing& s) {
  return s.warps() * (s.chunk * record_bytes(problem, d, s) + kBarrier);
}
int64_t shared_bytes(const Problem& problem, const Description& d, const Sharing& s) {
  return row_bytes(d, s) + s.slots * slot_bytes(problem, d, s);
}

/// About how many cycles a launch takes in a chain of others: a multiprocessor's weights come from
/// memory, while the weights before them are multiplied, be it by instructions of its warps or by
/// the chain of one warp's steps; behind the last weights their products are left, and sums on
/// their way, and blocks that meet.
double estimate(const Problem& problem, const Description& d, const Sharing& s) {
  // Counted in machine code for sm_90: instructions for a step, and for each of its tiles; cycles
  // from one group of tiles to the next.
  const double of_step = s.digits ? 40 + 50 * static_cast<double>(d.rows) : 40;
  const double of_tile = s.digits ? 40 : 60;
  constexpr double kChain = 300;
  // Of a multiprocessor: schedulers, bytes of shared memory a cycle, of the second-level cache and
  // of memory. Cycles of a launch that does nothing, and by which those of clusters took longer in
  // a chain on an H200: pairs of blocks that multiply integers, or any.
  constexpr double kSchedulers = 4, kSharedRate = 128, kRate = 64, kMemoryRate = 18, kLaunch = 2000,
                   kPair = 700, kCluster = 2000;
  const double meeting = s.splits == 1 ? 0 : s.digits ? kPair : kCluster;
  const auto wide = [](int64_t number) { return static_cast<double>(number); };
  const int64_t blocks = blocks_for(d.weights.columns, s.columns()) * s.splits;
  // More than one comes to a multiprocessor as others end, those of the launch behind, too.
  const double each = std::max(1.0, wide(blocks) / wide(multiprocessors(problem)));
  const double steps = each * wide(s.piece(d) * s.across),
               deep = wide(blocks_for(s.piece(d), s.deep));
  const double fetching = steps * wide(record_bytes(problem, d, s)) / kMemoryRate;
  const double products = std::max(steps * (of_step + wide(s.tiles) * of_tile) / kSchedulers,
                                   deep * wide(s.groups()) * kChain);
  const double rows = wide(d.rows * s.piece(d) * kStep * 2);
  const double sums = wide(2 * d.rows * s.columns() * 4 * s.deep);
  const double behind = products / deep + each * (rows / kRate + sums / kSharedRate) + meeting;
  return std::max(fetching, kLaunch + products) + behind;
}

/// Of a warp: copies of less keep threads busy that ask for them.
int64_t chunk_of(const Problem& problem, const Description& d, const Sharing& s) {
  constexpr int64_t kEnough = 2048;
  int64_t chunk = 1;
  while (chunk < 4 && chunk * record_bytes(problem, d, s) < kEnough &&
         2 * chunk * s.deep <= s.piece(d))
    chunk *= 2;
  return chunk;
}

/// Whether each of the warps has a step, and columns, each scheduler has enough of them, and the
/// fewest places fit.
bool fits(const Problem& problem, const Description& d, const Sharing& s) {
  const bool idle = s.piece(d) < s.deep || (s.across - 1) * s.tiles >= d.tiles() ||
                    (s.splits - 1) * s.piece(d) >= d.steps();
  const bool few = s.warps() < kFewestWarps && 2 * s.deep <= s.piece(d);
  return !idle && !few && s.warps() <= kMostWarps && s.across * s.tiles <= kMostTiles &&
         shared_bytes(problem, d, s) <= allowed_shared(problem);
}

std::vector<Sharing> sharings_of_halves(const Problem& problem, const Description& d) {
  std::vector<Sharing> all;
  for (const int64_t across : kAcross)
    for (const int64_t deep : kDeep)
      for (const int64_t tiles : kTiles)
        for (const int64_t splits : kSplits) {
          Sharing s{across, deep, tiles, splits};
          s.chunk = chunk_of(problem, d, s);
          if (fits(problem, d, s)) all.push_back(s);
        }
  return all;
}

/// Each multiprocessor has a block or two or four, or equal shares of more. Each of a block's warps
/// loads its own numbers of the rows; clusters of more than two do not fill all multiprocessors.
std::vector<Sharing> equal_sharings(const Problem& problem, const Description& d, bool digits) {
  constexpr int64_t kMostOfWarp = 8;
  const std::vector<int64_t> aheads = digits ? std::vector<int64_t>{2} : std::vector<int64_t>{1, 2};
  std::vector<Sharing> all;
  for (const int64_t splits : {1, 2}) {
    std::set<int64_t> numbers;
    for (const int64_t each : {1, 2, 4}) {
      const int64_t tiles = blocks_for(d.tiles() * splits, each * multiprocessors(problem));
      numbers.insert(blocks_for(tiles, blocks_for(tiles, kMostOfWarp)));
    }
    for (const int64_t tiles : numbers)
      for (const int64_t deep : kDeep)
        for (const int64_t ahead : aheads) {
          Sharing s{1, deep, tiles, splits};
          s.digits = digits;
          s.ahead = std::min<int64_t>(ahead, s.piece(d) / deep);
          if (s.ahead == 0 || (s.ahead < ahead && ahead != aheads.front())) continue;
          s.chunk = chunk_of(problem, d, s);
          if (fits(problem, d, s)) all.push_back(s);
        }
  }
  return all;
}

/// Of these the ones whose warps ask for as much at a time as keeps memory busy until it comes,
/// and leave room for more of it; all where none does.
std::vector<Sharing> sharings_of_registers(const Problem& problem, const Description& d) {
  constexpr int64_t kLeast = 16 << 10, kMost = 48 << 10;
  std::vector<Sharing> all = equal_sharings(problem, d, takes_digits(problem, d)), found;
  for (const Sharing& s : all)
    if (const int64_t bytes = slot_bytes(problem, d, s); bytes >= kLeast && bytes <= kMost)
      found.push_back(s);
  return found.empty() ? all : found;
}

/// Whether all of each warp's steps, as many as the others', have places.
bool is_whole(const Problem& problem, const Description& d, const Sharing& s) {
  return capability_of(problem) >= 90 && s.ahead > 0 && s.across == 1 && s.slots == s.chunks(d) &&
         d.weights.depth % (kStep * s.splits * s.deep * s.chunk) == 0;
}

/// Blocks of a launch, with idle ones that only wait: each multiprocessor has as many. No block is
/// idle where fewer than half of the multiprocessors have one, or blocks do not wait for launches.
int64_t launched_blocks(const Problem& problem, const Description& d, const Sharing& s) {
  const int64_t blocks = blocks_for(d.weights.columns, s.columns()) * s.splits;
  const int64_t each = multiprocessors(problem) / s.splits * s.splits;
  if (s.ahead == 0 || capability_of(problem) < 90 || 2 * blocks < each) return blocks;
  return blocks_for(blocks, each) * each;
}

/// Of one sharing: how many chunks are under way, and when the launch behind starts. Where that is
/// much and soon, memory is never idle, but the rows wait behind the weights; only a chain of
/// launches tells which is better. Where all chunks have places they are asked for at once.
std::vector<Sharing> ways_of_halves(const Problem& problem, const Description& d,
                                    const Sharing& s) {
  constexpr int64_t kReserved = 1024;  // Of a block's memory.
  // Of a multiprocessor, and the fewest places of each.
  constexpr std::pair<int64_t, int64_t> kBlocks[] = {{4, 2}, {2, 1}};
  std::vector<Sharing> ways;
  for (const int64_t lets : {100, 80, 0})
    for (const auto& [blocks, fewest] : kBlocks) {
      Sharing way = s;
      const int64_t own = row_bytes(d, s), slot = slot_bytes(problem, d, s);
      const int64_t room = (shared_limit(problem) + kReserved) / blocks - kReserved - own;
      way.slots = std::min(
          {std::max(room / slot, fewest), (allowed_shared(problem) - own) / slot, s.chunks(d)});
      way.lets = lets;
      const bool all = way.slots == s.chunks(d);
      const bool is_new = ways.empty() || ways.back().text() != way.text();
      if (is_new && all == (lets == 100)) ways.push_back(way);
    }
  return ways;
}

/// The same of rows in registers: two or three blocks of a multiprocessor have two places at least,
/// half of which are asked for at a time, as the rows wait behind weights under way; or all.
std::vector<Sharing> ways_of_registers(const Problem& problem, const Description& d,
                                       const Sharing& s) {
  constexpr int64_t kReserved = 1024;
  std::vector<Sharing> ways;
  const auto add = [&](const Sharing& way) {
    const auto is_same = [&](const Sharing& other) { return other.text() == way.text(); };
    if (std::ranges::none_of(ways, is_same)) ways.push_back(way);
  };
  const int64_t chunks = s.chunks(d), fewest = std::min<int64_t>(2, chunks);
  for (const int64_t parts : {2, 1})
    for (const int64_t lets : {int64_t{60}, kBehindRows})
      for (const int64_t blocks : {2, 3}) {
        const int64_t room = std::min((shared_limit(problem) + kReserved) / blocks - kReserved,
                                      allowed_shared(problem));
        Sharing way = s;
        way.slots = std::min((room - row_bytes(d, s)) / slot_bytes(problem, d, s), chunks);
        way.window = std::max<int64_t>(1, way.slots / parts);
        way.lets = lets;
        if (way.slots >= fewest) add(way);
      }
  if (ways.empty()) ways.push_back(s);
  return ways;
}

/// The best of them by the estimate.
std::vector<Sharing> offered(const Problem& problem, const Description& d,
                             const std::vector<Sharing>& all, size_t most) {
  std::vector<std::pair<double, Sharing>> found;
  for (const Sharing& s : all) found.emplace_back(estimate(problem, d, s), s);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Sharing> best;
  for (size_t i = 0; i < std::min(most, found.size()); ++i) best.push_back(found[i].second);
  return best;
}

std::vector<std::string> sharings(const Problem& problem) {
  const auto d = describe(problem);
  if (!d.ok()) return {""};
  std::vector<std::vector<Sharing>> ways;
  // Which form of rows is faster differs: where a launch is short its products are a small part.
  if (takes_registers(problem, *d))
    for (const Sharing& s :
         offered(problem, *d, sharings_of_registers(problem, *d), kOfferedOfEachForm))
      ways.push_back(ways_of_registers(problem, *d, s));
  const size_t of_halves = ways.empty() ? kOffered : kOfferedOfEachForm;
  for (const Sharing& s : offered(problem, *d, sharings_of_halves(problem, *d), of_halves))
    ways.push_back(ways_of_halves(problem, *d, s));
  // First one way of each.
  std::vector<std::string> texts;
  for (size_t i = 0; i < kMostWays; ++i)
    for (const std::vector<Sharing>& of : ways)
      if (i < of.size()) texts.push_back(of[i].text());
  return texts.empty() ? std::vector<std::string>{""} : texts;
}

Sharing sharing_of(std::string_view config) {
  Sharing s;
  s.across = config_number(config, "across").value_or(s.across);
  s.deep = config_number(config, "deep").value_or(1);
  s.tiles = config_number(config, "tiles").value_or(s.tiles);
  s.splits = config_number(config, "splits").value_or(8);  // The least shared memory.
  s.chunk = config_number(config, "chunk").value_or(s.chunk);
  s.slots = config_number(config, "slots").value_or(s.slots);
  s.lets = config_number(config, "lets").value_or(s.lets);
  s.ahead = config_number(config, "ahead").value_or(s.ahead);
  s.window = config_number(config, "window").value_or(s.window);
  s.digits = config_number(config, "digits").value_or(0) != 0;
  return s;
}

/// Where weights of a tile and a step lie in the order in which threads of the kernel take them: by
/// vector of 16 bytes, thread. A thread has columns `row` and `row + 8` and, of 32 along k, those
/// from 8 * `part` on. A weight's first bit is the sum of the two functions of its
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

/// The places of records: of tiles of a warp, behind each other for all steps.
struct Records {
  const Description& d;
  int64_t tiles, bytes;
  std::vector<std::byte> all =
      std::vector<std::byte>(static_cast<size_t>(blocks_for(d.tiles(), tiles) * d.steps() * bytes));

  /// Of one that a tile is in.
  std::byte* at(int64_t tile, int64_t step) {
    return all.data() + (tile / tiles * d.steps() + step) * bytes;
  }
  int64_t weight_bytes() const { return kTile * kStep * d.bits() / 8; }
};

void pack_weights(Records& records, const Tensor& tensor) {
  const Description& d = records.d;
  int64_t along[kStep], across[kTile];
  for (int64_t k = 0; k < kStep; ++k) along[k] = bit_along(k, d.bits());
  for (int64_t n = 0; n < kTile; ++n) across[n] = bit_across(n, d.bits());
  const auto* from = reinterpret_cast<const uint8_t*>(tensor.bytes());
  const unsigned mask = d.bits() == 4 ? 15 : 255, start = static_cast<unsigned>(d.start());
  for (int64_t tile = 0; tile < d.tiles(); ++tile)
    for (int64_t k = 0; k < d.weights.depth; ++k) {
      std::byte* to = records.at(tile, k / kStep) + tile % records.tiles * records.weight_bytes();
      const int64_t count = std::min(kTile, d.weights.columns - tile * kTile);
      for (int64_t n = 0; n < count; ++n) {
        const unsigned weight = (from[d.weights.at(k, tile * kTile + n)] + start) & mask;
        const int64_t bit = along[k % kStep] + across[n];
        to[bit / 8] |= static_cast<std::byte>(weight << (bit % 8));
      }
    }
}

/// Where a column's number lies among those of its tile: `row` and `row + 8` are side by side.
int64_t place_of(int64_t column) {
  return column / kTile * kTile + column % 8 * 2 + column % kTile / 8;
}

/// Scales or zero points of blocks, `begin` bytes behind the first of each record.
void pack_blocks(Records& records, const Tensor& numbers, int64_t begin) {
  const Description& d = records.d;
  const auto size = static_cast<size_t>(byte_size(numbers.type()));
  for (int64_t n = 0; n < d.weights.columns; ++n)
    for (int64_t step = 0; step < d.steps(); ++step)
      for (int64_t b = 0; b < d.record_blocks(); ++b) {
        const int64_t block = (step * kStep + b * kStep / d.record_blocks()) / d.weights.block;
        if (block >= d.weights.blocks()) continue;
        const int64_t tile = n / kTile;
        const int64_t place =
            (tile % records.tiles * d.record_blocks() + b) * kTile + place_of(n % kTile);
        std::memcpy(records.at(tile, step) + begin + place * static_cast<int64_t>(size),
                    numbers.bytes() + static_cast<size_t>(d.weights.number_at(block, n)) * size,
                    size);
      }
}

/// Those of columns, which hold for all of k.
std::vector<std::byte> pack_columns(const Tensor& numbers, const Description& d, int64_t tiles) {
  const auto size = static_cast<size_t>(byte_size(numbers.type()));
  std::vector<std::byte> bytes(static_cast<size_t>(blocks_for(d.tiles(), tiles) * tiles * kTile) *
                               size);
  for (int64_t n = 0; n < d.weights.columns; ++n)
    std::memcpy(bytes.data() + static_cast<size_t>(place_of(n)) * size,
                numbers.bytes() + static_cast<size_t>(d.weights.number_at(0, n)) * size, size);
  return bytes;
}

/// Zero points, counted from the least number, as numbers of the rows' type.
Tensor zeros_of(const Problem& problem, const Description& d) {
  const Tensor& zeros = *problem.input(d.weights.zeros).constant;
  Tensor numbers(problem.input(d.x).type, zeros.extents());
  for (int64_t i = 0; i < zeros.count(); ++i)
    numbers.set_from_double(i, static_cast<double>(zeros.as_int64(i) + d.start()));
  return numbers;
}

std::string recipe(const Description& d, int64_t tiles, std::string_view of) {
  return fmt::format("quantized.weights: {} of {}x{}, {}, blocks of {}, {} tiles", of,
                     d.weights.depth, d.weights.columns, d.weights.across ? "across" : "along",
                     d.weights.blocked ? d.weights.block : 0, tiles);
}

std::vector<JitConstant> constants(const Problem& problem, const Description& d, const Sharing& s) {
  const Tensor &weights = *problem.input(d.weights.weights).constant,
               &scales = *problem.input(d.weights.scales).constant;
  const Tensor zeros = d.has_zeros ? zeros_of(problem, d) : Tensor();
  const int64_t tiles = s.tiles, bytes = record_bytes(problem, d, s);
  const bool blocked = d.weights.blocked;
  std::string of = "records";
  if (blocked) of += " with scales " + scales.content_hash();
  if (blocked && d.has_zeros) of += " and zeros " + zeros.content_hash();
  std::vector<JitConstant> made;
  made.emplace_back(
      [weights, scales, zeros, d, tiles, bytes] {
        Records records{d, tiles, bytes};
        pack_weights(records, weights);
        const int64_t scales_at = tiles * records.weight_bytes();
        if (d.weights.blocked) pack_blocks(records, scales, scales_at);
        if (d.weights.blocked && d.has_zeros)
          pack_blocks(records, zeros,
                      scales_at + tiles * kTile * d.record_blocks() * byte_size(scales.type()));
        return std::move(records.all);
      },
      weights, recipe(d, tiles, of));
  if (blocked) return made;
  made.emplace_back([scales, d, tiles] { return pack_columns(scales, d, tiles); }, scales,
                    recipe(d, tiles, "scales"));
  if (d.has_zeros)
    made.emplace_back([zeros, d, tiles] { return pack_columns(zeros, d, tiles); },
                      *problem.input(d.weights.zeros).constant,
                      recipe(d, tiles, fmt::format("zeros in {}", name_of(zeros.type()))));
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
  code.flag("kCopies", copies_rows(problem, d));
  code.constant("kAcross", s.across);
  code.constant("kDeep", s.deep);
  code.constant("kTiles", s.tiles);
  code.constant("kGroup", s.group());
  code.constant("kSplits", s.splits);
  code.constant("kChunk", s.chunk);
  // Of groups of copies that may be under way, which is a part of an instruction before Hopper.
  code.constant("kPending", capability_of(problem) < 90 ? s.slots - 1 : 0);
  code.constant("kAhead", s.ahead);
  code.flag("kWhole", is_whole(problem, d, s));
  code.text(s.digits ? "#define DIGITS 1\n" : "#define DIGITS 0\n");
  if (s.digits) code.constant("kDigitRows", d.rows);
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
  KernelCode code = begin_code(problem);
  add_constants(code, problem, d, s, cluster);
  code.constant("kBlock", s.warps() * 32);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, d.region, d.loop));
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code,
                           {"jit/matrix.cuh", "jit/pairs.cuh", "quantized/weights_unpack.cuh",
                            "quantized/weights.cu"},
                           launched_blocks(problem, d, s), s.warps() * 32));
  launch.shared_bytes = static_cast<int>(shared_bytes(problem, d, s));
  launch.cluster = cluster ? static_cast<int>(s.splits) : 0;
  launch.add({JitArgument::input(d.x), JitArgument::constant(0)});
  const bool by_columns = !d.weights.blocked;
  launch.add({by_columns ? JitArgument::constant(1) : JitArgument::null(),
              by_columns && d.has_zeros ? JitArgument::constant(2) : JitArgument::null(),
              JitArgument::output(),
              s.splits > 1 && !cluster ? JitArgument::workspace(0) : JitArgument::null()});
  for (const int64_t number : {s.slots, s.lets, s.window}) launch.add(JitArgument::number(number));
  launch.add_inputs(operands);
  return launch;
}

Result<JitLaunch> finish_launch(const Problem& problem, const Description& d, const Sharing& s) {
  constexpr int kFinishBlock = 128;
  KernelCode code = begin_code(problem);
  add_constants(code, problem, d, s, false);
  code.constant("kBlock", kFinishBlock);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, d.region, d.loop));
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"gemm/skinny_finish.cu"},
                           blocks_for(d.rows * d.weights.columns, kFinishBlock), kFinishBlock));
  launch.add({JitArgument::output(), JitArgument::workspace(0)});
  launch.add_inputs(operands);
  return launch;
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const Description d, describe(problem));
  Sharing s = sharing_of(config);
  if (!takes_registers(problem, d)) s.ahead = 0;
  s.digits = s.digits && s.ahead > 0 && takes_digits(problem, d);
  const bool cluster = s.splits > 1 && capability_of(problem) >= 90;
  JitPlan plan;
  TENON_ASSIGN(JitLaunch main, main_launch(problem, d, s, cluster));
  plan.launches.push_back(std::move(main));
  plan.constants = constants(problem, d, s);
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
