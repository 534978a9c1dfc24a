#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "device/cpu/isa.h"
#include "kernels/backend.h"

namespace tenon {

#define TENON_TACTIC(name, device, version, space, ...) TENON_DECLARE_TACTIC(space)
#define TENON_SINGLE_TACTIC(name, device, version, space, ...) TENON_DECLARE_SINGLE_TACTIC(space)
#include "kernels/cpu_tactics.def"

namespace {

constexpr Tactic kTable[] = {
#define TENON_TACTIC(name, device, version, space, ...) \
  TENON_TACTIC_ROW(name, device, version, space, tactics::space::configs, __VA_ARGS__)
#define TENON_SINGLE_TACTIC(name, device, version, space, ...) \
  TENON_TACTIC_ROW(name, device, version, space, single_config, __VA_ARGS__)
#include "kernels/cpu_tactics.def"
};

}  // namespace

std::span<const Tactic> cpu_tactics() {
  return kTable;
}

Algorithm algorithm_of(std::string_view tactic_name) {
  const auto* row = std::ranges::find(kTable, tactic_name, &Tactic::name);
  return row == std::end(kTable) ? Algorithm::kPlain : row->traits.algorithm;
}

Backend cpu_backend(int threads) {
  return {cpu::make_cpu_device(threads), cpu_tactics()};
}

Result<Backend> checked_cpu_backend(int threads) {
  TENON_TRY(cpu::check_instruction_set_limit());
  return cpu_backend(threads);
}

}  // namespace tenon
