// First convolutions of images of bytes and the max pooling behind them on Hopper
// (quantized/pooled_stem.cu), which compute in sums what both would round.
#include <algorithm>
#include <array>

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

/// How a thread's share of the pixels under a column lies in words, as in quantized/pooled_stem.cu.
struct Words {
  int64_t pixel, ahead, sharers, taken, lead, groups, turns;

  explicit Words(const Described& x) {
    const DeviceWindow& w = x.d.window;
    const int64_t channels = x.d.channels;
    // Each second column begins a word.
    pixel = w.stride[2] % 2 == 0 || channels % 2 == 0 ? channels : channels + 1;
    const int64_t before = x.pooling.begin[2] * w.stride[2] + w.begin[2];
    ahead = (blocks_for(before, kVector) * kVector - before) * pixel;
    sharers = w.stride[1] == 1 ? 4 : w.stride[1] == 2 ? 2 : 1;
    taken = blocks_for(w.kernel[2] * pixel, 4 * sharers);
    lead = ahead % 4 + w.kernel[2] * pixel <= 4 * sharers * taken ? ahead % 4 : 0;
    groups = blocks_for(w.kernel[1], w.stride[1]);
    turns = groups == 2 || groups == 4 ? groups : 1;
  }

  /// Steps of the depth in memory: each turn of the ring has those of a row in an order of its own;
  /// where a group has an odd number of words, of two groups that follow each other.
  int64_t steps() const {
    return turns == 1 || taken % 2 == 0 ? blocks_for(groups * taken, 2) : groups * taken;
  }
  int64_t panels() const { return blocks_for(steps(), 4); }
  /// The group of rows and the thread's word in it that a step multiplies first or second.
  std::array<int64_t, 2> place(int64_t step, int64_t half) const {
    if (turns == 1 || taken % 2 == 0) {
      const int64_t word = 2 * step + half;
      return {word / taken, word % taken};
    }
    const int64_t word = 2 * (step % taken) + half;
    return {(step / taken + word / taken) % groups, word % taken};
  }
};

struct Shape {
  int64_t warps = 8, each = 2, rows = 8;  ///< Pooled rows of a tile.
  int64_t pairs = 1;                      ///< Of columns of the convolution that a thread has.

  explicit Shape(std::string_view config)
      : warps(config_number(config, "warps").value_or(4)),
        each(config_number(config, "each").value_or(4)),
        rows(config_number(config, "rows").value_or(8)),
        pairs(config_number(config, "pairs").value_or(1)) {}

  int64_t of_warp(const Described& x) const {
    return 8 * pairs - (x.pooling.kernel[2] == 3 ? 1 : 0);
  }
  int64_t strip(const Described& x) const { return warps * of_warp(x); }
  int64_t tiles(const Described& x) const {
    return x.pooling.output[2] == 0
               ? 0
               : x.problem.output().extents[0] * blocks_for(x.pooling.output[1], rows) *
                     blocks_for(x.pooling.output[2], strip(x));
  }
  int64_t shared_bytes(const Described& x) const;
};

int64_t Shape::shared_bytes(const Described& x) const {
  const DeviceWindow& w = x.d.window;
  const Words words(x);
  const int64_t pair = w.stride[2] * words.pixel / 2;
  const int64_t reach = (warps - 1) * of_warp(x) * pair + 8 * pairs * pair + words.ahead / 4 +
                        words.sharers * words.taken + 1;
  const int64_t pitch = blocks_for(reach, words.pixel) * words.pixel | 1;
  const int64_t parts = blocks_for(x.pooling.kernel[1] - 1 + words.groups, 2);
  const int64_t run = stem_slab(x.d) / 4, factors = x.d.columns / run * (run / 2 + 1) * 16;
  return 1024 + x.d.columns * words.panels() * 128 + factors +
         blocks_for((parts + 1) * 2 * w.stride[1] * pitch, 2) * 8 + 8;
}

/// Whether a multiprocessor has room for as many blocks as are to be there.
bool has_room(const Problem& problem, const Described& x, const Shape& shape) {
  const int64_t bytes = shape.shared_bytes(x);
  return bytes <= allowed_shared(problem) &&
         (bytes + kReserved) * shape.each <= shared_limit(problem) + kReserved;
}

