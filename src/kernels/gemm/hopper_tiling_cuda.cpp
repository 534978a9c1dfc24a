#include "kernels/gemm/hopper_tiling_cuda.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tenon::hopper {
namespace {

/// Bytes of shared memory of a multiprocessor, and the system's share of each block.
constexpr int64_t kSharedBytes = 228 * 1024, kReservedBytes = 1024;

/// Cycles, roughly, fitted to times on an H200: products or the fetching of their operands, the
/// epilogue, which leaves while others multiply where groups take turns, the sums of a cluster.
double estimate(const Tiling& t, const ProductSizes& p, int units) {
  const auto rows = static_cast<double>(t.rows()), columns = static_cast<double>(t.columns);
  const auto each = static_cast<double>(t.each), splits = static_cast<double>(t.splits);
  const double all = static_cast<double>(t.tiles(p) * t.splits);
  const double blocks = std::ceil(static_cast<double>(blocks_for(p.k, kTileK)) / splits);
  const double fetching = 1.55 + 0.65 * std::min(1.0, all / units);
  const double fetched = t.held > 0 ? rows : rows + columns;
  const double products = blocks * std::max(rows * columns / 32, fetching * fetched);
  const double others = rows * columns * (splits - 1) / splits;
  const double exchange = t.splits > 1 ? others * 0.33 + 1200 : 0;
  const double epilogue = rows * columns / splits * 0.22 + 300 + exchange;
  const double waves = std::ceil(all / (units * each));
  const double taking_turns = static_cast<double>(t.turns);
  const double time =
      t.turns > 1 ? waves * std::max(products, (products + epilogue) / taking_turns) + epilogue
                  : waves * (products + epilogue) * (t.each > 1 ? each * 0.95 : 1.0);
  return time + 2200;
}

bool fits(const Tiling& t, const ProductSizes& p, int units) {
  if (!t.is_possible()) return false;
  if (t.rows() >= p.m + 64 || (t.columns > 64 && t.columns >= p.n + 32)) return false;
  if (t.turns > 1) return t.tiles(p) > units * (t.turns - 1);
  if (t.splits == 1) return true;
  // Clusters find no place together on the last multiprocessors.
  return t.splits <= blocks_for(p.k, kTileK) && t.tiles(p) * t.splits <= units * t.each * 3 / 4;
}

}  // namespace

int64_t Tiling::other_bytes() const {
  const int64_t row = boxes > 0 ? (turns > 1 ? parts : 1) * columns * boxes : 160;
  return 1024 + 256 + (boxes > 0 ? 256 : 0) + held * columns * kTileK * 2 +
         shape().groups * (4 * 16 * row + (splits - 1) * (columns / splits) * 256);
}

int64_t Tiling::stages() const {
  const int64_t room = kSharedBytes / each - kReservedBytes - other_bytes();
  return std::min<int64_t>(room / stage_bytes(), held > 0 ? held : 12);
}

std::string Tiling::text() const {
  return fmt::format("m={},n={},splits={},each={}{}{}{}{}", rows(), columns, splits, each,
                     moves ? ",moves=1" : "", turns > 1 ? fmt::format(",turns={}", turns) : "",
                     boxes > 0 ? fmt::format(",boxes={}", boxes) : "",
                     held > 0 ? fmt::format(",held={}", held) : "");
}

bool Tiling::is_possible() const {
  // Of up to 240 and 160 registers.
  const int64_t most = turns == 2 ? 384 : 192;
  const bool takes_turns =
      turns == 1 || (turns >= 2 && turns <= 3 && moves && parts * columns <= most);
  return takes_turns && parts >= 1 && parts <= 3 && columns >= 32 && columns <= 256 &&
         splits >= 1 && splits <= 8 && columns % (splits * 16) == 0 && each >= 1 && each <= 4 &&
         boxes >= 0 && boxes <= 2 && (boxes == 0 || (splits == 1 && columns % 64 == 0)) &&
         held >= 0 && held <= 16 && (held == 0 || (splits == 1 && each == 1)) && stages() >= 2;
}

Result<Tiling> parse_tiling(std::string_view config, const ProductSizes& p) {
  const auto number = [&](std::string_view name, int64_t otherwise) {
    return config_number(config, name).value_or(otherwise);
  };
  Tiling t;
  t.parts = number("m", 128) / 64;
  t.columns = number("n", 128);
  t.splits = number("splits", 1);
  t.each = number("each", 1);
  t.moves = number("moves", 0) != 0 && t.splits == 1 && t.each == 1;
  t.turns = number("turns", 1);
  t.boxes = number("boxes", 0);
  t.held = number("held", 0);
  if (!t.is_possible() || (t.held > 0 && t.held != blocks_for(p.k, kTileK)))
    return user_error("no tiling: {}", config);
  return t;
}

std::vector<Tiling> best_tilings(const std::vector<Tiling>& tilings, const ProductSizes& p,
                                 int units, size_t count) {
  std::vector<std::pair<double, Tiling>> found;
  for (const Tiling& t : tilings)
    if (fits(t, p, units)) found.emplace_back(estimate(t, p, units), t);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<Tiling> best;
  for (const auto& [cost, tiling] : found)
    if (best.size() < count) best.push_back(tiling);
  return best;
}

