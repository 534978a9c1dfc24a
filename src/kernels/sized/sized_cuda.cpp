// nonzero, compress, unique and nms on NVIDIA GPUs.
#include "device/described_device.h"
#include "kernels/jit/tactic.h"
#include "kernels/sized/stages.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon {
namespace {

using namespace sized;

/// Results of the first stages, and extents that follow from their number.
struct Stages {
  JitPlan measure;
  JitArgument total;  ///< Where the measure leaves the number, an i64.
  std::function<std::vector<Extents>(int64_t count)> extents;
  std::function<Result<JitPlan>(int64_t count)> write;
};

class StagedKernel final : public SizedKernel {
 public:
  StagedKernel(Problem problem, Stages stages)
      : problem_(std::move(problem)), stages_(std::move(stages)) {}

  Status prepare() {
    TENON_ASSIGN(measure_, make_jit_kernel(problem_, stages_.measure));
    if (!is_described(*problem_.device)) return {};
    // Nothing will run: only compilation can be checked.
    TENON_ASSIGN(JitPlan plan, stages_.write(1));
    TENON_ASSIGN(written_, make_jit_kernel(problem_, std::move(plan)));
    return {};
  }

  Result<std::vector<Extents>> measure(std::span<const void* const> inputs, void* workspace,
                                       Queue queue) override {
    LaunchArguments arguments{inputs, {}, workspace, queue, {}};
    TENON_TRY(measure_->run(arguments));
    const char* total = static_cast<const char*>(workspace) + stages_.total.offset;
    TENON_TRY(problem_.device->download(&count_, total, sizeof count_, queue));
    TENON_TRY(problem_.device->synchronize(queue));
    return stages_.extents(count_);
  }

  Status write(std::span<const void* const> inputs, std::span<void* const> outputs, void* workspace,
               Queue queue) override {
    if (written_ == nullptr || written_for_ != count_) {
      TENON_ASSIGN(JitPlan plan, stages_.write(count_));
      TENON_ASSIGN(written_, make_jit_kernel(problem_, std::move(plan)));
      written_for_ = count_;
    }
    LaunchArguments arguments{inputs, outputs, workspace, queue, {}};
    return written_->run(arguments);
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(stages_.measure.workspace_bytes);
  }

 private:
  Problem problem_;
  Stages stages_;
  std::unique_ptr<Kernel> measure_, written_;
  int64_t count_ = 0, written_for_ = -1;
};

Result<Stages> nonzero(const Problem& problem) {
  const Operand& x = problem.input(0);
  Room room;
  TENON_ASSIGN(Found found,
               find_set(problem, {}, "sized/flags.cuh", JitArgument::input(0), x.count(), room));
  Stages stages;
  stages.total = found.total;
  stages.measure = {std::move(found.launches), room.bytes, {}, {}};
  stages.extents = [rank = x.rank()](int64_t n) { return std::vector<Extents>{{rank, n}}; };
  stages.write = [problem, places = found.places](int64_t n) -> Result<JitPlan> {
    TENON_ASSIGN(JitLaunch launch, stage(problem, {}, {"sized/coordinates.cu"}, n,
                                         {JitArgument::output(0), places, JitArgument::number(n)}));
    return plan_of(std::move(launch));
  };
  return stages;
}

/// x as slices along an axis; flat: of single elements.
struct Slices {
  int64_t outer = 1, count = 1, run = 1;
  int axis = 0;
  bool flat = true;

