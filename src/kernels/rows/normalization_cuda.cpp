// Layer, RMS, instance and group normalization on NVIDIA GPUs. Scale and bias are steps of the
// epilogue.
#include <algorithm>

#include "kernels/image.h"
#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/tactic.h"
#include "kernels/rows/group_cuda.h"
#include "ops/nn.h"

namespace tenon::tactics {
namespace {

/// Strides of scale or bias over the output: along the last axes, or along the channels.
Result<std::vector<int64_t>> factor_strides(const Normalization& op, const Operand& factor,
                                            const Extents& extents) {
  if (op.over_rows()) return broadcast_strides(factor, extents);
  std::vector<int64_t> strides(extents.size(), 0);
  strides[1] = strides_of(factor)[0];
  return strides;
}

Result<std::vector<ExtraStep>> factor_steps(const Problem& problem, const AnchoredRegion& region,
                                            const Normalization& op) {
  std::vector<ExtraStep> steps;
  for (size_t i = 1; i < region.anchor_inputs.size(); ++i) {
    const int input = region.anchor_inputs[i];
    if (input < 0) continue;
    TENON_ASSIGN(std::vector<int64_t> strides,
                 factor_strides(op, problem.input(input), problem.output().extents));
    steps.push_back(
        {i == 1 ? PointwiseFunction::k_mul : PointwiseFunction::k_add, input, std::move(strides)});
  }
  return steps;
}

struct Description {
  AnchoredRegion region;
  const Normalization* op = nullptr;
  int input = 0;
  std::vector<ExtraStep> factors;
};

Result<Description> describe(const Problem& problem) {
  Description d;
  TENON_ASSIGN(d.region, anchored_region(problem, {.branches = true}));
  d.op = d.region.anchor.as<Normalization>();
  if (d.op == nullptr) return unsupported("not a normalization");
  d.input = d.region.anchor_inputs[0];
  const Operand& x = problem.input(d.input);
  if (device_type(x.type) == nullptr || device_type(problem.output().type) == nullptr)
    return unsupported("{} to {}", name_of(x.type), name_of(problem.output().type));
  if (x.extents != problem.output().extents) return unsupported("the epilogue broadcasts");
  TENON_ASSIGN(d.factors, factor_steps(problem, d.region, *d.op));
  return d;
}

/// The axes that are normalized together (`reduced`), and the loop over all of these.
SplitLoop loops_of(const Normalization& op, const Operand& y) {
  std::vector<bool> reduced(static_cast<size_t>(y.rank()), false);
  if (op.over_rows()) {
    for (int64_t i = op.axis < 0 ? op.axis + y.rank() : op.axis; i < y.rank(); ++i)
      reduced[i] = true;
    return split_loop(y, reduced);
  }
  for (int i = 2; i < y.rank(); ++i) reduced[i] = true;
  SplitLoop split = split_loop(y, reduced);
  if (op.norm == NormKind::kInstance || op.groups == y.extents[1]) return split;
  // The channels of a group belong to the reduced axes: behind the pixels where they lie so.
  const int64_t each = y.extents[1] / op.groups;
  std::erase_if(split.kept, [](const LoopAxis& axis) { return axis.axis == 1; });
  split.kept.push_back({1, op.groups, each});
  const LoopAxis inner{1, each, 1};
  if (y.layout == Layout::kChannelsLast)
    split.reduced.push_back(inner);
  else
    split.reduced.insert(split.reduced.begin(), inner);
  return split;
}

}  // namespace

namespace cuda_normalize {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  const Operand &x = problem.input(d.input), &y = problem.output();
  const bool statistics = problem.outputs.size() > 1;
  const SplitLoop split = loops_of(*d.op, y);
  const IndexLoop loop = joined(split.kept, split.reduced);
  KernelCode code = begin_code(problem);
  code.type("Y", y.type);
  code.round_to(y.type);
  code.text(fmt::format("#define WITH_STATISTICS {}\n", statistics ? 1 : 0));
  if (statistics) code.type("Statistic", problem.output(1).type);
  code.flag("kRms", d.op->norm == NormKind::kRms);
  code.real("kEpsilon", d.op->epsilon);
  code.located("YAt", loop, y);
  const int vector = std::min({pack_width(split.reduced, x), pack_width(split.reduced, y),
                               pack_width(loop, x), pack_width(loop, y), 8});
  const RowGroups groups =
      choose_groups(problem, loop_count(split.kept), loop_count(split.reduced), vector);
  add_groups(code, groups);
  TENON_ASSIGN(const std::vector<int> operands,
               add_epilogue(code, problem, d.region, loop, d.factors));
  add_row_input(code, problem, loop, {d.input}, -1);
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"rows/group.cuh", "rows/normalize.cu"},
                                             groups.blocks(), groups.block));
  launch.add({JitArgument::output(), JitArgument::input(d.input)});
  if (statistics) {
    launch.add({JitArgument::output(1),
                problem.outputs.size() > 2 ? JitArgument::output(2) : JitArgument::null()});
  }
  launch.add_inputs(operands);
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_normalize

