#include "kernels/jit/plan.h"

#include "kernels/jit/tactic.h"

namespace tenon {

int multiprocessors(const Problem& problem) {
  const bool known =
      problem.device != nullptr && problem.device->properties().kind == DeviceKind::kCuda;
  return known ? problem.device->properties().compute_units : 132;
}

Status check_launches(const JitPlan& plan) {
  constexpr int64_t kMost[] = {INT32_MAX, 65535, 65535};
  for (const JitLaunch& launch : plan.launches)
    for (int axis = 0; axis < 3; ++axis)
      if (launch.grid[axis] < 1 || launch.grid[axis] > kMost[axis])
        return unsupported("{} in {} blocks along axis {}, of which a GPU takes {}", launch.name,
                           launch.grid[axis], axis, kMost[axis]);
  return {};
}

Support jit_support(const Problem& problem, JitPlanner planner) {
  for (const Operand& output : problem.outputs)
    if (output.count() == 0) return Support::no("an empty tensor");
  const Result<JitPlan> plan = planner(problem, "");
  return plan.ok() ? Support::of(check_launches(*plan)) : Support::of(plan);
}

Status set_source(JitLaunch& launch, const KernelCode& code,
                  std::initializer_list<std::string_view> files) {
  TENON_ASSIGN(launch.source, code.source(files));
  launch.options = code.options();
  launch.name = *(files.end() - 1);
  return {};
}

void begin_code(KernelCode& code, const Problem& problem) {
  code.alias("Index", small_indices(problem) ? "u32" : "u64");
}

Status check_map(const JitTensorMap& map, int64_t alignment) {
  constexpr int64_t kPiece = 8;  // Elements of 16 bytes.
  if (alignment % kPiece != 0) return unsupported("an address is no multiple of 16 bytes");
  if (map.strides.front() != 1) return unsupported("no axis of an operand is contiguous");
  for (size_t i = 0; i < map.extents.size(); ++i) {
    if (map.extents[i] > INT32_MAX) return unsupported("huge extents");
    if (i == 0) continue;
    if (map.strides[i] % kPiece != 0) return unsupported("a stride is no multiple of 16 bytes");
    if (map.strides[i] <= 0 || map.strides[i] >= int64_t{1} << 38) return unsupported("a stride");
  }
  for (size_t axis = 0; map.pixels && axis < 2; ++axis) {
    const auto is_small = [](int64_t value) { return value >= INT8_MIN && value <= INT8_MAX; };
    if (!is_small(map.pixels->begin[axis]) || !is_small(map.pixels->upper(map, axis)))
      return unsupported("a border that is far from the image's");
    if (map.pixels->step[axis] > 8) return unsupported("a step of more than 8 pixels");
  }
  return {};
}

std::optional<int64_t> config_number(std::string_view config, std::string_view name) {
  for (size_t at = 0; at < config.size();) {
    const size_t end = std::min(config.find(',', at), config.size());
    const std::string_view part = config.substr(at, end - at);
    const size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.substr(0, equals) == name) {
      int64_t value = 0;
      for (const char c : part.substr(equals + 1)) value = value * 10 + (c - '0');
      return value;
    }
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace tenon