/// Warp groups of a multiprocessor, a block each: as many as find registers for sums, the greatest
/// of two rows, pixels and a part of the image on its way.
int64_t groups_each(const Problem& whole, const Described& x, Shape shape) {
  constexpr int64_t kBlock = 128, kOthers = 24;
  const Words words(x);
  const DeviceWindow& w = x.d.window;
  shape.warps = kBlock / 32;
  const int64_t columns = 2 * shape.of_warp(x) * (shape.warps - 1) + 16 * shape.pairs;
  const int64_t part = (columns * w.stride[2] + w.kernel[2]) * 2 * w.stride[1];
  const int64_t vector = kVector * x.d.channels * byte_size(whole.input(x.d.region.x).type) / 4;
  const int64_t registers =
      shape.pairs * (x.d.columns + blocks_for(words.groups * words.taken, 2) * 4) +
      blocks_for(part, kVector * kBlock) * vector + kOthers;
  return std::clamp<int64_t>(65536 / kBlock / registers, 1, 4);
}

/// Segments by which blocks of all multiprocessors have so many tiles each, or half of them one.
std::vector<std::string> tile_configs(const Problem& problem) {
  const auto x = describe(problem);
  std::vector<std::string> configs;
  if (!x.ok()) return {""};
  for (const auto& [pairs, warps] : {std::pair{1, 4}, {1, 8}, {2, 4}})
    for (const double turns : {1.0, 0.5, 2.0, 4.0}) {
      if (pairs == 2 && turns != 1) continue;
      const auto groups = groups_each(problem, *x, Shape(fmt::format("pairs={}", pairs)));
      const int64_t each = std::max<int64_t>(groups * 4 / warps, 1);
      const auto with = [&, pairs = pairs, warps = warps](int64_t rows) {
        return fmt::format("pairs={},warps={},each={},rows={}", pairs, warps, each, rows);
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

/// Weights of columns by steps: four words of threads that a step multiplies first, then four more.
std::function<std::vector<std::byte>()> panels_of_columns(const Described& x) {
  return [packed = packed_weights(x.problem, x.d, {x.d.taps() * 4, 4, stem_slab(x.d)}).make,
          words = Words(x), window = x.d.window, channels = x.d.channels, columns = x.d.columns] {
    const std::vector<std::byte> from = packed();
    const int64_t pitch = words.panels() * 128, all = window.kernel[1] * window.kernel[2] * 4;
    std::vector<std::byte> rows(static_cast<size_t>(columns * pitch));
    for (int64_t i = 0; i < words.steps() * 32; ++i) {
      const int64_t quarter = i / 4 % 4, of_group = quarter / words.sharers;
      const auto [group, word] = words.place(i / 32, i / 16 % 2);
      const int64_t line = group * window.stride[1] + of_group;
      const int64_t byte = (quarter % words.sharers * words.taken + word) * 4 + i % 4 - words.lead;
      const int64_t channel = byte % words.pixel,
                    tap = line * window.kernel[2] + byte / words.pixel;
      if (group >= words.groups || of_group >= window.stride[1] || line >= window.kernel[1] ||
          byte < 0 || byte >= window.kernel[2] * words.pixel || channel >= channels)
        continue;
      for (int64_t n = 0; n < columns; ++n)
        rows[static_cast<size_t>(n * pitch + i)] =
            from[static_cast<size_t>(n * all + tap * 4 + channel)];
    }
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
  const Words words(x);
  code.constants("kPixel kTaken kLead kTurns", words.pixel, words.taken, words.lead, words.turns);
  code.constants("kPitchB kSegment kPairs", words.panels() * 32, shape.rows, shape.pairs);
  code.constants("kWarps kBlock kBlocksEach", shape.warps, shape.warps * 32, shape.each);
}

Result<JitPlan> plan(const Problem& whole, std::string_view config) {
  TENON_ASSIGN(const Described x, describe(whole));
  const Shape shape(config);
  if (shape.warps % 4 != 0 || shape.each < 1 || shape.pairs < 1 || shape.pairs > 2 ||
      shape.rows < 1 || !has_room(whole, x, shape))
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
