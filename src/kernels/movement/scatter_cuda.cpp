// ScatterElements and ScatterND on NVIDIA GPUs: a copy, then the updates, as if in their order.
#include <fmt/format.h>

#include "kernels/jit/tactic.h"
#include "kernels/movement/pick_cuda.h"
#include "kernels/movement/scatter_places.h"
#include "ops/movement.h"

namespace tenon::tactics {
namespace cuda_scatter {
namespace {

constexpr int kBlock = 128;
constexpr int64_t kFewSteps = 8;  ///< One thread makes them about as fast as one each.
/// Blocks that look through all updates of a line take as long as a thread that makes these.
constexpr int64_t kManyBlocks = 100'000;
constexpr int64_t kLastPass = 2, kNumberBytes = sizeof(uint32_t);  ///< Of jit/last_update.cuh.

int64_t product(const Extents& extents, int begin, int end) {
  int64_t result = 1;
  for (int i = begin; i < end; ++i) result *= extents[i];
  return result;
}

std::string checked(std::string_view name, int64_t extent) {
  return fmt::format("  if ({0} < 0) {0} += {1};\n  if ({0} < 0 || {0} >= {1}) return -1;\n", name,
                     extent);
}

/// Updates of different lines never meet, those of one line may.
struct Lines {
  int64_t lines = 1, steps = 1;
  int64_t slice = 1;  ///< So many lines go to the same places of slices of that many elements.
  int64_t slots = 1;  ///< Places of a line.
  bool lines_first = false;  ///< Updates that lie together are those of lines.
  std::string code;
};

/// Lines are the places off the axis.
Lines element_lines(const Problem& problem, int axis) {
  const Extents &x = problem.input(0).extents, &updates = problem.input(2).extents;
  const int rank = static_cast<int>(x.size());
  const std::vector<int64_t> strides = dense_strides(x, Layout::kRowMajor);
  const int64_t inner = product(updates, axis + 1, rank), extent = updates[axis];
  std::string place = "0", rest = "line";
  for (int i = rank - 1; i >= 0; --i) {
    if (i == axis) continue;
    place += fmt::format(" + i64({} % {}) * i64({})", rest, updates[i], strides[i]);
    rest += fmt::format(" / {}", updates[i]);
  }
  Lines lines{product(updates, 0, axis) * inner, extent, 1, x[axis], inner > 1, {}};
  lines.code = fmt::format(
      "__device__ inline i64 update_place(Index line, Index step) {{\n"
      "  return i64(line / {0}) * {1} + i64(step) * {0} + line % {0};\n}}\n"
      "__device__ inline i64 scatter_slot(Index line, Index step, const Place* indices) {{\n"
      "  i64 g = indices[update_place(line, step)];\n{2}  return g;\n}}\n"
      "__device__ inline i64 slot_place(Index line, i64 slot) {{ return {3} + slot * {4}; }}\n",
      inner, inner * extent, checked("g", x[axis]), place, strides[axis]);
  return lines;
}

/// Lines are the elements of a slice, steps the index tuples.
Lines nd_lines(const Problem& problem) {
  const Extents &x = problem.input(0).extents, &indices = problem.input(1).extents;
  const int rank = static_cast<int>(x.size()), tuple = static_cast<int>(indices.back());
  const int indices_rank = static_cast<int>(indices.size());
  const int64_t slice = product(x, tuple, rank);
  Lines lines{slice, product(indices, 0, indices_rank - 1), slice, product(x, 0, tuple), true, {}};
  const std::vector<int64_t> strides = dense_strides(x, Layout::kRowMajor);
  std::string body, slot = "0";
  for (int i = 0; i < tuple; ++i) {
    const std::string name = fmt::format("g{}", i);
    body += fmt::format("  i64 {} = indices[i64(step) * {} + {}];\n", name, tuple, i) +
            checked(name, x[i]);
    slot += fmt::format(" + {} * i64({})", name, strides[i] / slice);
  }
  lines.code = fmt::format(
      "__device__ inline i64 update_place(Index line, Index step) {{\n  return i64(step) * {} + "
      "line;\n}}\n"
      "__device__ inline i64 scatter_slot(Index, Index step, const Place* indices) {{\n{}  return "
      "{};\n}}\n"
      "__device__ inline i64 slot_place(Index line, i64 slot) {{ return slot * {} + line; }}\n",
      slice, body, slot, slice);
  return lines;
}

/// x to y, element by element of the same size.
Result<JitLaunch> copy_launch(const Problem& problem) {
  const Operand &x = problem.input(0), &y = problem.output();
  const int bytes = byte_size(x.type);
  const IndexLoop loop = memory_loop(y);
  const int vector = std::min(pack_width(loop, x), pack_width(loop, y));
  KernelCode code = begin_code(problem);
  code.alias("Word", word_type(bytes));
  for (const char* name : {"kFromOffset", "kToOffset"}) code.constant(name, 0);
  code.constants("kBlock kVector kUnroll", kBlock, vector, 1);
  code.open("kCount", y.count());
  code.located("FromAt", loop, x);
  code.located("ToAt", loop, y);
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"movement/copy.cu"},
                                             blocks_for(y.count() / vector, kBlock), kBlock));
  launch.add({JitArgument::input(0), JitArgument::output()});
  return launch;
}

