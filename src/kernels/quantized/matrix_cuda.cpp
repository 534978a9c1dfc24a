// Quantized regions on the tensor cores of any GPU from Ampere on (quantized/matrix.cu): any
// layout, window and number of channels.
#include <algorithm>
#include <array>

#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "kernels/quantized/device_region_cuda.h"

namespace tenon::tactics::cuda_quantized_matrix {
namespace {

constexpr int64_t kTileK = 64, kAhead = 3;
constexpr size_t kOffered = 4;

struct Tile {
  int64_t rows = 64, columns = 64, down = 2, across = 2;  ///< and warps

  int64_t threads() const { return down * across * 32; }
  int64_t shared_bytes(int64_t chunks) const {
    const int64_t stages = std::min(kAhead + 1, chunks);
    return std::max(stages * (rows + columns) * kTileK, rows * (columns + 8) * 4);
  }
  int64_t blocks(const DeviceQuantized& d) const {
    return blocks_for(d.rows, rows) * blocks_for(d.columns, columns);
  }
  std::string text() const { return fmt::format("rows={},columns={}", rows, columns); }
};

constexpr std::array<Tile, 7> kTiles = {{{64, 64, 2, 2},
                                         {128, 128, 2, 4},
                                         {128, 64, 4, 2},
                                         {64, 128, 2, 4},
                                         {32, 64, 1, 4},
                                         {128, 32, 4, 1},
                                         {32, 32, 2, 2}}};

/// About how long it takes: rounds of blocks, two on a multiprocessor at a time, each bound by what
/// it fetches and multiplies.
double estimate(const Tile& t, const DeviceQuantized& d, int units) {
  const auto rounds = static_cast<double>(blocks_for(t.blocks(d), int64_t{2} * units));
  const auto rows = static_cast<double>(t.rows), columns = static_cast<double>(t.columns);
  const double k = static_cast<double>(d.taps() * d.channels + 256);
  return rounds * (k * (rows * columns / 2048 + (rows + columns) / 16) + rows * columns);
}

std::vector<std::string> tiles(const Problem& problem) {
  const auto d = describe_device_quantized(problem);
  if (!d.ok()) return {""};
  std::vector<std::pair<double, std::string>> found;
  for (const Tile& t : kTiles)
    found.emplace_back(estimate(t, *d, multiprocessors(problem)), t.text());
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> texts;
  for (const auto& [time, text] : found)
    if (texts.size() < kOffered) texts.push_back(text);
  return texts;
}

Result<Tile> tile_of(std::string_view config) {
  if (config.empty()) return kTiles[0];
  for (const Tile& t : kTiles)
    if (t.text() == config) return t;
  return user_error("no tile: {}", config);
}

/// How the left operand is read: bytes at a time, along channels that follow each other.
int64_t load_width(const Problem& problem, const DeviceQuantized& d) {
  const Operand& x = problem.input(d.region.x);
  const std::vector<int64_t> strides = strides_of(x);
  const size_t axis = d.is_convolution ? 1 : strides.size() - 1;
  if (strides[axis] != 1) return 1;
  for (const int64_t width : {16, 8, 4}) {
    bool fits = d.channels % width == 0 && x.alignment % width == 0;
    for (size_t i = 0; i < strides.size(); ++i)
      fits = fits && (i == axis || x.extents[i] == 1 || strides[i] % width == 0);
    if (fits) return width;
  }
  return 1;
}

Status check(const Problem& problem, const DeviceQuantized& d) {
  TENON_TRY(check_byte_product(problem, d));
  if (d.rows > INT32_MAX - 1024 || d.columns > INT32_MAX || d.channels > INT32_MAX)
    return unsupported("huge extents");
  return {};
}

/// Where the rows and their elements lie in the left operand.
void add_input(KernelCode& code, const Problem& problem, const DeviceQuantized& d) {
  const Operand& x = problem.input(d.region.x);
  code.flag("kProduct", !d.is_convolution);
  if (d.is_convolution) {
    code.text("struct XRowAt { enum : int { kRank = 0 }; };\n");
    add_window(code, d.window);
    add_image_strides(code, "X", x);
    return;
  }
  std::vector<int> axes = memory_order(x.rank() - 1, Layout::kRowMajor);
  code.located("XRowAt", loop_over(x.extents, axes), x, strides_of(x));
  code.constant("XC", strides_of(x).back());
  add_window(code, {});
  for (const char* name : {"XN", "X0", "X1", "X2"}) code.constant(name, 0);
}

void add_constants(KernelCode& code, const Problem& problem, const DeviceQuantized& d,
                   const Tile& t, const PackedWeights& order) {
  const Operand& y = problem.output();
  code.alias("X", quantized_type_name(problem.input(d.region.x).type));
  code.alias("Y", quantized_type_name(y.type));
  code.alias("Accumulator", is_float8(problem.input(d.region.x).type) ? "f32" : "i32");
  code.round_to(y.type);
  code.located("YAt", d.loop, y);
  add_input(code, problem, d);
  code.open("kM", d.rows);
  code.constants("kN kC kTaps kPitch", d.columns, d.channels, d.taps(), order.tap_pitch);
  code.constants("kDepth kZero kLoad kTileM", order.row, d.zero, load_width(problem, d), t.rows);
  code.constants("kTileN kWarpsM kWarpsN kBlock", t.columns, t.down, t.across, t.threads());
  code.constant("kAhead", kAhead);
  int64_t pack = 8;
  while (d.columns % pack != 0) pack /= 2;
  code.constant("kPack", pack);
  code.flag("kRoundsToInteger", is_integer(y.type));
  const int zero = d.region.output ? d.region.output->zero : -1;
  const bool has_zero = zero >= 0 && problem.input(zero).constant->as_double(0) != 0;
  const ByteLimits limits = d.region.output && !has_zero ? byte_limits(problem, d) : ByteLimits();
  const bool is_unsigned = y.type == DataType::kUInt8;
  code.real("kLowest", has_zero && is_unsigned ? 0 : limits.low);
  code.real("kHighest", has_zero && is_unsigned ? 255 : limits.high);
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const DeviceQuantized d, describe_device_quantized(problem));
  TENON_TRY(check(problem, d));
  TENON_ASSIGN(const Tile t, tile_of(config));
  const int64_t pitch = d.channels;
  const PackedWeights order{blocks_for(d.taps() * pitch, kTileK) * kTileK, pitch};
  TENON_ASSIGN(KernelCode code, begin_byte_code(problem, d));
  add_constants(code, problem, d, t, order);
  add_byte_product(code, problem, d);
  TENON_ASSIGN(const std::vector<int> operands, add_quantized_epilogue(code, problem, d));
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"quantized/matrix.cu"}, t.blocks(d), t.threads()));
  launch.starts_early = false;
  launch.shared_bytes = static_cast<int>(t.shared_bytes(order.row / kTileK));
  return quantized_plan(std::move(launch), problem, d, packed_weights(problem, d, order), operands);
}

}  // namespace
}  // namespace tenon::tactics::cuda_quantized_matrix

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_quantized_matrix, cuda_quantized_matrix::tiles)
}  // namespace tenon::tactics
