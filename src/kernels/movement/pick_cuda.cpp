#include "kernels/movement/pick_cuda.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {
namespace {

constexpr int kBlock = 256;

/// Coordinates c0, c1, ... of element `at` in memory order.
std::string coordinates(const Operand& y) {
  std::string text;
  const std::vector<int> order = memory_order(y.rank(), y.layout);
  for (size_t i = order.size(); i-- > 0;)
    text += fmt::format(
        "  [[maybe_unused]] const i64 c{} = at{};\n{}", order[i],
        i == 0 ? "" : fmt::format(" % {}u", std::max<int64_t>(1, y.extents[order[i]])),
        i == 0 ? "" : fmt::format("  at /= {}u;\n", std::max<int64_t>(1, y.extents[order[i]])));
  return text;
}

/// The widest pack that the result, x and the run allow.
int pick_width(const Problem& problem, const Pick& pick) {
  const Operand &x = problem.input(0), &y = problem.output();
  if (pick.run <= 1) return 1;
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

}  // namespace

int fastest_axis(const Operand& operand) {
  const std::vector<int> order = memory_order(operand.rank(), operand.layout);
  return order.empty() ? 0 : order.back();
}

Result<JitPlan> plan_pick(const Problem& problem, const Pick& pick) {
  const Operand &x = problem.input(0), &y = problem.output();
  const int bytes = byte_size(y.type);
  KernelCode code;
  begin_code(code, problem);
  code.alias("Word", bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64");
  code.constant("kBlock", kBlock);
  code.constant("kCount", y.count());
  const int vector = y.rank() == 0 ? 1 : pick_width(problem, pick);
  code.constant("kVector", vector);
  code.located("YAt", memory_loop(y), y);
  std::string parameters, arguments;
  JitLaunch launch;
  launch.add(JitArgument::input(0));
  launch.add(JitArgument::output());
  launch.add(pick.fill < 0 ? JitArgument::null() : JitArgument::input(pick.fill));
  for (const auto& [name, input] : pick.operands) {
    if (device_type(problem.input(input).type) == nullptr) return unsupported("type of an operand");
    parameters +=
        fmt::format(", const {}* __restrict__ {}", device_type(problem.input(input).type), name);
    arguments += ", " + name;
    launch.add(JitArgument::input(input));
  }
  std::string place = "0";
  const std::vector<int64_t> strides = strides_of(x);
  for (size_t i = 0; i < pick.places.size(); ++i)
    place += fmt::format(" + ({}) * i64({})", pick.places[i], strides[i]);
  code.text(fmt::format(
      "#define PICK_PARAMETERS{}\n#define PICK_ARGUMENTS{}\n"
      "__device__ inline bool pick(Index at, i64& from PICK_PARAMETERS) {{\n{}{}  from = {};\n"
      "  return true;\n}}\n",
      parameters.empty() ? "" : " " + parameters, arguments.empty() ? "" : " " + arguments,
      coordinates(y), pick.statements, place));
  TENON_TRY(set_source(launch, code, {"movement/pick.cu"}));
  launch.grid[0] = blocks_for(y.count() / vector, kBlock);
  launch.block[0] = kBlock;
  return JitPlan{{std::move(launch)}, 0, {}};
}

}  // namespace tenon