namespace cuda_normalize_image {
namespace {

constexpr int kBlock = 256;

/// Constants that both halves need.
KernelCode begin_image(const Problem& problem, const Description& d, int64_t pieces, int vector) {
  const Operand& x = problem.input(d.input);
  KernelCode code = begin_code(problem);
  code.types("X Y", x.type, problem.output().type);
  code.round_to(problem.output().type);
  code.constant("kChannels", x.extents[1]);
  code.constant("kGroups", d.op->norm == NormKind::kInstance ? x.extents[1] : d.op->groups);
  code.constant("kPixels", x.count() / x.extents[0] / x.extents[1]);
  code.located("XAt", memory_loop(problem.output()), x);
  code.constants("kPieces kVector kBlock", pieces, vector, kBlock);
  code.real("kEpsilon", d.op->epsilon);
  return code;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  const Operand &x = problem.input(d.input), &y = problem.output();
  if (d.op->over_rows()) return unsupported("not an instance or group normalization");
  if (problem.outputs.size() > 1) return unsupported("statistics are wanted");
  if (!has_whole_pixels(x) || !pixel_stride(y)) return unsupported("not channels-last");
  if (wide_type(x.type) != std::string_view("f32") || x.type != y.type)
    return unsupported("{} to {}; takes f32, f16, bf16", name_of(x.type), name_of(y.type));
  const int64_t batch = x.extents[0], channels = x.extents[1],
                pixels = x.count() / batch / channels;
  // Channels and groups have their sums in shared memory.
  const bool each_channel = d.op->norm == NormKind::kInstance || d.op->groups == channels;
  if (channels > (each_channel ? 3072 : 4096))
    return unsupported("{} channels; takes {}", channels, each_channel ? 3072 : 4096);
  if (pixels * channels > INT32_MAX)
    return unsupported("{} pixels of {} channels; takes 2^31 elements", pixels, channels);
  const IndexLoop loop = memory_loop(y), channel_loop = {{1, channels}};
  const int vector =
      std::min({pack_width(channel_loop, x), pack_width(loop, x), pack_width(loop, y)});
  const int64_t pieces = std::clamp<int64_t>(
      std::min(blocks_for(int64_t{2} * multiprocessors(problem), batch), pixels * channels / 16384),
      1, 256);

  TENON_ASSIGN(JitLaunch first, make_launch(begin_image(problem, d, pieces, vector),
                                            {"rows/image_moments.cu"}, pieces, kBlock));
  first.grid[1] = batch;
  first.add({JitArgument::input(d.input), JitArgument::workspace(0)});

  KernelCode scale = begin_image(problem, d, pieces, vector);
  scale.located("YAt", loop, y);
  TENON_ASSIGN(const std::vector<int> operands,
               add_epilogue(scale, problem, d.region, loop, d.factors));
  const int64_t vectors = pixels * channels / vector;
  const int64_t blocks = std::clamp<int64_t>(
      blocks_for(int64_t{8} * multiprocessors(problem), batch), 1, blocks_for(vectors, kBlock));
  TENON_ASSIGN(JitLaunch second, make_launch(scale, {"rows/image_scale.cu"}, blocks, kBlock));
  second.grid[1] = batch;
  second.add({JitArgument::input(d.input), JitArgument::workspace(0), JitArgument::output()});
  second.add_inputs(operands);
  const int64_t groups = d.op->norm == NormKind::kInstance ? channels : d.op->groups;
  return JitPlan{{std::move(first), std::move(second)}, batch * pieces * groups * 8, {}};
}

}  // namespace
}  // namespace cuda_normalize_image

TENON_JIT_TACTIC(cuda_normalize, single_config)
TENON_JIT_TACTIC(cuda_normalize_image, single_config)

}  // namespace tenon::tactics
