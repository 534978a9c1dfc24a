// First convolutions of images of bytes and the max pooling behind them on Hopper
// (quantized/pooled_stem.cu), which compute in sums what both would round.
#include <algorithm>

#include "kernels/image.h"
#include "kernels/jit/hopper.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "kernels/quantized/stem_image_cuda.h"
#include "ops/math.h"
#include "ops/nn_window.h"

namespace tenon::tactics::cuda_quantized_pooled_stem {
namespace {

constexpr int64_t kVector = 4, kPoolStride = 2;  ///< As in quantized/pooled_stem.cu.
constexpr int64_t kMostRowTaps = 8, kMostStride = 4;
constexpr int64_t kReserved = 1024;  ///< Bytes of shared memory that the system takes of a block.

/// The region, and the problem of its convolution alone, whose image is quantized already.
struct Described {
  Problem problem;
  DeviceQuantized d;
  DeviceWindow pooling;
};

/// The convolution's own output.
Result<Extents> convolved(const Operation& anchor, const Extents& x, const Extents& weights) {
  const Conv& conv = *anchor.as<Conv>();
  if (conv.pad_mode != PadMode::kExplicit || x.size() != 4)
    return unsupported("not an image with explicit pads");
  TENON_ASSIGN(const SlidingWindow window,
               resolve_window({conv.strides, conv.dilations, conv.pads_begin, conv.pads_end},
                              {x[2], x[3]}, {weights[2], weights[3]}, anchor.node()));
  if (window.output[0] == 0 || window.output[1] == 0) return unsupported("an empty image");
  return Extents{x[0], weights[0], window.output[0], window.output[1]};
}

/// Each window of two or three places, two apart, meets the convolution's result.
Status check_pooling(const DeviceWindow& w) {
  for (const int i : {1, 2})
    if (w.kernel[i] < 2 || w.kernel[i] > 3 || w.stride[i] != kPoolStride || w.dilation[i] != 1 ||
        w.begin[i] < 0 || w.begin[i] >= w.kernel[i] ||
        (w.output[i] - 1) * w.stride[i] - w.begin[i] >= w.input[i])
      return unsupported("pooling windows other than of two or three places, two apart");
  return {};
}

/// The greatest sum gives the greatest byte.
Status check_order(const DeviceQuantized& d) {
  const auto takes_operand = [](const QuantizedStep& step) { return step.function.operand >= 0; };
  const auto first = d.region.steps.begin() + static_cast<ptrdiff_t>(d.first_step);
  if (!d.is_scaled || std::any_of(first, d.region.steps.end(), takes_operand))
    return unsupported("more than scales and clamps ahead of the pooling");
  if (!std::all_of(d.scales.begin(), d.scales.end(), [](float scale) { return scale > 0; }))
    return unsupported("a scale that is not positive");
  return {};
}

Status check(const Described& x) {
  TENON_TRY(check_stem(x.problem, x.d));
  TENON_TRY(check_order(x.d));
  TENON_TRY(check_pooling(x.pooling));
  if (capability_of(x.problem) != 90 || !is_integer(x.problem.input(x.d.region.x).type))
    return unsupported("warp groups of Hopper multiply integers");
  const DeviceWindow& w = x.d.window;
  for (const int i : {1, 2})
    if (w.dilation[i] != 1 || w.stride[i] > kMostStride || w.begin[i] < 0)
      return unsupported("a convolution with dilation, long strides or cropping");
  if (w.kernel[2] > kMostRowTaps) return unsupported("{} taps of a row", w.kernel[2]);
  return {};
}

Result<Described> describe(const Problem& whole) {
  TENON_ASSIGN(const QuantizedRegion region, pooled_region(whole));
  if (!region.anchor.is<Conv>()) return unsupported("not a convolution");
  Described x;
  TENON_ASSIGN(x.problem, with_bytes(whole, region));
  Operand& y = x.problem.outputs[0];
  if (!y.dense()) return unsupported("a result with strides");
  TENON_ASSIGN(y.extents, convolved(region.anchor, x.problem.input(region.x).extents,
                                    x.problem.input(region.weights).extents));
  TENON_ASSIGN(x.d, describe_device_quantized(x.problem, region));
  const Pool& pool = *region.pooling.as<Pool>();
  TENON_ASSIGN(x.pooling,
               device_window(y.extents, whole.output().extents, pool.kernel, pool.strides,
                             pool.dilations, pool.pads_begin, pool.pads_end, pool.pad_mode));
  x.d.loop = loop_over(whole.output().extents, memory_order(4, Layout::kChannelsLast));
  TENON_TRY(check(x));
  return x;
}

struct Shape {
  int64_t warps = 8, each = 2, rows = 8;  ///< Pooled rows of a tile.

  explicit Shape(std::string_view config)
      : warps(config_number(config, "warps").value_or(4)),
        each(config_number(config, "each").value_or(4)),
        rows(config_number(config, "rows").value_or(8)) {}

