// Layer and RMS normalization of a sum of tensors on NVIDIA GPUs; the sum itself is a second result
// where it is wanted.
#include <algorithm>

#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/tactic.h"
#include "kernels/region.h"
#include "kernels/rows/group_cuda.h"
#include "ops/ops.h"

namespace tenon::tactics {
namespace cuda_normalize_sum {
namespace {

/// A region { add...; normalization }; numbers are those of the problem's operands, -1: absent.
struct Description {
  const Node* anchor = nullptr;
  const Normalization* op = nullptr;
  std::vector<int> terms;
  int scale = -1, bias = -1, sum_output = -1, output = -1;
};

/// The terms of a tree of sums; false where something else is in it.
bool collect(const Value* value, std::vector<int>& terms) {
  if (value->producer() == nullptr) {
    terms.push_back(value->index());
    return true;
  }
  const auto* add = value->producer()->as<Pointwise>();
  return add != nullptr && add->function == PointwiseFunction::k_add &&
         collect(value->producer()->input(0), terms) && collect(value->producer()->input(1), terms);
}

Result<Description> describe(const Node& node) {
  if (!node.is<Fused>()) return unsupported("no region");
  const Graph& body = *node.bodies[0];
  Description d;
  d.anchor = body.nodes().back().get();
  d.op = d.anchor->as<Normalization>();
  if (d.op == nullptr || d.anchor->outputs().size() != 1 ||
      d.anchor->input(0)->producer() == nullptr || !collect(d.anchor->input(0), d.terms) ||
      body.nodes().size() != d.terms.size())
    return unsupported("not the normalization of a sum");
  d.scale = input_number(d.anchor->input(1));
  d.bias = input_number(d.anchor->input(2));
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    if (body.outputs()[i] == d.anchor->output())
      d.output = static_cast<int>(i);
    else if (body.outputs()[i] == d.anchor->input(0))
      d.sum_output = static_cast<int>(i);
    else
      return unsupported("a part of the sum is wanted");
  }
  if (d.output < 0) return unsupported("the normalization's result is not wanted");
  if (d.op->norm != NormKind::kLayer && d.op->norm != NormKind::kRms)
    return unsupported("not a layer or RMS normalization");
  return d;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(*problem.node));
  const Operand& y = problem.output(d.output);
  for (const auto* operands : {&problem.inputs, &problem.outputs})
    for (const Operand& operand : *operands)
      if (operand.present && (!is_real(operand.type) || device_type(operand.type) == nullptr))
        return unsupported("the type");
  std::vector<bool> reduced(static_cast<size_t>(y.rank()), false);
  for (int64_t i = d.op->axis < 0 ? d.op->axis + y.rank() : d.op->axis; i < y.rank(); ++i)
    reduced[i] = true;
  const SplitLoop split = split_loop(y, reduced);
  const IndexLoop loop = joined(split.kept, split.reduced);
  int vector = std::min({pack_width(split.reduced, y), pack_width(loop, y), 8});
  for (const int term : d.terms) {
    TENON_ASSIGN(const auto strides, broadcast_strides(problem.input(term), y.extents));
    vector = std::min({vector, pack_width(split.reduced, problem.input(term), strides),
                       pack_width(loop, problem.input(term), strides)});
  }
  if (d.sum_output >= 0) vector = std::min(vector, pack_width(loop, problem.output(d.sum_output)));
  const RowGroups groups =
      choose_groups(problem, loop_count(split.kept), loop_count(split.reduced), vector);
  if (groups.length > int64_t{groups.group} * 64) return unsupported("very long rows");
  KernelCode code;
  begin_code(code, problem);
  code.type("Y", y.type);
  code.round_to(y.type);
  code.text("#define WITH_STATISTICS 0\n");
  code.flag("kRms", d.op->norm == NormKind::kRms);
  code.real("kEpsilon", d.op->epsilon);
  code.located("YAt", loop, y);
  add_groups(code, groups);
  std::vector<ExtraStep> factors;
  for (const auto& [input, function] : {std::pair(d.scale, PointwiseFunction::k_mul),
                                        std::pair(d.bias, PointwiseFunction::k_add)}) {
    if (input < 0) continue;
    TENON_ASSIGN(auto strides, broadcast_strides(problem.input(input), y.extents));
    factors.push_back({function, input, std::move(strides)});
  }
  const AnchoredRegion region{.anchor = d.anchor};
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, region, loop, factors));
  add_row_input(code, problem, loop, d.terms, d.sum_output);
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"rows/group.cuh", "rows/normalize.cu"}));
  launch.grid[0] = groups.blocks();
  launch.block[0] = groups.block;
  launch.add(JitArgument::output(d.output));
  launch.add_inputs(d.terms);
  if (d.sum_output >= 0) launch.add(JitArgument::output(d.sum_output));
  launch.add_inputs(operands);
  return JitPlan{{std::move(launch)}, 0, {}, {}};
}

}  // namespace
}  // namespace cuda_normalize_sum

TENON_JIT_TACTIC(cuda_normalize_sum, single_config)

}  // namespace tenon::tactics
