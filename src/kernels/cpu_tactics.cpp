#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/algorithm.h"

namespace tenon {

#define TENON_TACTIC(name, device, version, space) TENON_DECLARE_TACTIC(space)
#define TENON_SINGLE_TACTIC(name, device, version, space) TENON_DECLARE_SINGLE_TACTIC(space)
#define TENON_TRANSFORM_TACTIC(name, device, version, algorithm, space) \
  TENON_DECLARE_SINGLE_TACTIC(space)
#include "kernels/cpu_tactics.def"

namespace {

constexpr Tactic kTable[] = {
#define TENON_TACTIC(name, device, version, space) \
  TENON_TACTIC_ROW(name, device, version, space, tactics::space::configs)
#define TENON_SINGLE_TACTIC(name, device, version, space) \
  TENON_TACTIC_ROW(name, device, version, space, single_config)
#define TENON_TRANSFORM_TACTIC(name, device, version, algorithm, space) \
  TENON_SINGLE_TACTIC(name, device, version, space)
#include "kernels/cpu_tactics.def"
};

constexpr Tactic kPlainTable[] = {
#define TENON_TACTIC(name, device, version, space) \
  TENON_TACTIC_ROW(name, device, version, space, tactics::space::configs)
#define TENON_SINGLE_TACTIC(name, device, version, space) \
  TENON_TACTIC_ROW(name, device, version, space, single_config)
#define TENON_TRANSFORM_TACTIC(name, device, version, algorithm, space)
#include "kernels/cpu_tactics.def"
};

struct Transform {
  std::string_view tactic;
  Algorithm algorithm;
};
constexpr Transform kTransforms[] = {
#define TENON_TACTIC(name, device, version, space)
#define TENON_SINGLE_TACTIC(name, device, version, space)
#define TENON_TRANSFORM_TACTIC(name, device, version, algorithm, space) \
  {name, Algorithm::algorithm},
#include "kernels/cpu_tactics.def"
};

}  // namespace

std::span<const Tactic> cpu_tactics() {
  return kTable;
}

Algorithm algorithm_of(std::string_view tactic_name) {
  const auto* row = std::ranges::find(kTransforms, tactic_name, &Transform::tactic);
  return row == std::end(kTransforms) ? Algorithm::kPlain : row->algorithm;
}

std::string_view name_of(Algorithm algorithm) {
  constexpr std::string_view kNames[] = {"plain", "Winograd", "Strassen"};
  return kNames[static_cast<size_t>(algorithm)];
}

/// Our own kernels on GPUs are plain, and of libraries those that say otherwise are never taken.
Backend with_plain_tactics(Backend backend) {
  if (backend.tactics.data() == kTable) backend.tactics = kPlainTable;
  return backend;
}

bool has_plain_tactics(const Backend& backend) {
  return std::ranges::none_of(backend.tactics, [](const Tactic& tactic) {
    return algorithm_of(tactic.name) != Algorithm::kPlain;
  });
}

Backend cpu_backend(int threads) {
  return {cpu::make_cpu_device(threads), cpu_tactics()};
}

}  // namespace tenon
