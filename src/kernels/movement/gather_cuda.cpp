// Gathers and the other operators whose results are elements of their first operand, on NVIDIA
// GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernels/jit/tactic.h"
#include "kernels/movement/pick_cuda.h"
#include "ops/movement.h"

namespace tenon::tactics {
namespace cuda_pick {
namespace {

int64_t resolved(int64_t axis, int rank) {
  return axis < 0 ? axis + rank : axis;
}

bool takes_table(const Problem& problem) {
  const auto inputs = problem.operation.node().inputs();
  return inputs[0] != nullptr && inputs[0]->constant() != nullptr;
}

/// An index that may count from the end; outside the axis it takes the fill value.
std::string checked(const Pick& pick, std::string_view name, int64_t extent) {
  return fmt::format("  if ({0} < 0) {0} += {1};\n  if ({0} < 0 || {0} >= {1}) return false;\n",
                     name, number_of_x(pick.of_table, extent));
}

Result<Pick> pick_gather(const Problem& problem, const Gather& op) {
  const Operand &x = problem.input(0), &indices = problem.input(1);
  const int axis = static_cast<int>(resolved(op.axis, x.rank()));
  Pick pick{.operands = {{"indices", 1}}, .of_table = takes_table(problem)};
  pick.statements =
      fmt::format("  i64 g = indices[{}];\n", place_code(indices, axis, indices.rank())) +
      checked(pick, "g", x.extents[axis]);
  for (int i = 0; i < x.rank(); ++i)
    pick.places.push_back(i == axis ? "g"
                                    : fmt::format("c{}", i < axis ? i : i - 1 + indices.rank()));
  const int last = fastest_axis(x), y_last = fastest_axis(problem.output());
  const bool same = last != axis && y_last == (last < axis ? last : last - 1 + indices.rank());
  if (same) pick.run = x.extents[last];
  return pick;
}

Result<Pick> pick_gather_elements(const Problem& problem, const GatherElements& op) {
  const Operand &x = problem.input(0), &indices = problem.input(1);
  const int axis = static_cast<int>(resolved(op.axis, x.rank()));
  Pick pick{.operands = {{"indices", 1}}, .of_table = takes_table(problem)};
  pick.statements =
      fmt::format("  i64 g = indices[{}];\n", place_code(indices, 0, indices.rank())) +
      checked(pick, "g", x.extents[axis]);
  for (int i = 0; i < x.rank(); ++i) pick.places.push_back(i == axis ? "g" : fmt::format("c{}", i));
  return pick;
}

Result<Pick> pick_gather_nd(const Problem& problem, const GatherNd& op) {
  const Operand &x = problem.input(0), &indices = problem.input(1);
  const int batch = static_cast<int>(op.batch_dims),
            tuple = static_cast<int>(indices.extents.back());
  const int kept = indices.rank() - 1;  // Axes of the result that choose the tuple.
  const std::vector<int64_t> strides = strides_of(indices);
  Pick pick{.operands = {{"indices", 1}}, .of_table = takes_table(problem)};
  const std::string row = place_code(indices, 0, kept);
  for (int i = 0; i < batch; ++i) pick.places.push_back(fmt::format("c{}", i));
  for (int i = 0; i < tuple; ++i) {
    const std::string name = fmt::format("g{}", i);
    pick.statements +=
        fmt::format("  i64 {} = indices[{} + {}];\n", name, row, i * strides.back()) +
        checked(pick, name, x.extents[batch + i]);
    pick.places.push_back(name);
  }
  for (int i = batch + tuple; i < x.rank(); ++i)
    pick.places.push_back(fmt::format("c{}", kept + i - batch - tuple));
  const int last = fastest_axis(x);
  if (last >= batch + tuple && fastest_axis(problem.output()) == kept + last - batch - tuple)
    pick.run = x.extents[last];
  return pick;
}

/// Code that turns place `p` outside [0, extent) into one inside, or takes the fill value.
std::string bordered(PadFill fill, std::string_view p, int64_t extent) {
  const int64_t period = std::max<int64_t>(2 * (extent - 1), 1);
  if (fill == PadFill::kConstant)
    return fmt::format("  if ({0} < 0 || {0} >= {1}) return false;\n", p, extent);
  if (fill == PadFill::kEdge)
    return fmt::format("  {0} = {0} < 0 ? 0 : ({0} >= {1} ? {1} - 1 : {0});\n", p, extent);
  if (fill == PadFill::kWrap)
    return fmt::format("  {0} %= {1};\n  if ({0} < 0) {0} += {1};\n", p, extent);
  return fmt::format(
      "  {0} %= {2};\n  if ({0} < 0) {0} += {2};\n  if ({2} - {0} < {0}) {0} = {2} - {0};\n  {0} "
      "%= {1};\n",
      p, extent, period);
}

/// Each axis of the result begins `begins[axis]` places before x.
Pick shifted(const Problem& problem, const std::vector<int64_t>& begins, PadFill fill) {
  const Operand &x = problem.input(0), &y = problem.output();
  Pick pick;
  for (int i = 0; i < x.rank(); ++i) {
    const std::string p = fmt::format("p{}", i);
    const int64_t first = std::max<int64_t>(-begins[i], 0);  // That no border took off.
    const int64_t left = std::min(x.extents[i], y.extents[i] - begins[i]) - first;
    const bool inside = begins[i] <= 0 && y.extents[i] - begins[i] <= x.extents[i];
    pick.statements +=
        fmt::format("  i64 {} = c{} - i64({});\n", p, i, begins[i] + (inside ? 0 : first));
    if (!inside) pick.statements += bordered(fill, p, left);
    if (!inside && first > 0) pick.statements += fmt::format("  {} += {};\n", p, first);
    pick.places.push_back(p);
  }
  const int last = fastest_axis(x);
  const bool untouched = begins[last] == 0 && x.extents[last] == y.extents[last];
  // A pack must not reach over x's border.
  if (last == fastest_axis(y) && (fill == PadFill::kConstant || untouched))
    pick.run = std::gcd(std::gcd(x.extents[last], std::abs(begins[last])), y.extents[last]);
  return pick;
}

Result<Pick> pick_pad(const Problem& problem, const Pad& op) {
  const Operand& x = problem.input(0);
  if (problem.input(1).constant == nullptr) return unsupported("pads that are computed");
  if (problem.has_input(3) && problem.input(3).constant == nullptr)
    return unsupported("axes that are computed");
  if (problem.has_input(2) && problem.input(2).type != x.type)
    return unsupported("a fill value of another type");
  const std::vector<int64_t> pads = problem.input(1).constant->to_int64s();
  std::vector<int64_t> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (problem.has_input(3)) axes = problem.input(3).constant->to_int64s();
  std::vector<int64_t> begins(static_cast<size_t>(x.rank()), 0);
  for (size_t i = 0; i < axes.size(); ++i) begins[resolved(axes[i], x.rank())] = pads[i];
  Pick pick = shifted(problem, begins, op.fill);
  if (problem.has_input(2) && problem.input(2).count() > 0) pick.fill = 2;
  return pick;
}

Result<Pick> pick_crop(const Problem& problem) {
  const Operand &x = problem.input(0), &y = problem.output();
  std::vector<int64_t> begins;
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t more = y.extents[i] - x.extents[i];
    begins.push_back(more >= 0 ? more / 2 : -(-more / 2));
  }
  return shifted(problem, begins, PadFill::kConstant);
}

Result<Pick> pick_tile(const Problem& problem) {
  const Operand &x = problem.input(0), &y = problem.output();
  Pick pick;
  for (int i = 0; i < x.rank(); ++i)
    pick.places.push_back(fmt::format("c{} % {}", i, std::max<int64_t>(1, x.extents[i])));
  const int last = fastest_axis(x);
  if (x.rank() > 0 && last == fastest_axis(y)) pick.run = x.extents[last];
  return pick;
}

Result<Pick> pick_slice(const Problem& problem) {
  const Operand &x = problem.input(0), &y = problem.output();
  for (const int i : {1, 3, 4})
    if (problem.has_input(i) && problem.input(i).constant == nullptr)
      return unsupported("bounds that are computed");
  const std::vector<int64_t> starts = problem.input(1).constant->to_int64s();
  std::vector<int64_t> begin(static_cast<size_t>(x.rank()), 0), step(begin.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    const int64_t axis = resolved(
        problem.has_input(3) ? problem.input(3).constant->as_int64(number) : number, x.rank());
    step[axis] = problem.has_input(4) ? problem.input(4).constant->as_int64(number) : 1;
    const int64_t start = starts[i] < 0 ? starts[i] + x.extents[axis] : starts[i];
    begin[axis] = std::clamp<int64_t>(start, 0, x.extents[axis] - (step[axis] < 0 ? 1 : 0));
    if (y.extents[axis] == 1) step[axis] = 0;
  }
  Pick pick;
  for (int i = 0; i < x.rank(); ++i)
    pick.places.push_back(fmt::format("i64({}) + c{} * i64({})", begin[i], i, step[i]));
  return pick;
}

Result<Pick> pick_trilu(const Problem& problem, const Trilu& op) {
  const Operand& x = problem.input(0);
  if (problem.has_input(1) && problem.input(1).constant == nullptr)
    return unsupported("a diagonal that is computed");
  const int64_t bound = int64_t{1} << 40;
  const int64_t k =
      problem.has_input(1) ? std::clamp(problem.input(1).constant->as_int64(0), -bound, bound) : 0;
  Pick pick;
  pick.statements = fmt::format("  if (c{1} {2} c{0} + i64({3})) return false;\n", x.rank() - 2,
                                x.rank() - 1, op.upper ? "<" : ">", k);
  for (int i = 0; i < x.rank(); ++i) pick.places.push_back(fmt::format("c{}", i));
  return pick;
}

Result<Pick> pick_reverse(const Problem& problem, const ReverseSequence& op) {
  const Operand& x = problem.input(0);
  const int time = static_cast<int>(resolved(op.time_axis, x.rank()));
  Pick pick;
  pick.operands = {{"lengths", 1}};
  pick.statements = fmt::format(
      "  const i64 given = lengths[c{0}], length = given < {2} ? given : {2};\n"
      "  const i64 t = c{1} < length ? length - 1 - c{1} : c{1};\n",
      1 - time, time, x.extents[time]);
  for (int i = 0; i < x.rank(); ++i) pick.places.push_back(i == time ? "t" : fmt::format("c{}", i));
  const int last = fastest_axis(x);
  if (last >= 2 && last == fastest_axis(problem.output())) pick.run = x.extents[last];
  return pick;
}

Result<Pick> pick_depth_to_space(const Problem& problem, const DepthToSpace& op) {
  const int64_t b = op.block, channels = problem.output().extents[1];
  Pick pick;
  pick.statements = fmt::format("  const i64 s = c2 % {0} * {0} + c3 % {0};\n", b);
  pick.places = {"c0",
                 op.column_row_depth ? fmt::format("c1 * {} + s", b * b)
                                     : fmt::format("s * {} + c1", channels),
                 fmt::format("c2 / {}", b), fmt::format("c3 / {}", b)};
  if (!op.column_row_depth && fastest_axis(problem.input(0)) == 1 &&
      fastest_axis(problem.output()) == 1)
    pick.run = channels;
  return pick;
}

Result<Pick> pick_space_to_depth(const Problem& problem, const SpaceToDepth& op) {
  const int64_t b = op.block, channels = problem.input(0).extents[1];
  Pick pick;
  pick.statements = fmt::format("  const i64 s = c1 / {};\n", channels);
  pick.places = {"c0", fmt::format("c1 % {}", channels), fmt::format("c2 * {0} + s / {0}", b),
                 fmt::format("c3 * {0} + s % {0}", b)};
  if (fastest_axis(problem.input(0)) == 1 && fastest_axis(problem.output()) == 1)
    pick.run = channels;
  return pick;
}

}  // namespace
}  // namespace cuda_pick
}  // namespace tenon::tactics