std::vector<Tiling> plain_tilings() {
  std::vector<Tiling> all;
  for (const auto& [parts, columns, each] :
       std::initializer_list<std::array<int64_t, 3>>{{2, 256, 1},
                                                     {2, 192, 1},
                                                     {3, 192, 1},
                                                     {2, 128, 1},
                                                     {3, 128, 1},
                                                     {1, 256, 1},
                                                     {1, 160, 1},
                                                     {2, 160, 1},
                                                     {1, 192, 1},
                                                     {1, 192, 2},
                                                     {1, 128, 1},
                                                     {1, 96, 1},
                                                     {1, 64, 1},
                                                     {1, 32, 1},
                                                     {1, 64, 3},
                                                     {1, 32, 2},
                                                     {2, 96, 2}})
    for (const int64_t splits : {1, 2, 4})
      all.push_back({parts, columns, splits, each, splits == 1 && each == 1});
  return all;
}

std::vector<Tiling> holding_tilings(const ProductSizes& p) {
  std::vector<Tiling> all;
  for (const auto& [parts, columns, turns] : std::initializer_list<std::array<int64_t, 3>>{
           {2, 96, 3}, {1, 96, 3}, {2, 192, 2}, {1, 192, 3}, {2, 128, 2}, {1, 128, 3}}) {
    const Tiling t{parts, columns, 1, 1, true, turns, 0, blocks_for(p.k, kTileK)};
    if (t.is_possible()) all.push_back(t);
  }
  return all;
}

void add_operand_type(KernelCode& code, const OperandType& type) {
  code.constant("kOperandBytes", type.bytes);
  code.alias("Accumulator", type.sums);
  code.constant("kKeptStages", type.kept_stages);
  code.constant("kRowBytes", type.row_bytes);
}

void add_tiling(KernelCode& code, const Tiling& t) {
  add_group_shape(code, t.shape());
  code.constant("kTileN", t.columns);
  code.constant("kSplits", t.splits);
  code.constant("kParts", t.turns > 1 ? t.parts : 1);
  code.constant("kTurns", t.turns);
  code.flag("kHolds", t.held > 0);
  code.constant("kStages", t.stages());
}

/// Of a step's images.
int64_t image_bytes(const Problem& problem) {
  int64_t bytes = 0;
  for (const Operand& input : problem.inputs)
    if (input.present && input.constant == nullptr) bytes += input.count() * byte_size(input.type);
  for (const Operand& output : problem.outputs) bytes += output.count() * byte_size(output.type);
  return bytes;
}

/// Whether a step's images are large for the second-level cache. It is of two halves, both of which
/// hold lines that all multiprocessors read; three steps, as of a residual block, of less than a
/// third of a half each leave the lines there that the block reads again.
bool are_large(const Problem& problem, int64_t bytes) {
  const auto cache = static_cast<int64_t>(gpu_of(problem).cache_bytes);
  return cache > 0 && bytes >= cache / 2 / 3;
}

bool add_walk(KernelCode& code, const Problem& problem, const WalkedInputs& inputs,
              const WalkedTiles& tiles) {
  const int64_t bytes = image_bytes(problem);
  if (!are_large(problem, std::max(bytes, problem.most_bytes))) return false;
  constexpr int64_t kLine = 128;  // Of the second-level cache.
  std::string facts = fmt::format(
      "#define IMAGE_ALONE {}\n#define ADDENDS_ALONE {}\nenum : int {{ kImage = {} ",
      inputs.image_once && tiles.own_bytes >= tiles.row_bytes ? "true" : "false",
      tiles.own_bytes >= std::min(tiles.row_bytes, kLine) ? "true" : "false", inputs.image);
  // One at least, which files name.
  for (size_t i = 0; i < std::max<size_t>(inputs.addends.size(), 1); ++i)
    facts += fmt::format(", kAddend{} = {}", i, i < inputs.addends.size() ? inputs.addends[i] : 0);
  facts += " };\n";
  const bool pays = tiles.count > tiles.at_a_time && are_large(problem, bytes);
  if (pays) code.exact_text("#define WALKS\n" + facts);
  code.open_text(facts);
  code.open_walk();
  return pays;
}

void shape_launch(JitLaunch& launch, const Tiling& t, const ProductSizes& p, int units) {
  const int64_t tiles = t.tiles(p);
  launch.grid[0] = t.splits > 1 ? tiles * t.splits : std::min<int64_t>(tiles, units * t.each);
  // The fewest blocks that take no longer: each has as many tiles as another.
  if (t.held > 0) launch.grid[0] = blocks_for(tiles, blocks_for(tiles, units));
  launch.block[0] = static_cast<int>(t.shape().threads());
  launch.cluster = t.splits > 1 ? static_cast<int>(t.splits) : 0;
  launch.shared_bytes = static_cast<int>(t.stages() * t.stage_bytes() + t.other_bytes());
}

}  // namespace tenon::hopper
