// Reductions over any axes, and indices of extremes, on NVIDIA GPUs.
#include <algorithm>

#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/tactic.h"
#include "kernels/rows/group_cuda.h"
#include "ops/math.h"

namespace tenon::tactics {
namespace cuda_reduce {
namespace {

constexpr int kBlock = 256, kFinishBlock = 128;
constexpr int64_t kArgument = 10;  ///< Number of kArgument in rows/reduce_state.cuh.

struct Description {
  AnchoredRegion region;
  int input = 0;
  int64_t function = 0;
  bool largest = false, last_index = false;
  std::vector<bool> reduced;
  std::vector<int> output_axis;  ///< Of each axis of x that is kept: its axis of the output.
};

Status describe_axes(const Problem& problem, Description& d) {
  const Operand& x = problem.input(d.input);
  d.reduced.assign(static_cast<size_t>(x.rank()), false);
  bool keep = true;
  if (const auto* reduce = d.region.anchor.as<Reduce>()) {
    std::vector<int64_t> axes = reduce->axes;
    if (d.region.anchor_inputs.size() > 1 && d.region.anchor_inputs[1] >= 0) {
      const Operand& given = problem.input(d.region.anchor_inputs[1]);
      if (given.constant == nullptr) return unsupported("axes that are computed");
      axes = given.constant->to_int64s();
    }
    if (axes.empty()) d.reduced.assign(d.reduced.size(), !reduce->empty_is_identity);
    for (const int64_t axis : axes) d.reduced[axis < 0 ? axis + x.rank() : axis] = true;
    d.function = static_cast<int64_t>(reduce->function);
    keep = reduce->keep_dims;
  } else if (const auto* index = d.region.anchor.as<ArgReduce>()) {
    d.reduced[index->axis < 0 ? index->axis + x.rank() : index->axis] = true;
    d.function = kArgument;
    d.largest = index->largest;
    d.last_index = index->last_index;
    keep = index->keep_dims;
  } else {
    return unsupported("not a reduction");
  }
  Extents expected;
  for (int axis = 0; axis < x.rank(); ++axis) {
    d.output_axis.push_back(static_cast<int>(expected.size()));
    if (!d.reduced[axis] || keep) expected.push_back(d.reduced[axis] ? 1 : x.extents[axis]);
  }
  if (expected != problem.output().extents) return unsupported("the epilogue broadcasts");
  return {};
}

Result<Description> describe(const Problem& problem) {
  Description d;
  TENON_ASSIGN(d.region, anchored_region(problem, {.branches = true, .quantized = true}));
  if (!d.region.anchor.is<Reduce>() && !d.region.anchor.is<ArgReduce>())
    return unsupported("not a reduction");
  d.input = d.region.anchor_inputs[0];
  TENON_TRY(describe_axes(problem, d));
  const Operand& x = problem.input(d.input);
  const bool knows_result =
      d.region.quantize != nullptr || device_type(problem.output().type) != nullptr;
  if (device_type(x.type) == nullptr || !knows_result)
    return unsupported("{} to {}", name_of(x.type), name_of(problem.output().type));
  if (x.count() == 0) return unsupported("an empty tensor");
  return d;
}

/// Types and numbers of rows/reduce_state.cuh. Gives the bytes of a state.
int add_state(KernelCode& code, const Description& d, DataType type, int64_t count) {
  const bool real = is_real(type), wide = type == DataType::kFloat64;
  const bool is_unsigned = !real && (name_of(type)[0] == 'u' || type == DataType::kBool);
  const bool exponential = d.function == static_cast<int64_t>(ReduceFunction::kLogSumExp);
  const bool pair = d.function == kArgument || exponential;
  const char* integer = exponential ? "f64" : (is_unsigned ? "u64" : "i64");
  code.alias("Accumulator", real ? (wide ? "f64" : "f32") : integer);
  code.alias("Root", real && !wide ? "f32" : "f64");
  code.flag("kRealAccumulator", real || exponential);
  code.text(is_unsigned ? "enum : u64 { kLowest = 0, kHighest = ~0ull };\n"
                        : "enum : i64 { kLowest = -9223372036854775807ll - 1, kHighest = "
                          "9223372036854775807ll };\n");
  code.text(fmt::format("#define REDUCE_PAIR {}\n", pair ? (d.function == kArgument ? 1 : 2) : 0));
  if (pair) code.alias("Second", d.function == kArgument ? "i64" : (real && !wide ? "f32" : "f64"));
  code.constant("kFunction", d.function);
  code.flags("kLargest kLastIndex", d.largest, d.last_index);
  code.constant("kCount", count);
  const int value = real && !wide ? 4 : 8;
  return !pair ? value : (d.function == kArgument ? 16 : 2 * value);
}

/// Of x, and of the output over the kept axes.
struct Loops : ColumnLoop {
  IndexLoop output;
};

Loops loops_of(const Description& d, const Operand& x) {
  Loops loops{column_loop(x, d.reduced), {}};
  if (loops.reduced.empty()) std::swap(loops.outer, loops.inner);
  for (const LoopAxis& axis : loops.kept())
    loops.output.push_back({d.output_axis[axis.axis], axis.extent});
  return loops;
}

/// Blocks and pieces of one of the two forms.
struct Shape {
  bool columns = false;
  int vector = 1, lanes = 1, group = 32, block = kBlock;
  int64_t blocks = 1, splits = 1;
};

Shape choose_shape(const Problem& problem, const Operand& x, const Loops& loops, int state_bytes) {
  Shape shape;
  const int64_t outer = loop_count(loops.outer), inner = loop_count(loops.inner),
                length = loop_count(loops.reduced);
  shape.columns = inner > 1;
  const IndexLoop all = loops.all();
  shape.vector =
      std::min(pack_width(shape.columns ? loops.inner : loops.reduced, x), pack_width(all, x));
  while (shape.vector * state_bytes * kBlock > 32768) shape.vector /= 2;
  const int64_t target = int64_t{4} * multiprocessors(problem);
  if (shape.columns) {
    // Few columns: narrow ones, so that more multiprocessors have some, and more threads for each.
    const auto blocks = [&](int64_t lanes) {
      return outer * blocks_for(inner / shape.vector, lanes);
    };
    while (shape.vector > 2 && blocks(32) < multiprocessors(problem)) shape.vector /= 2;
    shape.lanes = static_cast<int>(std::min<int64_t>(32, power_above(inner / shape.vector)));
    if (shape.lanes == 32 && blocks(32) < multiprocessors(problem)) shape.lanes = 16;
    shape.blocks = blocks(shape.lanes);
    while (shape.block < 1024 && shape.blocks < target && length > 8 * shape.block / shape.lanes &&
           shape.vector * state_bytes * shape.block <= 16384)
      shape.block *= 2;
    const int64_t shares = shape.block / shape.lanes;
    shape.splits = std::clamp<int64_t>(target / shape.blocks, 1, blocks_for(length, shares * 32));
  } else {
    const int64_t vectors = blocks_for(length, shape.vector);
    shape.group =
        static_cast<int>(std::clamp<int64_t>(power_above(blocks_for(vectors, 4)), 1, kBlock));
    if (outer * shape.group < target * kBlock)
      shape.group = static_cast<int>(std::min<int64_t>(kBlock, power_above(vectors)));
    shape.block = shape.group > 32 ? shape.group : 128;
    shape.blocks = blocks_for(outer, shape.block / shape.group);
    shape.splits = std::clamp<int64_t>(target / shape.blocks, 1,
                                       blocks_for(vectors, int64_t{shape.group} * 16));
  }
  shape.splits = std::min<int64_t>(shape.splits, 512);
  return shape;
}

struct Writer {
  const Problem& problem;
  const Description& d;
  const Loops loops;
  const Operand& x;
  Shape shape;