namespace tenon {

Result<Pick> describe_pick(const Problem& problem) {
  using namespace tactics::cuda_pick;
  const Operation& node = problem.operation;
  if (const auto* op = node.as<Gather>()) return pick_gather(problem, *op);
  if (const auto* op = node.as<GatherElements>()) return pick_gather_elements(problem, *op);
  if (const auto* op = node.as<GatherNd>()) return pick_gather_nd(problem, *op);
  if (const auto* op = node.as<Pad>()) return pick_pad(problem, *op);
  if (node.is<CenterCropPad>()) return pick_crop(problem);
  if (node.is<Tile>()) return pick_tile(problem);
  if (node.is<Slice>()) return pick_slice(problem);
  if (const auto* op = node.as<Trilu>()) return pick_trilu(problem, *op);
  if (const auto* op = node.as<ReverseSequence>()) return pick_reverse(problem, *op);
  if (const auto* op = node.as<DepthToSpace>()) return pick_depth_to_space(problem, *op);
  if (const auto* op = node.as<SpaceToDepth>()) return pick_space_to_depth(problem, *op);
  return unsupported("not a choice of elements");
}

}  // namespace tenon

namespace tenon::tactics {
namespace cuda_pick {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Pick pick, describe_pick(problem));
  return plan_pick(problem, pick);
}

}  // namespace
}  // namespace cuda_pick

TENON_JIT_TACTIC(cuda_pick, single_config)

}  // namespace tenon::tactics
