#include "kernels/gemm/sparse_cuda.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tenon::hopper {
namespace {

/// Bytes of shared memory of a multiprocessor, and the system's share of each block.
constexpr int64_t kSharedBytes = 228 * 1024, kReservedBytes = 1024;

/// Of a block of 64 columns and a stage: numbers, then a word a thread of a warp group. As many
/// blocks as a tile has may be read behind the last one.
constexpr int64_t kRows = 64, kNumbers = kRows * 64, kBlockBytes = kNumbers + 128 * 4;
constexpr int64_t kMostBlocks = 4;

/// Cycles, roughly: products, which shared memory makes longer, or the fetching of operands; the
/// epilogue.
double estimate(const SparseTiling& t, const ProductSizes& p, int units) {
  const auto rows = static_cast<double>(t.rows), columns = static_cast<double>(t.columns());
  const auto each = static_cast<double>(t.each);
  const auto all = static_cast<double>(t.tiles(p));
  const auto blocks = static_cast<double>(blocks_for(p.k, kTileK));
  const double fetching = 1.55 + 0.65 * std::min(1.0, all / units);
  const double kept = 1 + 32 / rows;  // Weights from shared memory, beside the rows'.
  const double products =
      blocks * std::max(rows * columns / 64 * kept, fetching * (rows + columns * 0.56));
  const double epilogue = rows * columns * 0.25 + 300, turns = static_cast<double>(t.turns);
  const double waves = std::ceil(all / (units * each));
  // One group alone multiplies so much slower on an H200.
  constexpr double kAlone = 1.2;
  if (t.turns > 1)
    return waves * std::max(products * kAlone, (products + epilogue) / turns) + epilogue + 2200;
  return waves * (products + epilogue) * (t.each > 1 ? each * 0.95 : 1.0) + 2200;
}

bool fits(const SparseTiling& t, const ProductSizes& p, int units, int64_t group) {
  if (!t.is_possible() || t.own() % group != 0) return false;
  if (t.rows >= p.m + 64 || (t.columns() > 64 && t.columns() >= p.n + 64)) return false;
  return t.turns == 1 || t.tiles(p) > units * (t.turns - 1);
}

std::vector<SparseTiling> all_tilings() {
  std::vector<SparseTiling> all;
  for (const int64_t rows : {64, 128, 192, 256})
    for (const int64_t groups : {1, 2, 3})
      for (const int64_t parts : {1, 2})
        for (const int64_t each : {1, 2}) {
          all.push_back({rows, groups, parts, 1, each});
          if (groups == 2 && each == 1) all.push_back({rows, groups, parts, 2, each});
        }
  return all;
}

/// The column of a warp's 16 that a row of the tensor cores' operand is: threads have pairs.
int64_t column_of(int64_t row) {
  return row < 8 ? 2 * row : 2 * (row - 8) + 1;
}

/// Places of the two numbers of four that are kept, the first one smaller.
struct Kept {
  int first = 0, second = 1;
  unsigned bits() const { return static_cast<unsigned>(first | second << 2); }
};
Kept kept_of(const uint16_t (&numbers)[4]) {
  int found[4], count = 0;
  for (int i = 0; i < 4; ++i)
    if ((numbers[i] & 0x7fff) != 0) found[count++] = i;
  if (count == 0) return {};
  if (count == 1) return found[0] < 3 ? Kept{found[0], found[0] + 1} : Kept{2, 3};
  return {found[0], found[1]};
}

/// One row of 64 along k: its numbers into a block, and four bits for each four.
uint64_t pack_row(const uint16_t (&numbers)[64], int64_t row, std::byte* block) {
  uint64_t places = 0;
  for (int64_t four = 0; four < 16; ++four) {
    uint16_t some[4];
    std::copy_n(numbers + four * 4, 4, some);
    const Kept kept = kept_of(some);
    places |= static_cast<uint64_t>(kept.bits()) << (four * 4);
    const uint16_t pair[2] = {some[kept.first], some[kept.second]};
    // Pieces of 16 bytes of the rows are swizzled.
    const int64_t piece = four / 4 ^ (row / 2 % 4);
    std::memcpy(block + row * 64 + piece * 16 + four % 4 * 4, pair, sizeof pair);
  }
  return places;
}

/// Words of the block's threads: of rows r and r + 8 of each warp, 16 along k each.
void pack_places(const uint64_t (&places)[kRows], std::byte* block) {
  for (int64_t thread = 0; thread < 128; ++thread) {
    const int64_t row = thread / 32 * 16 + thread % 32 / 4, shift = thread % 4 * 16;
    const auto word = static_cast<uint32_t>((places[row] >> shift & 0xffff) |
                                            (places[row + 8] >> shift & 0xffff) << 16);
    std::memcpy(block + kNumbers + thread * 4, &word, sizeof word);
  }
}

std::vector<std::byte> pack(const Tensor& weights, const SparseColumns& columns, int64_t parts) {
  const int64_t stages = static_cast<int64_t>(columns.places.size()) / kTileK;
  const int64_t blocks = blocks_for(columns.n, kRows * parts) * parts;
  std::vector<std::byte> bytes(static_cast<size_t>((stages * blocks + kMostBlocks) * kBlockBytes));
  const auto* from = reinterpret_cast<const uint16_t*>(weights.bytes());
  for (int64_t stage = 0; stage < stages; ++stage)
    for (int64_t block = 0; block < blocks; ++block) {
      std::byte* to = bytes.data() + (stage * blocks + block) * kBlockBytes;
      uint64_t places[kRows];
      for (int64_t row = 0; row < kRows; ++row) {
        // A warp has 16 columns of each of the parts.
        const int64_t n = block / parts * parts * kRows + (row / 16 * parts + block % parts) * 16 +
                          column_of(row % 16);
        uint16_t numbers[64] = {};
        for (int64_t k = 0; k < kTileK && n < columns.n; ++k) {
          const int64_t place = columns.places[static_cast<size_t>(stage * kTileK + k)];
          if (place >= 0) numbers[k] = from[n * columns.stride + place];
        }
        places[row] = pack_row(numbers, row, to);
      }
      pack_places(places, to);
    }
  return bytes;
}

}  // namespace

