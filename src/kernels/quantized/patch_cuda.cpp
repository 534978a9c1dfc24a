// Convolutions of bytes with stride 1 and few channels on Hopper: TMA brings a part of the image
// once for all taps (quantized/patch.cu).
#include <algorithm>
#include <array>

#include "kernels/gemm/hopper_tiling_cuda.h"
#include "kernels/image.h"
#include "kernels/jit/hopper.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "kernels/quantized/device_region_cuda.h"

namespace tenon::tactics::cuda_quantized_patch {
namespace {

constexpr int64_t kSharedBytes = 226 * 1024, kBox = 256, kAddendLine = 64;

int64_t whole(int64_t bytes) {
  return blocks_for(bytes, 1024) * 1024;
}

/// Warp groups with tiles of so many times 64 places, and columns; `across` of them share the
/// places.
struct Shape {
  int64_t groups = 2, parts = 1, columns = 64, across = 1;
  int64_t rows = 0;  ///< Lines of a tile that goes down the image (quantized/patch_rolls.cu), or 0.
  bool takes_addend = false;  ///< The tensor that results are added to comes with the image.

  std::string text() const {
    if (rows > 0) return fmt::format("rows={},groups={},n={}", rows, groups, columns);
    return fmt::format("groups={},parts={},n={}{}{}", groups, parts, columns,
                       across > 1 ? fmt::format(",across={}", across) : "",
                       takes_addend ? ",addend=1" : "");
  }
  /// Columns of a block.
  int64_t own_columns() const { return across * columns; }
  int64_t sets() const { return groups / across; }
  /// Columns that threads share out, a run of a quarter each.
  int64_t slab() const { return columns % 64 == 0 ? 64 : columns % 32 == 0 ? 32 : 16; }
  static bool is_flat(const DeviceQuantized& d) { return d.taps() == 1; }
  static int64_t row_bytes(const DeviceQuantized& d) { return d.channels <= 64 ? 64 : 128; }
  static int64_t panels(const DeviceQuantized& d) { return blocks_for(d.channels, row_bytes(d)); }
  int64_t span(const DeviceQuantized& d) const {
    return is_flat(d) ? parts * 64
           : rows > 0 ? 64 + d.window.kernel[2] - 1
                      : d.window.output[2] + d.window.kernel[2] - 1;
  }
  int64_t lines(const DeviceQuantized& d) const {
    if (rows > 0) return rows;
    return (parts * 64 + d.window.kernel[2] - 1) / span(d);
  }
  /// The rows that products read, some of them behind the part that comes.
  int64_t image_bytes(const DeviceQuantized& d) const {
    const DeviceWindow& w = d.window;
    if (rows > 0) return whole(span(d) * row_bytes(d));
    const int64_t come = (lines(d) + w.kernel[1] - 1) * span(d);
    const int64_t seen = parts * 64 + (w.kernel[1] - 1) * span(d) + w.kernel[2] - 1;
    return whole(std::max(come, seen) * row_bytes(d) * panels(d));
  }
  /// Of a part that comes, behind the image the addend's bytes.
  int64_t patch_bytes(const DeviceQuantized& d) const {
    return image_bytes(d) + (takes_addend ? span(d) * own_columns() : 0);
  }
  int64_t weight_bytes(const DeviceQuantized& d) const {
    return whole(d.taps() * panels(d) * own_columns() * row_bytes(d));
  }
  int64_t shared_bytes(const DeviceQuantized& d, int64_t stages) const {
    return 1024 + weight_bytes(d) + sets() * stages * (patch_bytes(d) + 16) + 16;
  }
  /// Parts of the image on their way: more where sets are few.
  int64_t stages(const DeviceQuantized& d) const {
    int64_t stages = across > 1 || rows > 0 || takes_addend ? 6 : 2;
    while (stages > 2 && shared_bytes(d, stages) > kSharedBytes) --stages;
    return stages;
  }
  int64_t shared_bytes(const DeviceQuantized& d) const { return shared_bytes(d, stages(d)); }
  /// Of sums, a slab's factors and a run, and of operands behind them, of one tile or of two.
  int64_t registers(const DeviceQuantized& d, const Problem& problem, int64_t tiles) const {
    int64_t operands = 0;
    for (size_t i = d.first_step; i < d.region.steps.size(); ++i)
      if (const int input = d.region.steps[i].function.operand; input >= 0)
        operands += byte_size(problem.input(input).type);
    if (rows > 0)
      return d.window.kernel[1] * columns / 2 + d.window.kernel[2] * row_bytes(d) / 8 +
             (operands + 1) * slab() / 4 + 30;
    const int64_t sums = parts * columns / 2;
    return sums + sums * operands * tiles / 4 + slab() * 3 / 4 + 20;
  }
  int64_t allowed_registers() const { return std::min<int64_t>(65536 / (groups * 128), 255); }
  /// The next tile's operands come while the results of this one are made.
  bool fetches_ahead(const DeviceQuantized& d, const Problem& problem) const {
    return !takes_addend && registers(d, problem, 2) <= allowed_registers();
  }
  /// Scales and biases stay in registers.
  bool keeps_factors(const DeviceQuantized& d, const Problem& problem) const {
    return rows == 0 || registers(d, problem, 1) + slab() / 2 <= allowed_registers();
  }
  /// Steps take one tensor of bytes, which lies as the result does.
  static bool adds_like_result(const DeviceQuantized& d, const Problem& problem) {
    const Operand& y = problem.output();
    if (!is_flat(d) || byte_size(y.type) != 1 || !y.dense() || y.alignment < 16) return false;
    const auto found = addends(problem, d);
    return found && found->size() == 1;
  }
  bool fits(const DeviceQuantized& d, const Problem& problem) const {
    if (rows > 0)
      return !is_flat(d) && d.window.kernel[1] >= 2 && d.window.kernel[1] <= 3 &&
             d.columns % columns == 0 && columns <= 64 && stages(d) >= 3 && span(d) <= kBox &&
             registers(d, problem, 1) <= allowed_registers();
    // Groups of more than a slab's columns were slower with it than without.
    if (takes_addend && (columns != kAddendLine || !adds_like_result(d, problem))) return false;
    const int64_t down = lines(d) + d.window.kernel[1] - 1;
    return groups % across == 0 && d.columns % own_columns() == 0 && own_columns() <= kBox &&
           (across == 1 || columns <= 128) && lines(d) >= 1 && down <= kBox && span(d) <= kBox &&
           shared_bytes(d) <= kSharedBytes && registers(d, problem, 1) <= allowed_registers();
  }
  int64_t tiles(const Problem& problem, const DeviceQuantized& d) const {
    const int64_t places =
        is_flat(d) ? blocks_for(d.rows, span(d))
        : rows > 0 ? problem.output().extents[0] * blocks_for(d.window.output[1], rows) *
                         blocks_for(d.window.output[2], 64)
                   : problem.output().extents[0] * blocks_for(d.window.output[1], lines(d));
    return places * (d.columns / own_columns());
  }
  /// About how long it takes: groups share the tensor cores, and each waits and stores alone.
  double estimate(const Problem& problem, const DeviceQuantized& d) const {
    const int64_t waves = blocks_for(tiles(problem, d), sets() * multiprocessors(problem));
    if (rows > 0) return static_cast<double>(waves * rows * (groups + 1) * columns / 64 + 2);
    return static_cast<double>(waves * ((groups + 1) * parts * columns / 64 + 2));
  }
};

Status check(const Problem& problem, const DeviceQuantized& d) {
  const Operand &x = problem.input(d.region.x), &y = problem.output();
  const DeviceWindow& w = d.window;
  if (!d.is_convolution || x.rank() != 4) return unsupported("not two axes");
  if (!is_integer(x.type) || d.zero != 0) return unsupported("floats, or a zero point");
  for (const int axis : {1, 2})
    if (w.stride[axis] != 1 || w.dilation[axis] != 1) return unsupported("a stride or dilation");
  if (d.channels < 32 || d.channels > (Shape::is_flat(d) ? 256 : 128) || d.columns % 16 != 0 ||
      Shape{.columns = std::min<int64_t>(d.columns, 64)}.weight_bytes(d) > kSharedBytes / 2)
    return unsupported("few channels, or weights without room in shared memory");
  if (Shape::is_flat(d) && (w.begin[1] != 0 || w.begin[2] != 0 || w.end[1] != 0 || w.end[2] != 0))
    return unsupported("one tap with a border");
  const std::vector<int64_t> strides = strides_of(x);
  if (Shape::is_flat(d) && (strides[2] != strides[3] * x.extents[3] ||
                            (x.extents[0] > 1 && strides[0] != strides[2] * x.extents[2])))
    return unsupported("pixels at unequal distances");
  if (!pixel_stride(x) || !pixel_stride(y)) return unsupported("not channels-last");
  if (!small_indices(problem)) return unsupported("a large tensor");
  return {};
}

/// [channels, x, y, images].
JitTensorMap image_map(const Problem& problem, const DeviceQuantized& d, const Shape& shape) {
  const Operand& x = problem.input(d.region.x);
  const std::vector<int64_t> strides = strides_of(x);
  const int row = static_cast<int>(Shape::row_bytes(d));
  if (Shape::is_flat(d))
    return {JitArgument::input(d.region.x),
            x.type,
            {x.extents[1], d.rows, 1, 1},
            {1, *pixel_stride(x), 16, 16},
            {row, static_cast<int>(shape.span(d)), 1, 1},
            {},
            row};
  return {JitArgument::input(d.region.x),
          x.type,
          {x.extents[1], x.extents[3], x.extents[2], x.extents[0]},
          {1, strides[3], strides[2], strides[0]},
          {row, static_cast<int>(shape.span(d)),
           shape.rows > 0 ? 1 : static_cast<int>(shape.lines(d) + d.window.kernel[1] - 1), 1},
          {},
          row};
}

Result<DeviceQuantized> describe(const Problem& problem) {
  TENON_ASSIGN(DeviceQuantized d, describe_device_quantized(problem));
  TENON_TRY(check(problem, d));
  TENON_TRY(check_map(image_map(problem, d, {}), alignment_in_elements(problem.input(d.region.x))));
  return d;
}

std::vector<std::string> shapes(const Problem& problem) {
  const auto d = describe(problem);
  std::vector<std::pair<double, std::string>> found;
  if (d.ok())
    for (const auto& [groups, parts, columns, across] :
         std::initializer_list<std::array<int64_t, 4>>{{3, 2, 64, 1},
                                                       {3, 1, 128, 1},
                                                       {4, 1, 64, 1},
                                                       {2, 2, 128, 1},
                                                       {2, 4, 64, 1},
                                                       {2, 3, 64, 1},
                                                       {2, 1, 256, 1},
                                                       {4, 1, 64, 4},
                                                       {4, 1, 64, 2},
                                                       {3, 1, 64, 3},
                                                       {2, 2, 64, 2},
                                                       {2, 1, 128, 2}})
      for (const bool takes_addend : {false, true})
        if (const Shape shape{groups, parts, std::min(columns, d->columns), across, 0,
                              takes_addend};
            shape.fits(*d, problem) && (columns <= d->columns || columns == 64))
          found.emplace_back(shape.estimate(problem, *d), shape.text());
  if (d.ok()) {
    // Of so many lines that groups have a tile each.
    Shape shape{2, 1, std::min<int64_t>(d->columns, 64), 1, d->window.output[1]};
    const int64_t images = std::max<int64_t>(shape.tiles(problem, *d), 1);
    const int64_t segments = multiprocessors(problem) * shape.groups / images;
    shape.rows = blocks_for(shape.rows, std::max<int64_t>(std::min(segments, shape.rows), 1));
    if (shape.rows > 0 && shape.fits(*d, problem))
      found.emplace_back(shape.estimate(problem, *d), shape.text());
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> texts;
  for (auto& [time, text] : found) texts.push_back(std::move(text));
  return texts.empty() ? std::vector<std::string>{"groups=2,parts=1,n=64"} : texts;
}

/// Slabs of a tile's rows.
JitTensorMap addend_map(int input, const Problem& problem, const DeviceQuantized& d,
                        const Shape& shape) {
  return {JitArgument::input(input),
          problem.input(input).type,
          {d.columns, d.rows, 1},
          {1, d.columns, 16},
          {kAddendLine, static_cast<int>(shape.span(d)), 1},
          {},
          kAddendLine};
}

/// Bytes do not need every digit of the sums' start, which floats have on top (hopper_scale.cu).
bool bias_takes_start(const Problem& problem, const DeviceQuantized& d) {
  return has_small_sums(problem, d) && d.region.output && d.is_scaled;
}

void add_constants(KernelCode& code, const Problem& problem, const DeviceQuantized& d,
                   const Shape& shape) {
  const Operand &x = problem.input(d.region.x), &y = problem.output();
  code.alias("Y", quantized_type_name(y.type));
  code.alias("Word", word_type(byte_size(y.type)));
  code.alias("Accumulator", "i32");
  code.round_to(y.type);
  code.located("YAt", d.loop, y);
  add_window(code, d.window);
  code.open("kImages", y.extents[0]);
  code.constants("kN kTileN kSlab", d.columns, shape.columns, shape.slab());
  code.flag("kFlat", Shape::is_flat(d));
  code.text(fmt::format("#define FLAT {}\n", Shape::is_flat(d) ? 1 : 0));
  code.constants("kRowBytes kLines kGroups", Shape::row_bytes(d), shape.lines(d), shape.groups);
  code.constants("kParts kPatchPitch kAddendAt", shape.parts, shape.patch_bytes(d),
                 shape.image_bytes(d));
  code.text(fmt::format("#define ADDEND_COMES {}\n", shape.takes_addend ? 1 : 0));
  code.constants("kWeightsPitch kAcross", shape.weight_bytes(d), shape.across);
  code.flag("kFetchesAhead", shape.fetches_ahead(d, problem));
  code.flag("kKeepsFactors", shape.keeps_factors(d, problem));
  code.constants("kPanels kStages", Shape::panels(d), shape.stages(d));
  code.flag("kSmallSums", has_small_sums(problem, d));
  code.flag("kBiasTakesStart", bias_takes_start(problem, d));
  add_group_product(code, "group_product",
                    ByteGroupProduct{static_cast<int>(shape.columns), matrix_type_name(x.type),
                                     "s8", shape.rows > 0});
}

Result<JitPlan> plan(const Problem& problem, std::string_view given) {
  TENON_ASSIGN(const DeviceQuantized d, describe(problem));
  // Which shapes are possible depends on the image's width.
  const std::string config = given.empty() ? shapes(problem).front() : std::string(given);
  const Shape shape{config_number(config, "groups").value_or(2),
                    config_number(config, "parts").value_or(1),
                    config_number(config, "n").value_or(std::min<int64_t>(d.columns, 64)),
                    config_number(config, "across").value_or(1),
                    config_number(config, "rows").value_or(0),
                    config_number(config, "addend").value_or(0) != 0};
  if (!shape.fits(d, problem)) return unsupported("a patch that is too large");
  TENON_ASSIGN(KernelCode code, begin_byte_code(problem, d));
  add_constants(code, problem, d, shape);
  TENON_ASSIGN(const std::vector<int> operands, add_quantized_epilogue(code, problem, d));
  const int64_t size = byte_size(problem.output().type);
  const bool walks =
      hopper::add_walk(code, problem, {d.region.x, operands, d.taps() == 1},
                       {shape.tiles(problem, d), multiprocessors(problem) * shape.sets(),
                        shape.own_columns() * size, d.columns * size});
  // A block's columns are always the same.
  const int64_t across = d.columns / shape.own_columns();
  const int64_t blocks = std::min<int64_t>(blocks_for(shape.tiles(problem, d), shape.sets()),
                                           multiprocessors(problem));
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code,
                           {"jit/hopper.cuh", "quantized/run.cu", "quantized/patch_factors.cu",
                            shape.rows > 0 ? "quantized/patch_rolls.cu" : "quantized/patch.cu"},
                           std::max<int64_t>(blocks / across, 1) * across, shape.groups * 128));
  launch.shared_bytes = static_cast<int>(shape.shared_bytes(d));
  const int64_t row_bytes = Shape::row_bytes(d), pitch = Shape::panels(d) * row_bytes;
  const int64_t row = d.taps() * pitch;
  const PackedWeights order{row, pitch, shape.slab()};
  launch.maps = {image_map(problem, d, shape),
                 {JitArgument::constant(0),
                  DataType::kInt8,
                  {row, d.columns, 1},
                  {1, row, 16},
                  {static_cast<int>(row_bytes), static_cast<int>(shape.own_columns()), 1},
                  {},
                  static_cast<int>(row_bytes)}};
  if (shape.takes_addend) launch.maps.push_back(addend_map(operands[0], problem, d, shape));
  for (int i = 0; i < static_cast<int>(launch.maps.size()); ++i) launch.add(JitArgument::map(i));
  launch.add({JitArgument::output(), JitArgument::constant(1)});
  launch.add_inputs(operands);
  if (walks) launch.add(JitArgument::walk());
  JitPlan plan = plan_of(std::move(launch));
  constexpr double kStart = 12582912;  // 1.5 * 2^23
  plan.constants = {packed_weights(problem, d, order),
                    column_factors(d, bias_takes_start(problem, d) ? kStart : 0)};
  return plan;
}

}  // namespace
}  // namespace tenon::tactics::cuda_quantized_patch

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_quantized_patch, cuda_quantized_patch::shapes)
}  // namespace tenon::tactics