  int64_t strip(const Described& x) const { return warps * (x.pooling.kernel[2] == 3 ? 7 : 8); }
  int64_t tiles(const Described& x) const {
    return x.pooling.output[2] == 0
               ? 0
               : x.problem.output().extents[0] * blocks_for(x.pooling.output[1], rows) *
                     blocks_for(x.pooling.output[2], strip(x));
  }
  int64_t shared_bytes(const Described& x) const;
};

/// Words ahead of a strip's first tap, in the order of quantized/pooled_stem.cu.
int64_t first_word(const Described& x) {
  const DeviceWindow& w = x.d.window;
  const int64_t before = x.pooling.begin[2] * w.stride[2] + w.begin[2];
  return blocks_for(before, kVector) * kVector - before;
}
int64_t row_taps(const Described& x) {
  return x.d.window.kernel[2] <= 4 ? 4 : 8;
}
/// Panels of 128 bytes of a column's taps.
int64_t panels_of(const Described& x) {
  return blocks_for(x.d.window.kernel[1] * row_taps(x), 32);
}

int64_t Shape::shared_bytes(const Described& x) const {
  const DeviceWindow& w = x.d.window;
  const int64_t of_warp = strip(x) / warps;
  const int64_t reach =
      (2 * of_warp * (warps - 1) + 15) * w.stride[2] + first_word(x) + row_taps(x);
  const int64_t pitch = blocks_for(reach, kVector) * kVector, each_rows = 2 * w.stride[1];
  const int64_t parts =
      blocks_for((x.pooling.kernel[1] - 1) * w.stride[1] + w.kernel[1], each_rows);
  const int64_t run = stem_slab(x.d) / 4, factors = x.d.columns / run * (run / 2 + 1) * 16;
  return 1024 + x.d.columns * panels_of(x) * 128 + factors + 2 * parts * each_rows * pitch * 4;
}

/// Whether a multiprocessor has room for as many blocks as are to be there.
bool has_room(const Problem& problem, const Described& x, const Shape& shape) {
  const int64_t bytes = shape.shared_bytes(x);
  return bytes <= allowed_shared(problem) &&
         (bytes + kReserved) * shape.each <= shared_limit(problem) + kReserved;
}

/// Segments by which blocks of all multiprocessors have so many tiles each, or half of them one.
std::vector<std::string> tile_configs(const Problem& problem) {
  const auto x = describe(problem);
  std::vector<std::string> configs;
  if (!x.ok()) return {""};
  for (const auto& [warps, each] : {std::pair{8, 2}, {4, 4}})
    for (const double turns : {0.5, 1.0, 2.0, 4.0}) {
      const auto with = [&](int64_t rows) {
        return fmt::format("warps={},each={},rows={}", warps, each, rows);
      };
      const auto most =
          static_cast<int64_t>(turns * static_cast<double>(multiprocessors(problem) * each));
      const int64_t images = Shape(with(x->pooling.output[1])).tiles(*x);
      const int64_t segments = std::clamp<int64_t>(most / images, 1, x->pooling.output[1]);
      const std::string config = with(blocks_for(x->pooling.output[1], segments));
      if (has_room(problem, *x, Shape(config)) &&
          std::find(configs.begin(), configs.end(), config) == configs.end())
        configs.push_back(config);
    }
  return configs.empty() ? std::vector<std::string>{""} : configs;
}

std::function<std::vector<std::byte>()> panels_of_columns(const Described& x) {
  const int64_t panels = panels_of(x), taps = x.d.window.kernel[2], all = x.d.taps();
  return [packed = packed_weights(x.problem, x.d, {all * 4, 4, stem_slab(x.d)}), panels, taps, all,
          pitch = row_taps(x), columns = x.d.columns] {
    const std::vector<std::byte> from = packed();
    std::vector<std::byte> rows(static_cast<size_t>(columns * panels * 128));
    for (int64_t n = 0; n < columns; ++n)
      for (int64_t tap = 0; tap < all; ++tap)
        std::copy_n(from.data() + (n * all + tap) * 4, 4,
                    rows.data() + n * panels * 128 + (tap / taps * pitch + tap % taps) * 4);
    return stem_panels(rows, columns);
  };
}

void add_constants(KernelCode& code, const Described& x, const Operand& y, const Shape& shape) {
  add_stem_constants(code, x.problem, x.d, y);
  const DeviceWindow& pooling = x.pooling;
  for (const int i : {1, 2}) {
    code.constant(fmt::format("kPool{}", i), pooling.kernel[i]);
    code.constant(fmt::format("kPoolBegin{}", i), pooling.begin[i]);
    code.constant(fmt::format("kPooled{}", i), pooling.output[i]);
  }
  code.constant("kPitchB", panels_of(x) * 32);
  code.constant("kSegment", shape.rows);
  code.constant("kWarps", shape.warps);
  code.constant("kBlock", shape.warps * 32);
  code.constant("kBlocksEach", shape.each);
}

Result<JitPlan> plan(const Problem& whole, std::string_view config) {
  TENON_ASSIGN(const Described x, describe(whole));
  const Shape shape(config);
  if (shape.warps % 4 != 0 || shape.each < 1 || shape.rows < 1 || !has_room(whole, x, shape))
    return user_error("no tiling: {}", config);
  TENON_ASSIGN(KernelCode code, begin_byte_code(x.problem, x.d));
  add_stem_image(code, whole, x.d, kVector);
  add_constants(code, x, whole.output(), shape);
  add_group_product(code, "group_product",
                    {.columns = static_cast<int>(x.d.columns),
                     .a = matrix_type_name(x.problem.input(x.d.region.x).type),
                     .a_in_registers = true});
  TENON_ASSIGN(const std::vector<int> operands, add_quantized_epilogue(code, x.problem, x.d));
  TENON_ASSIGN(
      JitLaunch launch,
      make_launch(code,
                  {"jit/hopper.cuh", "quantized/run.cu", "quantized/stem_image.cu",
                   "quantized/pooled_stem.cu"},
                  std::min(shape.tiles(x), multiprocessors(whole) * shape.each), shape.warps * 32));
  launch.shared_bytes = static_cast<int>(shape.shared_bytes(x));
  return quantized_plan(std::move(launch), x.problem, x.d, panels_of_columns(x), operands);
}

}  // namespace
}  // namespace tenon::tactics::cuda_quantized_pooled_stem

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_quantized_pooled_stem, cuda_quantized_pooled_stem::tile_configs)
}  // namespace tenon::tactics
