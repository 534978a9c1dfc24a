// Formulas of conversions between element types.
#include "kernels/generic/formulas.h"
#include "ops/math.h"

namespace tenon::formulas {
namespace {

void add_limits(Formula& f, const IntegerLimits& limits) {
  f.constants += fmt::format("#define kLow {}\n#define kHigh {}\n", limits.low, limits.high);
}

/// The device function `name(c)`: where the scale (or zero point) of an element lies.
void add_scale_place(Formula& f, std::string_view name, const Operand& x, const Operand& scale,
                     int64_t axis, int64_t block) {
  std::string place = "0";
  const std::vector<int64_t> strides = strides_of(scale);
  const int at = axis_of(axis, x.rank());
  if (block > 0) {
    for (int i = 0; i < x.rank(); ++i)
      place += fmt::format(" + c[{}] / {}ll * {}ll", i, i == at ? block : 1, strides[i]);
  } else if (scale.count() > 1) {
    place = fmt::format("c[{}] * {}ll", at, strides.back());
  }
  f.constants +=
      fmt::format("__device__ inline i64 {}([[maybe_unused]] const i64* c) {{\n  return {};\n}}\n",
                  name, place);
}

}  // namespace

Status cast(const Problem& problem, const Cast& op, Formula& f) {
  const DataType from = problem.input(0).type, to = problem.output().type;
  f.saturates = op.saturate;
  f.power_rounding = op.round_mode == "down" ? 1 : op.round_mode == "nearest" ? 2 : 0;
  const bool truncates = is_real(from) && is_integer(to);
  f.constants += fmt::format("#define CAST_TRUNCATES {}\n#define CAST_TO_BOOL {}\n",
                             truncates ? 1 : 0, to == DataType::kBool ? 1 : 0);
  // Types of fewer bits than 8 wrap, from 64 bits.
  const bool narrow = to == DataType::kInt4 || to == DataType::kUInt4 || to == DataType::kInt2 ||
                      to == DataType::kUInt2;
  if (truncates) add_limits(f, limits_of(narrow ? DataType::kInt64 : to));
  return {};
}

Status quantize(const Problem& problem, const Quantize& op, Formula& f) {
  const Operand &x = problem.input(0), &scale = problem.input(1);
  const IntegerLimits limits = limits_of(problem.output().type);
  f.saturates = op.saturate;
  f.constants += fmt::format("#define QUANTIZE_INTEGER {}\n", limits.low != nullptr ? 1 : 0);
  if (limits.low != nullptr) add_limits(f, limits);
  f.flag("kHasZero", problem.has_input(2));
  add_scale_place(f, "scale_place", x, scale, op.axis, op.block_size);
  add_scale_place(f, "zero_place", x, problem.has_input(2) ? problem.input(2) : scale, op.axis,
                  op.block_size);
  return {};
}

Status dequantize(const Problem& problem, const Dequantize& op, Formula& f) {
  const Operand &x = problem.input(0), &scale = problem.input(1);
  f.flag("kHasZero", problem.has_input(2));
  add_scale_place(f, "scale_place", x, scale, op.axis, op.block_size);
  add_scale_place(f, "zero_place", x, problem.has_input(2) ? problem.input(2) : scale, op.axis,
                  op.block_size);
  return {};
}

}  // namespace tenon::formulas
