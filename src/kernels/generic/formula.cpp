#include "kernels/generic/formula.h"

#include <fmt/ranges.h>

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
  return fmt::format("struct {} {{\n  static constexpr int kRank = {};\n{}{}{}}};\n", name,
                     operand.rank(), lookup("extent", "i64", operand.extents),
                     lookup("stride", "i64", strides_of(operand)),
                     lookup("order", "int", {order.begin(), order.end()}));
}

const char* sum_type(DataType type) {
  if (type == DataType::kFloat64) return "f64";
  return is_real(type) ? "f32" : "i64";
}

}  // namespace

void Formula::number(std::string_view name, int64_t value) {
  constants += fmt::format("constexpr i64 {} = {}ll;\n", name, value);
}
void Formula::real(std::string_view name, double value) {
  constants += fmt::format("#define {} {}\n", name, device_real(value));
}
void Formula::flag(std::string_view name, bool value) {
  constants += fmt::format("constexpr bool {} = {};\n", name, value);
}
void Formula::list(std::string_view name, const std::vector<int64_t>& values) {
  std::string text = lookup(name, "i64", values);
  text.replace(text.find("static "), 7, "");
  constants += text;
}

Status add_operands(KernelCode& code, const Problem& problem) {
  const Operand& y = problem.output();
  if (problem.inputs.size() > kOperands) return unsupported("more than {} operands", kOperands);
  if (device_type(y.type) == nullptr) return unsupported("results of type {}", name_of(y.type));
  code.type("Y", y.type);
  code.text(placed("YAt", y));
  for (int i = 0; i < kOperands; ++i) {
    const bool given = problem.has_input(i);
    const char* type = given ? device_type(problem.input(i).type) : "i64";
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
