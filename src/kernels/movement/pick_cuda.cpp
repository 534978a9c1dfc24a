#include "kernels/movement/pick_cuda.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {
namespace {

constexpr int kBlock = 256;

}  // namespace

int pick_width(const Problem& problem, const Pick& pick) {
  const Operand &x = problem.input(0), &y = problem.output();
  if (pick.run <= 1 || y.rank() == 0) return 1;
  int width = pack_width(memory_loop(y), y);
  const std::vector<int64_t> strides = strides_of(x);
  const auto fits = [&](int candidate) {
    if (pick.run % candidate != 0 || alignment_in_elements(x) % candidate != 0) return false;
    for (int axis = 0; axis < x.rank(); ++axis)
      if (axis != fastest_axis(x) && x.extents[axis] > 1 && strides[axis] % candidate != 0)
        return false;
    return strides[fastest_axis(x)] == 1;
  };
  while (width > 1 && !fits(width)) width /= 2;
  return width;
}

std::string picked_place(const Problem& problem, const Pick& pick) {
  std::string place = "0";
  const std::vector<int64_t> strides = strides_of(problem.input(0));
  for (size_t i = 0; i < pick.places.size(); ++i)
    place +=
        fmt::format(" + ({}) * i64({})", pick.places[i], number_of_x(pick.of_table, strides[i]));
  return place;
}

std::string number_of_x(bool of_table, int64_t number) {
  return of_table ? fmt::format("{:#x}", number) : std::to_string(number);
}

namespace {

/// Parameters and arguments for operands by name, added to a launch.
struct NamedOperands {
  std::string parameters, arguments;

  static Result<NamedOperands> add(const Problem& problem, JitLaunch& launch,
                                   const std::vector<std::pair<std::string, int>>& operands) {
    NamedOperands named;
    for (const auto& [name, input] : operands) {
      const char* type = device_type(problem.input(input).type);
      if (type == nullptr)
        return unsupported("operand of type {}", name_of(problem.input(input).type));
      named.parameters += fmt::format(", const {}* __restrict__ {}", type, name);
      named.arguments += ", " + name;
      launch.add(JitArgument::input(input));
    }
    return named;
  }
};

}  // namespace

/// Axes of one place have none but 0, and the rest of the division is the slowest one's coordinate:
/// divisions by open numbers take a while.
std::string coordinates_code(const Operand& y, bool fastest_is_known) {
  std::string text;
  const std::vector<int> order = memory_order(y.rank(), y.layout);
  const auto extent = [&](size_t i) { return y.extents[static_cast<size_t>(order[i])]; };
  size_t slowest = 0;
  while (slowest < order.size() && extent(slowest) == 1) ++slowest;
  for (size_t i = order.size(); i-- > 0;) {
    std::string coordinate = "0";
    if (i == slowest) coordinate = "at";
    if (i > slowest && extent(i) != 1) {
      const bool is_known = fastest_is_known && i + 1 == order.size();
      const std::string count = number_of_x(is_known, std::max<int64_t>(1, extent(i)));
      coordinate = fmt::format("at % {0}u;\n  at /= {0}u", count);
    }
    text += fmt::format("  [[maybe_unused]] const i64 c{} = {};\n", order[i], coordinate);
  }
  return text;
}

int fastest_axis(const Operand& operand) {
  const std::vector<int> order = memory_order(operand.rank(), operand.layout);
  return order.empty() ? 0 : order.back();
}

Result<JitPlan> plan_pick(const Problem& problem, const Pick& pick) {
  const Operand& y = problem.output();
  const int bytes = byte_size(y.type);
  KernelCode code = begin_code(problem);
  code.alias("Word", word_type(bytes));
  code.constant("kBlock", kBlock);
  code.open("kCount", y.count());
  const int vector = pick_width(problem, pick);
  code.constant("kVector", vector);
  code.located("YAt", memory_loop(y), y);
  JitLaunch launch;
  launch.add({JitArgument::input(0), JitArgument::output(),
              pick.fill < 0 ? JitArgument::null() : JitArgument::input(pick.fill)});
  TENON_ASSIGN(const NamedOperands named, NamedOperands::add(problem, launch, pick.operands));
  code.text(
      fmt::format("#define PICK_PARAMETERS{}\n#define PICK_ARGUMENTS{}\n"
                  "__device__ inline bool pick(Index at, i64& from PICK_PARAMETERS) {{\n",
                  " " + named.parameters, " " + named.arguments));
  const bool is_known = pick.of_table && y.extents[fastest_axis(y)] == pick.run;
  code.inner_text(fmt::format("{}{}  from = {};\n", coordinates_code(y, is_known), pick.statements,
                              picked_place(problem, pick)));
  code.text("  return true;\n}\n");
  TENON_TRY(set_source(launch, code, {"movement/pick.cu"}));
  launch.grid[0] = blocks_for(y.count() / vector, kBlock);
  launch.block[0] = kBlock;
  return plan_of(std::move(launch));
}

Result<JitPlan> plan_elements(const Problem& problem, const Elements& elements) {
  const Operand& y = problem.output();
  if (device_type(y.type) == nullptr) return unsupported("type {}", name_of(y.type));
  KernelCode code = begin_code(problem);
  code.type("Y", y.type);
  code.constant("kBlock", kBlock);
  code.open("kCount", y.count());
  code.located("YAt", memory_loop(y), y);
  JitLaunch launch;
  launch.add(JitArgument::output());
  TENON_ASSIGN(const NamedOperands named, NamedOperands::add(problem, launch, elements.operands));
  code.text(
      fmt::format("#define ELEMENT_PARAMETERS {}\n#define ELEMENT_ARGUMENTS {}\n"
                  "__device__ inline Wide<Y> element(Index at ELEMENT_PARAMETERS) {{\n"
                  "  typedef Wide<Y> Value;\n  Value value;\n",
                  named.parameters, named.arguments));
  code.inner_text(coordinates_code(y) + elements.statements);
  code.text("  return value;\n}\n");
  TENON_TRY(set_source(launch, code, {"movement/elements.cu"}));
  launch.grid[0] = blocks_for(y.count(), kBlock);
  launch.block[0] = kBlock;
  return plan_of(std::move(launch));
}

std::string place_code(const Operand& operand, int first, int count) {
  std::string text = "0";
  const std::vector<int64_t> strides = strides_of(operand);
  for (int i = 0; i < count; ++i) text += fmt::format(" + c{} * i64({})", first + i, strides[i]);
  return text;
}

}  // namespace tenon