  Slices(const Operand& x, bool flattened, int64_t along) : flat(flattened) {
    if (flat) {
      count = x.count();
      return;
    }
    axis = static_cast<int>(along < 0 ? along + x.rank() : along);
    count = x.extents[axis];
    for (int i = 0; i < x.rank(); ++i)
      if (i != axis) (i < axis ? outer : run) *= x.extents[i];
  }
  std::string constants() const {
    return fmt::format("enum : i64 {{ kOuter = {}, kSlices = {}, kRun = {} }};\n", outer, count,
                       run);
  }
  Extents picked(const Extents& x, int64_t n) const {
    if (flat) return {n};
    Extents extents = x;
    extents[axis] = n;
    return extents;
  }
};

Result<JitLaunch> pick(const Problem& problem, const Slices& slices, JitArgument chosen,
                       int64_t n) {
  return stage(problem, slices.constants(), {"sized/pick.cu"}, slices.outer * n * slices.run,
               {JitArgument::output(0), JitArgument::input(0), chosen, JitArgument::number(n)});
}

Result<Stages> compress(const Problem& problem, const Compress& op) {
  const Operand& x = problem.input(0);
  const Slices slices(x, op.flat, op.axis);
  const int64_t flags = std::min(problem.input(1).count(), slices.count);
  Room room;
  TENON_ASSIGN(Found found,
               find_set(problem, {}, "sized/condition.cuh", JitArgument::input(1), flags, room));
  Stages stages;
  stages.total = found.total;
  stages.measure = {std::move(found.launches), room.bytes, {}, {}};
  stages.extents = [slices, extents = x.extents](int64_t n) {
    return std::vector<Extents>{slices.picked(extents, n)};
  };
  stages.write = [problem, slices, places = found.places](int64_t n) -> Result<JitPlan> {
    TENON_ASSIGN(JitLaunch launch, pick(problem, slices, places, n));
    return plan_of(std::move(launch));
  };
  return stages;
}

/// Parts of unique's workspace.
struct UniqueParts {
  JitArgument leaders, order, ranks, firsts;
};

Result<JitPlan> write_unique(const Problem& problem, const Unique& op, const Slices& slices,
                             const UniqueParts& parts, int64_t n) {
  const auto output = [&](size_t i) {
    return i < problem.outputs.size() && problem.outputs[i].present
               ? JitArgument::output(static_cast<int>(i))
               : JitArgument::null();
  };
  const auto wanted = [&](size_t i) { return output(i).kind == JitArgument::Kind::kOutput; };
  const std::string constants =
      fmt::format("{}enum : bool {{ kSorted = {} }};\n", slices.constants(), op.sorted);
  const JitArgument order = wanted(1) ? output(1) : parts.order;
  JitPlan plan;
  TENON_ASSIGN(JitLaunch ranks, stage(problem, constants, {"sized/slices.cuh", "sized/ranks.cu"}, n,
                                      {order, parts.ranks, output(3), parts.firsts, parts.leaders,
                                       JitArgument::input(0), JitArgument::number(n)}));
  plan.launches.push_back(std::move(ranks));
  TENON_ASSIGN(JitLaunch picked, pick(problem, slices, order, n));
  plan.launches.push_back(std::move(picked));
  if (!wanted(2)) return plan;
  TENON_ASSIGN(JitLaunch inverse, stage(problem, constants, {"sized/inverse.cu"}, slices.count,
                                        {output(2), parts.ranks, parts.leaders}));
  plan.launches.push_back(std::move(inverse));
  return plan;
}

Result<Stages> unique(const Problem& problem, const Unique& op) {
  const Operand& x = problem.input(0);
  const Slices slices(x, op.flat, op.axis);
  Room room;
  UniqueParts parts{
      room.take(slices.count * 8), room.take(slices.count * 8), room.take(slices.count * 8), {}};
  TENON_ASSIGN(JitLaunch leaders,
               stage(problem, slices.constants(), {"sized/slices.cuh", "sized/leaders.cu"},
                     slices.count, {parts.leaders, JitArgument::input(0)}));
  TENON_ASSIGN(Found found,
               find_set(problem, {}, "sized/leading.cuh", parts.leaders, slices.count, room));
  parts.firsts = found.places;
  Stages stages;
  stages.total = found.total;
  stages.measure.launches.push_back(std::move(leaders));
  for (JitLaunch& launch : found.launches) stages.measure.launches.push_back(std::move(launch));
  stages.measure.workspace_bytes = room.bytes;
  stages.extents = [slices, extents = x.extents, count = problem.outputs.size()](int64_t n) {
    std::vector<Extents> all{slices.picked(extents, n), {n}, {slices.count}, {n}};
    all.resize(count);
    return all;
  };
  stages.write = [problem, op, slices, parts](int64_t n) {
    return write_unique(problem, op, slices, parts, n);
  };
  return stages;
}

Result<Stages> nms(const Problem& problem, const Nms& op) {
  const Extents& scores = problem.input(1).extents;
  const int64_t lists = scores[0] * scores[1], boxes = scores[2];
  const std::string constants = fmt::format(
      "enum : i64 {{ kClasses = {}, kBoxes = {} }};\nenum : bool {{ kCentered = {} }};\n",
      scores[1], boxes, op.center_point_box);
  const auto optional = [&](int i) {
    return problem.has_input(i) ? JitArgument::input(i) : JitArgument::null();
  };
  Room room;
  const JitArgument kept = room.take(lists * boxes * 8), counts = room.take(lists * 8),
                    gone = room.take(lists * boxes), total = room.take(8);
  TENON_ASSIGN(JitLaunch suppress,
               stage(problem, constants, {"sized/suppress.cu"}, 0,
                     {kept, counts, gone, JitArgument::input(0), JitArgument::input(1), optional(2),
                      optional(3), optional(4)}));
  suppress.grid[0] = lists;
  TENON_ASSIGN(JitLaunch sums, scan(problem, counts, total, lists));
  Stages stages;
  stages.total = total;
  stages.measure = {{std::move(suppress), std::move(sums)}, room.bytes, {}, {}};
  stages.extents = [](int64_t n) { return std::vector<Extents>{{n, 3}}; };
  stages.write = [problem, constants, kept, counts, lists](int64_t n) -> Result<JitPlan> {
    TENON_ASSIGN(JitLaunch launch,
                 stage(problem, constants, {"sized/kept.cu"}, 0,
                       {JitArgument::output(0), kept, counts, JitArgument::number(n)}));
    launch.grid[0] = lists;
    return plan_of(std::move(launch));
  };
  return stages;
}

Result<Stages> stages_of(const Problem& problem) {
  const Operation& node = problem.operation;
  for (const Operand& input : problem.inputs)
    if (input.present && input.count() == 0) return unsupported("an empty operand");
  if (node.is<NonZero>()) return nonzero(problem);
  if (const auto* op = node.as<Compress>()) return compress(problem, *op);
  if (const auto* op = node.as<Unique>()) return unique(problem, *op);
  if (const auto* op = node.as<Nms>()) return nms(problem, *op);
  return unsupported("no kernel says how large the result of '{}' is", node.name());
}

}  // namespace

Result<std::unique_ptr<SizedKernel>> make_cuda_sized_kernel(const Problem& problem) {
  TENON_ASSIGN(Stages stages, stages_of(problem));
  auto kernel = std::make_unique<StagedKernel>(problem, std::move(stages));
  TENON_TRY(kernel->prepare());
  return std::unique_ptr<SizedKernel>(std::move(kernel));
}

}  // namespace tenon
