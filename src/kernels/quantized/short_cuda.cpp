// Quantized regions of one tap and few channels, whose weights stay in registers
// (quantized/short.cu).
#include <algorithm>
#include <cstring>

#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "kernels/quantized/device_region_cuda.h"

namespace tenon::tactics::cuda_quantized_short {
namespace {

constexpr int64_t kBlock = 128, kRegisters = 64 * 1024;
constexpr int64_t kMostSteps = 4;    ///< Of 32 along the depth.
constexpr int64_t kMostWords = 104;  ///< Registers of a thread for weights and sums.

/// How a warp takes rows: adjacent columns of a thread, columns of a warp, words of a load.
struct Shape {
  int64_t slab = 16, columns = 16, words = 1, channels = 16;

  int64_t loads() const { return blocks_for(channels, words * 16); }
  int64_t steps() const { return blocks_for(loads() * words, 2); }
  int64_t registers() const { return columns / 4 * steps() + slab / 2; }
  /// Of threads, with rows, the next ones, factors and addresses.
  int64_t blocks_each() const {
    const int64_t each = registers() + 12 * steps() + 3 * slab / 4 + 32;
    return std::clamp<int64_t>(kRegisters / kBlock / each, 2, 8);
  }
  std::string text() const { return fmt::format("columns={}", columns); }
};

/// Of the widest loads those with which the depth has the fewest steps.
int64_t load_words(const Problem& problem, const DeviceQuantized& d) {
  const Operand& x = problem.input(d.region.x);
  int64_t best = 0, fewest = 0;
  for (const int64_t words : {4, 2, 1}) {
    if (d.channels % (words * 4) != 0 || x.alignment % (words * 4) != 0) continue;
    const int64_t steps = Shape{.words = words, .channels = d.channels}.steps();
    if (best == 0 || steps < fewest) best = words, fewest = steps;
  }
  return best;
}

/// Slabs that fill up fewest columns; threads have whole runs of them. 0 where there are none.
int64_t slab_of(const Problem& problem, const DeviceQuantized& d) {
  int64_t best = 0;
  const auto padded = [&](int64_t slab) { return blocks_for(d.columns, slab) * slab; };
  for (const int64_t slab : {32, 16}) {
    if (d.columns % (slab / 4) != 0 || problem.output().alignment % 16 != 0) continue;
    if (best == 0 || padded(slab) < padded(best)) best = slab;
  }
  return best;
}

Result<DeviceQuantized> describe(const Problem& problem) {
  TENON_ASSIGN(DeviceQuantized d, describe_device_quantized(problem));
  TENON_TRY(check_byte_product(problem, d));
  TENON_TRY(stack_rows(problem, d, 1));
  if (!problem.output().dense()) return unsupported("results that lie apart");
  if (!small_indices(problem) || d.rows > INT32_MAX / 2) return unsupported("a large tensor");
  if (load_words(problem, d) == 0) return unsupported("rows that are no whole words");
  if (slab_of(problem, d) == 0) return unsupported("columns that are no whole words");
  return d;
}

/// All columns at once, or as few parts of them as registers have room for, and some more.
std::vector<Shape> shapes(const Problem& problem, const DeviceQuantized& d) {
  Shape shape{.slab = slab_of(problem, d), .words = load_words(problem, d), .channels = d.channels};
  const int64_t slabs = blocks_for(d.columns, shape.slab);
  std::vector<Shape> found;
  if (shape.steps() > kMostSteps) return found;
  for (int64_t parts = 1; parts <= slabs && found.size() < 2; ++parts) {
    const int64_t before = shape.columns;
    shape.columns = blocks_for(slabs, parts) * shape.slab;
    const bool is_new = parts == 1 || shape.columns < before;
    if (is_new && shape.registers() <= kMostWords) found.push_back(shape);
  }
  return found;
}

std::vector<std::string> column_configs(const Problem& problem) {
  const auto d = describe(problem);
  std::vector<std::string> texts;
  if (d.ok())
    for (const Shape& shape : shapes(problem, *d)) texts.push_back(shape.text());
  return texts.empty() ? std::vector<std::string>{""} : texts;
}

Result<Shape> shape_of(const Problem& problem, const DeviceQuantized& d, std::string_view config) {
  const std::vector<Shape> all = shapes(problem, d);
  if (all.empty()) return unsupported("{} channels", d.channels);
  const int64_t columns = config_number(config, "columns").value_or(all.front().columns);
  for (const Shape& shape : all)
    if (shape.columns == columns) return shape;
  return user_error("no such columns: {}", config);
}

/// In the order of quantized/short.cu.
std::function<std::vector<std::byte>()> words_of(const Problem& problem, const DeviceQuantized& d,
                                                 const Shape& shape) {
  const int64_t halves = shape.steps() * 2, row = halves * 16;
  const int64_t groups = blocks_for(d.columns, shape.columns) * shape.columns / 8;
  return [packed = packed_weights(problem, d, {row, row, shape.slab}).make, shape, halves, row,
          groups] {
    const std::vector<std::byte> from = packed();
    std::vector<std::byte> to(static_cast<size_t>(groups * 8 * row));
    for (int64_t place = 0; place < static_cast<int64_t>(from.size()) / row; ++place)
      for (int64_t half = 0; half < halves; ++half)
        for (int64_t part = 0; part < 4; ++part) {
          const int64_t load = half / shape.words, within = half % shape.words;
          const int64_t channel = (load * 4 + part) * shape.words * 4 + within * 4;
          const int64_t lane = place % 8 * 4 + part;
          const int64_t word = (place / 8 * halves / 2 + half / 2) * 64 + lane * 2 + half % 2;
          std::memcpy(to.data() + word * 4, from.data() + place * row + channel, 4);
        }
    return to;
  };
}

void add_constants(KernelCode& code, const Problem& problem, const DeviceQuantized& d,
                   const Shape& shape) {
  const Operand &x = problem.input(d.region.x), &y = problem.output();
  const bool real = is_float8(x.type);
  code.alias("X", quantized_type_name(x.type));
  code.alias("Y", quantized_type_name(y.type));
  code.alias("Word", word_type(byte_size(y.type)));
  code.alias("Accumulator", real ? "f32" : "i32");
  code.round_to(y.type);
  code.located("YAt", d.loop, y);
  code.open("kM", d.rows);
  code.constants("kN kC kZero kSlab", d.columns, d.channels, d.zero, shape.slab);
  code.constants("kSlabs kWords kBlock", shape.columns / shape.slab, shape.words, kBlock);
  code.constant("kBlocksEach", shape.blocks_each());
  code.flag("kSmallSums", has_small_sums(problem, d));
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const DeviceQuantized d, describe(problem));
  TENON_ASSIGN(const Shape shape, shape_of(problem, d, config));
  TENON_ASSIGN(KernelCode code, begin_byte_code(problem, d));
  add_constants(code, problem, d, shape);
  add_byte_product(code, problem, d);
  TENON_ASSIGN(const std::vector<int> operands, add_quantized_epilogue(code, problem, d));
  const int64_t parts = blocks_for(d.columns, shape.columns), rows = kBlock / 32 * 16;
  const int64_t blocks = std::min(
      blocks_for(d.rows, rows), blocks_for(multiprocessors(problem) * shape.blocks_each(), parts));
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"jit/pairs.cuh", "quantized/run.cu", "quantized/short.cu"},
                           blocks, kBlock));
  launch.starts_early = false;
  launch.grid[1] = parts;
  return quantized_plan(std::move(launch), problem, d, words_of(problem, d, shape), operands);
}

}  // namespace
}  // namespace tenon::tactics::cuda_quantized_short

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_quantized_short, cuda_quantized_short::column_configs)
}  // namespace tenon::tactics