KernelCode begin_updates(const Problem& problem, const Lines& lines, ScatterReduction reduction,
                         int block) {
  KernelCode code = begin_code(problem);
  code.types("X Place", problem.input(0).type, problem.input(1).type);
  code.constants("kReduction kBlock kLines", static_cast<int64_t>(reduction), block, lines.lines);
  code.constant("kSteps", lines.steps);
  code.text(lines.code);
  return code;
}

JitLaunch launch_of_updates(int block) {
  JitLaunch launch;
  launch.block[0] = block;
  launch.add({JitArgument::input(2), JitArgument::input(1), JitArgument::output()});
  return launch;
}

/// How blocks share out the places that updates are combined at.
struct Places {
  int64_t width = 1;  ///< Lines of a block, which share their indices.
  int64_t slots = 8;  ///< Of a block: at least one a warp.
  int64_t blocks = 1;
};

Places places_of(const Lines& lines, int multiprocessors) {
  Places places;
  places.width = std::min<int64_t>(lines.slice, 256);
  const int64_t groups = blocks_for(lines.lines, places.width);
  places.slots =
      std::clamp<int64_t>(blocks_for(lines.slots * groups, 4 * multiprocessors), places.slots, 64);
  places.blocks = blocks_for(lines.slots, places.slots) * groups;
  return places;
}

/// Instead of one thread a line, which is fast where lines fill the GPU and have few updates each.
bool pays_by_place(const Lines& lines, int multiprocessors) {
  if (lines.steps <= kFewSteps || lines.steps >= UINT32_MAX) return false;
  if (lines.lines >= int64_t{128} * multiprocessors && lines.steps < 256) return false;
  return places_of(lines, multiprocessors).blocks < kManyBlocks;
}

Status add_combined(const Problem& problem, const Lines& lines, const Places& places,
                    ScatterReduction reduction, JitPlan& plan) {
  constexpr int kThreads = 256;
  KernelCode code = begin_updates(problem, lines, reduction, kThreads);
  code.constants("kSlots kSlotsEach kWidth", lines.slots, places.slots, places.width);
  JitLaunch launch = launch_of_updates(kThreads);
  TENON_TRY(set_source(launch, code, {"movement/combined.cuh", "movement/scatter_by_place.cu"}));
  launch.grid[0] = places.blocks;
  plan.launches.push_back(std::move(launch));
  return {};
}

/// Of updates that replace, whose places are found first where several may meet at one.
Status add_updates(const Problem& problem, const Lines& lines, ScatterReduction reduction,
                   JitPlan& plan) {
  if (reduction != ScatterReduction::kNone && pays_by_place(lines, multiprocessors(problem)))
    return add_combined(problem, lines, places_of(lines, multiprocessors(problem)), reduction,
                        plan);
  const bool in_order =
      reduction != ScatterReduction::kNone || (lines.steps > 1 && lines.steps <= kFewSteps);
  const bool distinct = in_order || lines.steps == 1 || has_distinct_places(problem);
  if (!distinct && lines.steps >= UINT32_MAX) return unsupported("that many updates");
  KernelCode code = begin_updates(problem, lines, reduction, kBlock);
  code.constant("kSlice", lines.slice);
  code.flags("kLinesFirst kInOrder kDistinct", lines.lines_first, in_order, distinct);
  JitLaunch launch = launch_of_updates(kBlock);
  TENON_TRY(set_source(launch, code,
                       {"jit/last_update.cuh", "movement/combined.cuh", "movement/scatter.cu"}));
  launch.add(JitArgument::workspace(0));
  for (int64_t pass = distinct ? kLastPass : 0; pass <= kLastPass; ++pass) {
    plan.launches.push_back(launch);
    plan.launches.back().add(JitArgument::number(pass));
    const int64_t running = pass < kLastPass ? lines.lines / lines.slice : lines.lines;
    plan.launches.back().grid[0] = blocks_for(running * (in_order ? 1 : lines.steps), kBlock);
  }
  if (!distinct) plan.workspace_bytes = problem.input(0).count() / lines.slice * kNumberBytes;
  return {};
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  const auto* elements = problem.operation.as<ScatterElements>();
  const auto* nd = problem.operation.as<ScatterNd>();
  if (elements == nullptr && nd == nullptr) return unsupported("not a scatter");
  const Operand& x = problem.input(0);
  if (device_type(x.type) == nullptr) return unsupported("type {}", name_of(x.type));
  for (const Operand& operand : problem.inputs)
    if (!is_plain(operand)) return unsupported("not dense");
  if (!is_plain(problem.output())) return unsupported("not dense");
  const ScatterReduction reduction = elements != nullptr ? elements->reduction : nd->reduction;
  if (x.type == DataType::kBool && reduction != ScatterReduction::kNone)
    return unsupported("combined booleans");
  JitPlan plan;
  TENON_ASSIGN(JitLaunch copy, copy_launch(problem));
  plan.launches.push_back(std::move(copy));
  if (problem.input(2).count() == 0) return plan;
  const int axis =
      elements == nullptr
          ? 0
          : static_cast<int>(elements->axis < 0 ? elements->axis + x.rank() : elements->axis);
  const Lines lines = elements != nullptr ? element_lines(problem, axis) : nd_lines(problem);
  TENON_TRY(add_updates(problem, lines, reduction, plan));
  return plan;
}

}  // namespace
}  // namespace cuda_scatter

TENON_JIT_TACTIC(cuda_scatter, single_config)

}  // namespace tenon::tactics