  Result<JitLaunch> launch(bool finish, int64_t partial_bytes) {
    KernelCode code = begin_code(problem);
    code.type("X", x.type);
    TENON_TRY(add_result_type(code, problem, d.region));
    add_state(code, d, x.type, loop_count(loops.reduced));
    code.constant("kSplits", shape.splits);
    code.open("kOutputs", loop_count(loops.kept()));
    code.located("YAt", loops.output, problem.output());
    TENON_ASSIGN(const std::vector<int> operands,
                 add_epilogue(code, problem, d.region, loops.output));
    JitLaunch launch;
    if (finish) {
      code.constant("kBlock", kFinishBlock);
      TENON_TRY(set_source(launch, code, {"rows/reduce_state.cuh", "rows/reduce_finish.cu"}));
      launch.grid[0] = blocks_for(loop_count(loops.kept()), kFinishBlock);
      launch.block[0] = kFinishBlock;
    } else {
      TENON_TRY(add_main(code, launch));
      launch.add(JitArgument::input(d.input));
    }
    launch.add({JitArgument::output(),
                partial_bytes > 0 ? JitArgument::workspace(0) : JitArgument::null()});
    launch.add_inputs(operands);
    return launch;
  }

  Status add_main(KernelCode& code, JitLaunch& launch) const {
    code.located("XAt", loops.all(), x);
    code.constants("kLength kVector kBlock", loop_count(loops.reduced), shape.vector, shape.block);
    if (shape.columns) {
      code.open("kOuter", loop_count(loops.outer));
      code.constants("kInner kLanes", loop_count(loops.inner), shape.lanes);
    } else {
      code.open("kRows", loop_count(loops.outer));
      code.constant("kGroup", shape.group);
    }
    TENON_TRY(set_source(launch, code,
                         {"rows/reduce_state.cuh",
                          shape.columns ? "rows/reduce_columns.cu" : "rows/reduce_rows.cu"}));
    launch.grid[0] = shape.blocks;
    launch.grid[1] = shape.splits;
    launch.block[0] = shape.block;
    return {};
  }
};

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  const Operand& x = problem.input(d.input);
  KernelCode scratch;
  const int state_bytes = add_state(scratch, d, x.type, 1);
  Writer writer{problem, d, loops_of(d, x), x, {}};
  if (loop_count(writer.loops.inner) > INT32_MAX)
    return unsupported("{} columns; takes 2^31", loop_count(writer.loops.inner));
  writer.shape = choose_shape(problem, x, writer.loops, state_bytes);
  const int64_t partial = writer.shape.splits > 1
                              ? writer.shape.splits * loop_count(writer.loops.kept()) * state_bytes
                              : 0;
  JitPlan plan;
  plan.workspace_bytes = partial;
  TENON_ASSIGN(JitLaunch main, writer.launch(false, partial));
  plan.launches.push_back(std::move(main));
  if (partial == 0) return plan;
  TENON_ASSIGN(JitLaunch finish, writer.launch(true, partial));
  plan.launches.push_back(std::move(finish));
  return plan;
}

}  // namespace
}  // namespace cuda_reduce

TENON_JIT_TACTIC(cuda_reduce, single_config)

}  // namespace tenon::tactics
