#include "kernels/generic/formula.h"

#include <fmt/ranges.h>

#include "kernels/jit/sources.h"

namespace tenon {
namespace {

constexpr int kOperands = 7;

std::string lookup(std::string_view name, std::string_view type,
                   const std::vector<int64_t>& values) {
  return fmt::format(
      "  __device__ static constexpr {} {}(int i) {{\n    constexpr {} v[] = {{{}}};\n"
      "    return v[i];\n  }}\n",
      type, name, type, values.empty() ? "0" : fmt::format("{}", fmt::join(values, ", ")));
}

std::string placed(std::string_view name, const Operand& operand) {
  const std::vector<int> order = memory_order(operand.rank(), operand.layout);
  return fmt::format("struct {} {{\n  enum : int {{ kRank = {} }};\n{}{}{}}};\n", name,
                     operand.rank(), lookup("extent", "i64", operand.extents),
                     lookup("stride", "i64", strides_of(operand)),
                     lookup("order", "int", {order.begin(), order.end()}));
}

/// Also the types of generic/small_types.cuh.
const char* element_type(DataType type) {
  switch (type) {
    case DataType::kFloat8E4M3: return "e4m3";
    case DataType::kFloat8E4M3Fnuz: return "e4m3fnuz";
    case DataType::kFloat8E5M2: return "e5m2";
    case DataType::kFloat8E5M2Fnuz: return "e5m2fnuz";
    case DataType::kFloat8E8M0: return "e8m0";
    case DataType::kFloat4E2M1: return "e2m1";
    case DataType::kInt4: return "s4";
    case DataType::kUInt4: return "u4";
    case DataType::kInt2: return "s2";
    case DataType::kUInt2: return "u2";
    default: return device_type(type);
  }
}

bool is_small(DataType type) {
  return element_type(type) != device_type(type);
}

const char* sum_type(DataType type) {
  if (type == DataType::kFloat64) return "f64";
  return is_real(type) ? "f32" : "i64";
}

}  // namespace

void Formula::number(std::string_view name, int64_t value) {
  constants += fmt::format("enum : i64 {{ {} = {} }};\n", name, value);
}
void Formula::real(std::string_view name, double value) {
  constants += fmt::format("#define {} {}\n", name, device_real(value));
}
void Formula::flag(std::string_view name, bool value) {
  constants += fmt::format("enum : bool {{ {} = {} }};\n", name, value);
}
void Formula::list(std::string_view name, const std::vector<int64_t>& values) {
  std::string text = lookup(name, "i64", values);
  text.replace(text.find("static "), 7, "");
  constants += text;
}

IntegerLimits limits_of(DataType type) {
  switch (type) {
    case DataType::kInt2: return {"-2.0", "1.0"};
    case DataType::kUInt2: return {"0.0", "3.0"};
    case DataType::kInt4: return {"-8.0", "7.0"};
    case DataType::kUInt4: return {"0.0", "15.0"};
    case DataType::kInt8: return {"-128.0", "127.0"};
    case DataType::kUInt8: return {"0.0", "255.0"};
    case DataType::kInt16: return {"-32768.0", "32767.0"};
    case DataType::kUInt16: return {"0.0", "65535.0"};
    case DataType::kInt32: return {"-2147483648.0", "2147483647.0"};
    case DataType::kUInt32: return {"0.0", "4294967295.0"};
    case DataType::kInt64: return {"-9223372036854775808.0", "9223372036854775807.0"};
    case DataType::kUInt64: return {"0.0", "18446744073709551615.0"};
    default: return {};
  }
}

Status add_operands(KernelCode& code, const Problem& problem, const Formula& formula) {
  const Operand& y = problem.output();
  if (problem.inputs.size() > kOperands) return unsupported("more than {} operands", kOperands);
  if (element_type(y.type) == nullptr) return unsupported("results of type {}", name_of(y.type));
  bool small = is_small(y.type);
  for (const Operand& input : problem.inputs) small |= input.present && is_small(input.type);
  if (small) {
    TENON_ASSIGN(const std::string types, device_source("generic/small_types.cuh"));
    code.text(fmt::format("#define SMALL_SATURATES {}\n#define SMALL_ROUNDING {}\n{}",
                          formula.saturates ? 1 : 0, formula.power_rounding, types));
  }
  code.alias("Y", element_type(y.type));
  code.text(placed("YAt", y));
  for (int i = 0; i < kOperands; ++i) {
    const bool given = problem.has_input(i);
    const char* type = given ? element_type(problem.input(i).type) : "i64";
    if (type == nullptr) return unsupported("operands of type {}", name_of(problem.input(i).type));
    code.alias(fmt::format("X{}", i), type);
    code.text(placed(fmt::format("In{}", i), given ? problem.input(i) : Operand{}));
  }
  code.alias("Real", y.type == DataType::kFloat64 ? "f64" : "f32");
  code.alias("Result", "Wide<Y>");
  code.alias("Accumulator", sum_type(y.type));
  return {};
}

}  // namespace tenon
