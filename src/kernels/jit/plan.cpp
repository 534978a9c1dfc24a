#include "kernels/jit/plan.h"

#include "kernels/jit/tactic.h"

namespace tenon {

int multiprocessors(const Problem& problem) {
  const bool known =
      problem.device != nullptr && problem.device->properties().kind == DeviceKind::kCuda;
  return known ? problem.device->properties().compute_units : 132;
}

Support jit_support(const Problem& problem, JitPlanner planner) {
  for (const Operand& output : problem.outputs)
    if (output.count() == 0) return Support::no("an empty tensor");
  const auto plan = planner(problem, "");
  return plan.ok() ? Support() : Support::no(plan.error().message);
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