int64_t SparseTiling::stage_bytes() const {
  return blocks_for(rows * 128 + columns() / kRows * kBlockBytes, 1024) * 1024;
}

int64_t SparseTiling::other_bytes() const {
  // Of a row of a warp's slab: results of up to 4 bytes.
  const int64_t slab = own() * 4 + 32;
  return 1024 + 256 + groups * 4 * 16 * slab + turns * rows * 8;
}

int64_t SparseTiling::stages() const {
  const int64_t room = kSharedBytes / each - kReservedBytes - other_bytes();
  return std::min<int64_t>(room / stage_bytes(), 12);
}

std::string SparseTiling::text() const {
  return fmt::format("m={},n={},parts={},turns={},each={}", rows, columns(), parts, turns, each);
}

bool SparseTiling::is_possible() const {
  if (rows < 16 || rows > 256 || rows % 16 != 0 || groups < 1 || groups > 3 || parts < 1 ||
      parts > 2 || each < 1 || each > 2 || columns() > kMostBlocks * kRows)
    return false;
  if (turns != 1 && (turns != 2 || groups != 2 || each != 1)) return false;
  // Sums of a thread beside its other values.
  constexpr int64_t kOthers = 44;
  return parts * rows / 2 + kOthers <= shape().computing_registers() && stages() >= 3;
}

Result<SparseTiling> parse_sparse_tiling(std::string_view config) {
  const auto number = [&](std::string_view name, int64_t otherwise) {
    return config_number(config, name).value_or(otherwise);
  };
  SparseTiling t;
  t.rows = number("m", 64);
  t.parts = number("parts", 1);
  t.turns = number("turns", 1);
  t.each = number("each", 1);
  if (t.parts >= 1) t.groups = number("n", 64) * t.turns / (t.parts * 64);
  if (!t.is_possible()) return user_error("no tiling: {}", config);
  return t;
}

std::vector<std::string> best_sparse_tilings(const ProductSizes& p, int units, int64_t group) {
  // The estimate's first one was at places 1 to 8 by time.
  constexpr size_t kOffered = 12;
  std::vector<std::pair<double, std::string>> found;
  for (const SparseTiling& t : all_tilings())
    if (fits(t, p, units, group)) found.emplace_back(estimate(t, p, units), t.text());
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::string> best;
  for (const auto& [cost, text] : found)
    if (best.size() < kOffered) best.push_back(text);
  // The smallest one, whose warps have whole groups.
  if (best.empty()) best.push_back(SparseTiling{64, 1, group > 16 ? 2 : 1, 1, 1}.text());
  return best;
}

void add_sparse_tiling(KernelCode& code, const SparseTiling& t, bool bf16) {
  code.text("#define SPARSE_WEIGHTS\n");
  add_operand_type(code, {.bytes = 2});
  add_group_shape(code, t.shape());
  code.constants("kSparseBytes kTileM kParts kSplits", kBlockBytes, t.rows, t.parts, 1);
  code.flag("kHolds", false);
  code.constants("kTurns kStages", t.turns, t.stages());
  for (const char* flag : {"kBBatched", "kAByColumns", "kBByColumns"}) code.flag(flag, false);
  code.flag("kBConstant", true);
  code.constant("kBatches", 1);
  add_sparse_product(code, "sparse_product", {.columns = static_cast<int>(t.rows), .bf16 = bf16});
}

void shape_launch(JitLaunch& launch, const SparseTiling& t, const ProductSizes& p, int units) {
  launch.grid[0] = std::min<int64_t>(t.tiles(p), units * t.each);
  launch.block[0] = static_cast<int>(t.shape().threads());
  launch.shared_bytes = static_cast<int>(t.stages() * t.stage_bytes() + t.other_bytes());
}

JitConstant packed_sparse(const Tensor& weights, const SparseColumns& columns,
                          const SparseTiling& t, std::string_view recipe) {
  return {[weights, columns, parts = t.parts] { return pack(weights, columns, parts); }, weights,
          fmt::format("sparse: {}, {} parts", recipe, t.parts)};
}

}  // namespace tenon::hopper
