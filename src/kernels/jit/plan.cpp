#include "kernels/jit/plan.h"

#include <algorithm>

#include "device/device_family.h"
#include "device/open_extents.h"
#include "kernels/constant_store.h"
#include "kernels/jit/tactic.h"

namespace tenon {

int64_t shared_limit(const Problem& problem) {
  constexpr int64_t kKibibyte = 1024;
  const DeviceProperties& properties = gpu_of(problem);
  if (properties.shared_memory_per_block > 0)
    return static_cast<int64_t>(properties.shared_memory_per_block);
  const int capability = properties.compute_capability;
  if (capability >= 90 && capability < 120) return 227 * kKibibyte;
  if (capability == 80 || capability == 87) return 163 * kKibibyte;
  return (capability < 80 ? 64 : 99) * kKibibyte;
}

int64_t allowed_shared(const Problem& problem) {
  const int64_t most = shared_limit(problem);
  if (!limits_shared_memory(problem)) return most;
  constexpr int64_t kKeptByDriver = 1024;  // In each block, from Ampere on.
  const int64_t kept = capability_of(problem) >= 80 ? kKeptByDriver : 0;
  return std::clamp<int64_t>(problem.shared_memory - kept, 0, most);
}

Status check_shared(const Problem& problem, std::string_view name, int64_t bytes) {
  if (const int64_t most = shared_limit(problem); bytes > most)
    return unsupported("{} with {} bytes of shared memory, of which the GPU has {}", name, bytes,
                       most);
  if (const int64_t allowed = allowed_shared(problem); bytes > allowed)
    return unsupported("{} with {} bytes of shared memory, over the limit of {}", name, bytes,
                       allowed);
  return {};
}

Status check_launches(const Problem& problem, const JitPlan& plan) {
  constexpr int64_t kMost[] = {INT32_MAX, 65535, 65535};
  constexpr int kMostThreads = 1024;
  for (const JitLaunch& launch : plan.launches) {
    for (int axis = 0; axis < 3; ++axis)
      if (launch.grid[axis] < 1 || launch.grid[axis] > kMost[axis])
        return unsupported("{} in {} blocks along axis {}, of which a GPU takes {}", launch.name,
                           launch.grid[axis], axis, kMost[axis]);
    if (launch.block[0] * launch.block[1] * launch.block[2] > kMostThreads)
      return unsupported("{} with more than {} threads a block", launch.name, kMostThreads);
    TENON_TRY(check_shared(problem, launch.name, launch.shared_bytes));
    if (launch.cooperative && own_properties(*problem.device))
      return unsupported("{} in blocks that wait for each other, which not every GPU has room for",
                         launch.name);
  }
  return {};
}

Support jit_support(const Problem& problem, JitPlanner planner) {
  for (const Operand& output : problem.outputs)
    if (output.count() == 0) return Support::no("an empty tensor");
  return jit_support_with_empty(problem, planner);
}

Support jit_support_with_empty(const Problem& problem, JitPlanner planner) {
  const Result<JitPlan> plan = planner(problem, "");
  return plan.ok() ? Support::of(check_launches(problem, *plan)) : Support::of(plan);
}

Status set_source(JitLaunch& launch, const KernelCode& code,
                  std::initializer_list<std::string_view> files) {
  TENON_ASSIGN(KernelCode::Sources sources, code.sources(files));
  launch.source = std::move(sources.exact);
  launch.open = std::move(sources.open);
  launch.options = code.options();
  launch.name = *(files.end() - 1);
  return {};
}

Result<JitLaunch> make_launch(const KernelCode& code, std::initializer_list<std::string_view> files,
                              int64_t blocks, int64_t threads) {
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, files));
  launch.grid[0] = blocks;
  launch.block[0] = static_cast<int>(threads);
  return launch;
}

bool all_axes_are_open(const Problem& problem) {
  const CodeLibrary* const library =
      problem.constants == nullptr ? nullptr : problem.constants->code();
  return library != nullptr && all_axes_are_open(*library);
}

KernelCode begin_code(const Problem& problem) {
  KernelCode code;
  code.alias("Index", small_indices(problem) ? "u32" : "u64");
  code.open_all(all_axes_are_open(problem));
  return code;
}

Status check_map(const JitTensorMap& map, int64_t alignment) {
  const int64_t piece = 16 / byte_size(map.type);  // Elements of 16 bytes.
  if (alignment % piece != 0) return unsupported("an address is no multiple of 16 bytes");
  if (map.strides.front() != 1) return unsupported("no axis of an operand is contiguous");
  for (size_t i = 0; i < map.extents.size(); ++i) {
    if (map.extents[i] < 1 || map.extents[i] > INT32_MAX)
      return unsupported("empty or huge extents");
    if (i == 0) continue;
    if (map.strides[i] % piece != 0) return unsupported("a stride is no multiple of 16 bytes");
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
