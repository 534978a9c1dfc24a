// Formulas along axes, some of which only the device knows.
#include <algorithm>

#include "kernels/generic/formulas.h"
#include "ops/math.h"
#include "ops/movement.h"

namespace tenon::formulas {

Status cumulative(const Problem& problem, const Cumulative& op, Formula& f) {
  const bool real = is_real(problem.output().type);
  f.constants += fmt::format("typedef {} Sum_;\n", real ? "f64" : "i64");
  f.flag("kProduct", op.product);
  f.flag("kExclusive", op.exclusive);
  f.flag("kReverse", op.reverse);
  return {};
}

Status trilu(const Problem& problem, const Trilu& op, Formula& f) {
  if (!problem.has_input(1)) return unsupported("the main diagonal, which has a kernel of its own");
  f.flag("kUpper", op.upper);
  return {};
}

Status slice(const Problem& problem, const Slice&, Formula& f) {
  f.number("kGiven", problem.input(1).count());
  f.flag("kHasAxes", problem.has_input(3));
  f.flag("kHasSteps", problem.has_input(4));
  return {};
}

namespace {

/// The number that a reduction of nothing gives, as device code.
const char* first_of(ReduceFunction function, DataType type) {
  const bool max = function == ReduceFunction::kMax;
  if (function == ReduceFunction::kProd) return "1";
  if (!max && function != ReduceFunction::kMin) return "0";
  if (type == DataType::kBool) return max ? "0" : "1";
  if (is_real(type)) return max ? "-kInfinity" : "kInfinity";
  const IntegerLimits limits = limits_of(type);
  return max ? limits.low : limits.high;
}

Result<std::vector<bool>> reduced_axes(const Problem& problem, const Reduce& op) {
  const int rank = problem.input(0).rank();
  std::vector<int64_t> axes = op.axes;
  if (problem.has_input(1)) {
    const Tensor* given = problem.input(1).constant;
    if (given == nullptr || !given->defined()) return unsupported("axes that are computed");
    axes = given->to_int64s();
  }
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty() && !op.empty_is_identity);
  for (const int64_t axis : axes) reduced[static_cast<size_t>(axis_of(axis, rank))] = true;
  if (axes.empty() && op.empty_is_identity) return unsupported("the identity");
  return reduced;
}

}  // namespace

Status reduce(const Problem& problem, const Reduce& op, Formula& f) {
  const Operand& x = problem.input(0);
  TENON_ASSIGN(const std::vector<bool> reduced, reduced_axes(problem, op));
  const std::vector<int64_t> strides = strides_of(x);
  std::vector<int64_t> kept;
  int64_t count = 1;
  std::string place = "0", steps;
  for (int i = x.rank(); i-- > 0;) {
    const auto axis = static_cast<size_t>(i);
    if (!reduced[axis]) {
      kept.insert(kept.begin(), strides[axis]);
      continue;
    }
    if (op.keep_dims) kept.insert(kept.begin(), 0);
    count *= x.extents[axis];
    const int64_t extent = std::max<int64_t>(x.extents[axis], 1);
    steps += fmt::format("  place += n % {0}ll * {1}ll;\n  n /= {0}ll;\n", extent, strides[axis]);
  }
  f.list("kept", kept);
  f.number("kReduced", count);
  f.number("kDivisor", is_real(x.type) ? count : std::max<int64_t>(count, 1));
  f.number("kFunction", [&] {
    constexpr ReduceFunction kOrder[] = {ReduceFunction::kSum,       ReduceFunction::kProd,
                                         ReduceFunction::kMax,       ReduceFunction::kMin,
                                         ReduceFunction::kMean,      ReduceFunction::kL1,
                                         ReduceFunction::kL2,        ReduceFunction::kLogSum,
                                         ReduceFunction::kLogSumExp, ReduceFunction::kSumSquare};
    return static_cast<int64_t>(std::find(std::begin(kOrder), std::end(kOrder), op.function) -
                                std::begin(kOrder));
  }());
  f.constants += fmt::format(
      "typedef {} Sum_;\n#define kFirst ({})\n__device__ inline i64 reduced_place([[maybe_unused]] "
      "i64 n) {{\n  i64 place = 0;\n{}  return place;\n}}\n",
      is_real(x.type) ? "f64" : "i64", first_of(op.function, x.type), steps);
  return {};
}

}  // namespace tenon::formulas
