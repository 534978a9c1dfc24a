// Quantized regions on Hopper's TMA and tensor cores: the kernel of gemm/hopper.cu over
// 8-bit operands, of products and, with TMA gathering pixels, of convolutions.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "kernels/gemm/hopper_tiling_cuda.h"
#include "kernels/image.h"
#include "kernels/jit/hopper.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "kernels/quantized/device_region_cuda.h"

namespace tenon::tactics::cuda_quantized_hopper {
namespace {

using namespace hopper;

constexpr size_t kOffered = 20, kHolding = 8, kNarrow = 8;
constexpr int64_t kStageBytes = 128;  ///< Of k.
/// Products of 8-bit floats whose sums tensor cores keep. Their 14 bits lose half a unit an
/// addition of 32 products in the mean: n products lose n / 32 * 2^-14 of a sum. Operands of 3 bits
/// are rounded by 2^-4 / sqrt(3) each, which moves a sum by 5 %. Long sums stay below an eighth of
/// that.
constexpr int64_t kLongSum = 3072, kShortSum = 512;

/// Of k in a row of shared memory: shorter rows where a convolution's taps fill more of those.
int64_t row_bytes(const DeviceQuantized& d) {
  const int64_t rest = d.channels % kStageBytes;
  const bool halves = d.is_convolution && d.taps() > 1 && rest > 0 && rest <= kStageBytes / 2;
  return halves ? kStageBytes / 2 : kStageBytes;
}

/// Channels as they follow each other in k: those of a convolution's tap fill whole rows.
int64_t tap_pitch(const DeviceQuantized& d) {
  const int64_t piece = d.is_convolution ? row_bytes(d) : 16;
  return blocks_for(d.channels, piece) * piece;
}

ProductSizes sizes_of(const DeviceQuantized& d) {
  return {d.rows, d.columns, blocks_for(d.taps() * tap_pitch(d), 2)};
}

/// Elements from one row of a product's left operand to the next.
Result<int64_t> row_stride(const Operand& x) {
  const std::vector<int64_t> strides = strides_of(x);
  const size_t last = strides.size() - 1;
  if (strides[last] != 1 && x.extents[last] != 1) return unsupported("k is not contiguous");
  int64_t stride = x.extents[last], expected = 0;
  for (size_t i = last; i-- > 0;) {
    if (x.extents[i] == 1) continue;
    if (expected == 0) stride = expected = strides[i];
    if (strides[i] != expected) return unsupported("rows at unequal distances");
    expected *= x.extents[i];
  }
  return stride;
}

/// [channels, x, y, images] with boxes of a row's channels of `rows` pixels of the result.
JitTensorMap pixel_map(const Problem& problem, const DeviceQuantized& d, int64_t rows) {
  const Operand& x = problem.input(d.region.x);
  const std::vector<int64_t> strides = strides_of(x);
  JitTensorMap map{JitArgument::input(d.region.x),
                   x.type,
                   {x.extents[1], x.extents[3], x.extents[2], x.extents[0]},
                   {1, strides[3], strides[2], strides[0]},
                   {static_cast<int>(row_bytes(d)), static_cast<int>(rows)},
                   {},
                   static_cast<int>(row_bytes(d))};
  const DeviceWindow& w = d.window;
  map.pixels = JitTensorMap::Pixels{
      {w.output[2], w.output[1]}, {-w.begin[2], -w.begin[1]}, {w.stride[2], w.stride[1]}};
  return map;
}

/// Boxes of 16 rows of a line of the result, or of a tensor like it.
JitTensorMap box_map(JitArgument base, const Operand& operand, const DeviceQuantized& d,
                     const Tiling& t) {
  const int size = byte_size(operand.type);
  const int line = t.columns * size % 128 == 0 ? 128 : 64;
  return {base, operand.type, {d.columns, d.rows, 1}, {1, d.columns, 16}, {line / size, 16, 1},
          {},   line};
}

JitTensorMap row_map(JitArgument base, DataType type, int64_t k, int64_t rows, int64_t stride,
                     int64_t box, int64_t row_bytes = kStageBytes) {
  return {base,
          type,
          {k, rows, 1},
          {1, stride, 16},
          {static_cast<int>(row_bytes), static_cast<int>(box), 1},
          {},
          static_cast<int>(row_bytes)};
}

Result<JitTensorMap> left_map(const Problem& problem, const DeviceQuantized& d, int64_t rows) {
  if (d.is_convolution) return pixel_map(problem, d, rows);
  const Operand& x = problem.input(d.region.x);
  if (d.stacked > 1)
    return row_map(JitArgument::input(d.region.x), x.type, d.channels, d.rows, d.channels, rows);
  TENON_ASSIGN(const int64_t stride, row_stride(x));
  return row_map(JitArgument::input(d.region.x), x.type, d.channels, d.rows, stride, rows);
}

Status check_convolution(const Problem& problem, const DeviceQuantized& d) {
  const Operand &x = problem.input(d.region.x), &y = problem.output();
  if (x.rank() != 4) return unsupported("not two axes");
  if (!pixel_stride(x) || !pixel_stride(y)) return unsupported("not channels-last");
  // Stages that are mostly empty.
  if (d.channels < 32 && d.taps() > 1) return unsupported("few channels");
  for (const int axis : {1, 2})
    if ((d.window.kernel[axis] - 1) * d.window.dilation[axis] > UINT8_MAX)
      return unsupported("a kernel that reaches far");
  return {};
}

/// Rows of so few channels that they are no whole pieces come several at a time.
void stack_short_rows(const Problem& problem, DeviceQuantized& d) {
  constexpr int64_t kPiece = 16, kLongest = 256, kMost = 4;
  const int64_t count = kPiece / std::gcd(d.channels, kPiece);
  if (count == 1 || d.channels > kLongest || count > kMost) return;
  DeviceQuantized stacked = d;
  if (stack_rows(problem, stacked, count).ok()) d = std::move(stacked);
}

Result<DeviceQuantized> describe(const Problem& problem) {
  TENON_ASSIGN(DeviceQuantized d, describe_device_quantized(problem));
  if (d.is_convolution) TENON_TRY(check_convolution(problem, d));
  if (!small_indices(problem)) return unsupported("a large tensor");
  stack_short_rows(problem, d);
  TENON_ASSIGN(const JitTensorMap map, left_map(problem, d, 64));
  TENON_TRY(check_map(map, alignment_in_elements(problem.input(d.region.x))));
  return d;
}

int64_t kept_stages(const Problem& problem, const DeviceQuantized& d) {
  const int64_t kept = (problem.numerics.long_float8_sums ? kLongSum : kShortSum) / kStageBytes;
  const bool many = blocks_for(d.taps() * tap_pitch(d), kStageBytes) > kept;
  return many && is_float8(problem.input(d.region.x).type) ? kept : 0;
}

/// Whether results and their addends pass through TMA in boxes of rows.
bool takes_boxes(const Tiling& t, const Problem& problem, const DeviceQuantized& d) {
  const Operand& y = problem.output();
  if (t.boxes != byte_size(y.type) || t.boxes > 2 || !t.is_possible() || d.columns % 16 != 0 ||
      !y.dense() || y.alignment < 16)
    return false;
  const auto found = addends(problem, d);
  return found && found->size() <= 1;
}

/// Whether results leave in whole pieces of 16 bytes a thread, and two sets of sums have registers.
bool takes(const Tiling& t, const Problem& problem, const DeviceQuantized& d) {
  if (t.columns / t.splits % 32 != 0 || (t.boxes > 0 && !takes_boxes(t, problem, d))) return false;
  if (kept_stages(problem, d) == 0) return true;
  return (t.turns > 1 ? t.parts : 1) * t.columns <= (t.moves ? 160 : 128);
}

/// Whether the configuration has threads keep 16 bytes of a row of 16-bit results, not 32.
bool wants_narrow(std::string_view config) {
  return config_number(config, "slab").value_or(0) == 32;
}

/// Columns of a slab whose results threads have in runs, 0 where runs are not whole.
int64_t slab_of(const Tiling& t, const DeviceQuantized& d, bool is_narrow = false) {
  if (is_narrow) return 32;
  const int64_t slab = t.columns / t.splits % 64 == 0 ? 64 : 32;
  return d.columns % (slab / 4) == 0 ? slab : 0;
}

/// Rows begin anywhere (quantized/hopper_ragged.cu).
bool is_ragged(const DeviceQuantized& d) {
  return d.columns % 8 != 0;
}

bool takes_narrow(const Tiling& t, const Problem& problem, const DeviceQuantized& d) {
  const Operand& y = problem.output();
  if (t.boxes > 0 || byte_size(y.type) != 2 || slab_of(t, d) == 32) return false;
  if (!is_ragged(d)) return true;
  const auto found = addends(problem, d);
  return y.dense() && y.alignment >= 16 && found && found->empty();
}

/// Those that groups take in turns come last.
std::vector<Tiling> all_tilings() {
  std::vector<Tiling> all = plain_tilings();
  // Results of few channels have many rows.
  for (const auto& [parts, each] :
       std::initializer_list<std::array<int64_t, 2>>{{2, 1}, {3, 1}, {2, 2}, {3, 2}, {2, 3}})
    all.push_back({parts, 64, 1, each, each == 1});
  for (const auto& [parts, columns, turns] :
       std::initializer_list<std::array<int64_t, 3>>{{2, 128, 2},
                                                     {2, 192, 2},
                                                     {1, 192, 2},
                                                     {1, 256, 2},
                                                     {1, 192, 3},
                                                     {1, 128, 3},
                                                     {2, 64, 2},
                                                     {3, 64, 2},
                                                     {1, 64, 3},
                                                     {2, 64, 3}})
    all.push_back({parts, columns, 1, 1, true, turns});
  return all;
}

/// The best `count` of a family of tilings, with results by boxes as well, and behind them some
/// with narrow slabs.
void add_family(std::vector<std::string>& texts, const std::vector<Tiling>& family,
                const Problem& problem, const DeviceQuantized& d, size_t count) {
  std::vector<Tiling> possible;
  for (const Tiling& t : family) {
    if (!takes(t, problem, d)) continue;
    Tiling by_boxes = t;
    by_boxes.boxes = byte_size(problem.output().type);
    if (takes_boxes(by_boxes, problem, d)) possible.push_back(by_boxes);
    possible.push_back(t);
  }
  const std::vector<Tiling> best =
      best_tilings(possible, sizes_of(d), multiprocessors(problem), count);
  for (const Tiling& t : best) texts.push_back(t.text());
  size_t narrow = 0;
  for (const Tiling& t : best)
    if (takes_narrow(t, problem, d) && ++narrow <= kNarrow) texts.push_back(t.text() + ",slab=32");
}

std::vector<std::string> tilings(const Problem& problem) {
  const auto d = describe(problem);
  if (!d.ok()) return {""};
  std::vector<std::string> texts;
  add_family(texts, all_tilings(), problem, *d, kOffered);
  add_family(texts, holding_tilings(sizes_of(*d)), problem, *d, kHolding);
  return texts.empty() ? std::vector<std::string>{"m=64,n=64,splits=1,each=1,moves=1"} : texts;
}

/// The numbers of kinds of pixels, as gemm/hopper.cu's rows ask for them.
void add_kinds(KernelCode& code, const BorderKinds& down, const BorderKinds& across) {
  const bool several = down.taps.size() * across.taps.size() > 1;
  code.constant("kKinds", static_cast<int64_t>(down.taps.size() * across.taps.size()));
  if (several) {
    code.array("kDown", down.of);
    code.array("kAcross", across.of);
  }
  code.text(fmt::format(
      "__device__ inline int kind_of([[maybe_unused]] Index row) {{\n  return {};\n}}\n",
      several ? fmt::format("kDown[row / kOut2 % kOut1] * {} + kAcross[row % kOut2]",
                            across.taps.size())
              : "0"));
}

void add_constants(KernelCode& code, const Problem& problem, const DeviceQuantized& d,
                   const Tiling& t, bool in_runs) {
  const Operand &x = problem.input(d.region.x), &y = problem.output();
  const bool real = is_float8(x.type);
  code.alias("Y", quantized_type_name(y.type));
  code.round_to(y.type);
  code.located("YAt", d.loop, y);
  if (d.is_convolution) {
    add_window(code, d.window);
    code.constant("kC", d.channels);
  }
  code.open("kM", d.rows);
  code.divider("DIVIDED_BY_TILES_M", "kTilesM", blocks_for(d.rows, t.rows()));
  code.whole_flag("kWholeTiles", d.rows, y.extents[0], t.rows());
  code.constants("kN kK", d.columns, d.is_convolution ? d.taps() * tap_pitch(d) : d.channels);
  code.constants("kBatches kPaddedN", 1, padded_columns(d));
  for (const char* flag : {"kABatched", "kBBatched", "kAByColumns", "kBByColumns"})
    code.flag(flag, false);
  code.flags("kBConstant kInRuns", true, in_runs);
  code.alias("Word", word_type(byte_size(y.type)));
  code.text(fmt::format("#define SHIFTED {}\n", d.zero != 0 ? 1 : 0));
  add_operand_type(code, {.bytes = 1,
                          .sums = real ? "f32" : "i32",
                          .kept_stages = kept_stages(problem, d),
                          .row_bytes = row_bytes(d)});
  add_tiling(code, t);
  // Integers without their zero point are signed.
  const DataType weights = problem.input(d.region.weights).type;
  add_group_product(code, "group_product",
                    ByteGroupProduct{static_cast<int>(t.columns), matrix_type_name(x.type),
                                     real ? matrix_type_name(weights) : "s8"});
}

/// How sums become reals (quantized/hopper_scale.cu). Bytes do not need every digit of them.
enum class Sums { kAny = 0, kSmall = 1, kSmallWithStart = 2 };
constexpr double kStart = 12582912;  ///< 1.5 * 2^23

Sums sums_of(const Problem& problem, const DeviceQuantized& d) {
  if (!has_small_sums(problem, d)) return Sums::kAny;
  return d.region.output ? Sums::kSmallWithStart : Sums::kSmall;
}

/// Constants of the plan that the kernel takes behind its result.
void add_column_constants(JitPlan& plan, JitLaunch& launch, const Problem& problem,
                          const DeviceQuantized& d) {
  const auto add = [&](JitConstant constant) {
    launch.add(JitArgument::constant(static_cast<int>(plan.constants.size())));
    plan.constants.push_back(std::move(constant));
  };
  add(column_factors(d, sums_of(problem, d) == Sums::kSmallWithStart ? kStart : 0));
  if (d.zero == 0) return;
  if (d.is_convolution) {
    add(column_shifts(problem, d, border_kinds(d.window, 1), border_kinds(d.window, 2)));
  } else {
    add(column_shifts(problem, d));
  }
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(DeviceQuantized d, describe(problem));
  TENON_ASSIGN(const Tiling t, parse_tiling(config, sizes_of(d)));
  const bool is_narrow = wants_narrow(config);
  if (!takes(t, problem, d) || (is_narrow && !takes_narrow(t, problem, d)))
    return user_error("no tiling: {}", config);
  const int64_t slab = slab_of(t, d, is_narrow);
  d.packs_gelu = slab != 0 && may_pack_gelu(problem, d);
  TENON_ASSIGN(KernelCode code, begin_byte_code(problem, d));
  code.text(fmt::format("#define SUMS {}\n", static_cast<int>(sums_of(problem, d))));
  add_constants(code, problem, d, t, slab != 0);
  code.text(fmt::format("#define NARROW_RUNS {}\n#define RAGGED_RUNS {}\n", is_narrow ? 1 : 0,
                        is_narrow && is_ragged(d) ? 1 : 0));
  if (t.boxes > 0) code.text(fmt::format("#define BOX_ADDEND {}\n", addends(problem, d)->size()));
  if (d.is_convolution) {
    add_kinds(code, border_kinds(d.window, 1), border_kinds(d.window, 2));
  } else {
    add_kinds(code, {{}, {{0, 1}}}, {{}, {{0, 1}}});
  }
  TENON_ASSIGN(const std::vector<int> operands, add_quantized_epilogue(code, problem, d));
  const int64_t size = byte_size(problem.output().type);
  const bool walks =
      d.is_convolution && add_walk(code, problem, {d.region.x, operands, d.taps() == 1},
                                   {t.tiles(sizes_of(d)), at_a_time(t, multiprocessors(problem)),
                                    t.columns / t.splits * size, d.columns * size});
  JitLaunch launch;
  TENON_TRY(set_source(
      launch, code,
      {"jit/hopper.cuh", "jit/hopper_bytes.cuh", "gemm/hopper_tiles.cu", "gemm/hopper_products.cu",
       d.is_convolution ? "conv/hopper_pixels.cu" : "gemm/hopper_rows.cu",
       "quantized/hopper_scale.cu", "gemm/hopper_places.cu", "quantized/run.cu",
       t.boxes > 0 ? "quantized/hopper_boxes.cu"
       : slab != 0 ? "quantized/hopper_runs.cu"
                   : "gemm/hopper_store.cu",
       "quantized/hopper_ragged.cu", "gemm/hopper_start.cu", "gemm/hopper.cu"}));
  const ProductSizes sizes = sizes_of(d);
  shape_launch(launch, t, sizes, multiprocessors(problem));
  launch.starts_early = !d.is_convolution || t.each == 1;
  const int64_t row = d.taps() * tap_pitch(d);
  const PackedWeights order{row, tap_pitch(d), slab};
  TENON_ASSIGN(JitTensorMap left, left_map(problem, d, t.rows()));
  launch.maps = {std::move(left), row_map(JitArgument::constant(0), DataType::kInt8, row,
                                          order.places(d.columns), row, t.columns, row_bytes(d))};
  if (t.boxes > 0) {
    launch.maps.push_back(box_map(JitArgument::output(), problem.output(), d, t));
    for (const int input : operands)
      launch.maps.push_back(box_map(JitArgument::input(input), problem.input(input), d, t));
  }
  for (int i = 0; i < static_cast<int>(launch.maps.size()); ++i) launch.add(JitArgument::map(i));
  launch.add({JitArgument::null(), JitArgument::output()});
  JitPlan plan;
  plan.constants.push_back(packed_weights(problem, d, order));
  add_column_constants(plan, launch, problem, d);
  launch.add_inputs(operands);
  if (walks) launch.add(JitArgument::walk());
  plan.launches.push_back(std::move(launch));
  return plan;
}

}  // namespace
}  // namespace tenon::tactics::cuda_quantized_hopper

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_quantized_hopper, cuda_quantized_hopper::tilings)
}  // namespace tenon::tactics
