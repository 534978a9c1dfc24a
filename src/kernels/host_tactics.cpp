// A GPU's backend: libtenon_cuda's part, and the tactics that libtenon has itself.
#include <vector>

#include "kernels/backend.h"

namespace tenon {

#define TENON_TACTIC(name, device, version, space, ...) TENON_DECLARE_TACTIC(space)
#include "kernels/host_tactics.def"

namespace {

constexpr Tactic kOwn[] = {
#define TENON_TACTIC(name, device, version, space, ...) \
  TENON_TACTIC_ROW(name, device, version, space, tactics::space::configs, __VA_ARGS__)
#include "kernels/host_tactics.def"
};

/// Ahead of the last one, which runs nodes that no other tactic takes.
std::span<const Tactic> with_own(std::span<const Tactic> opened) {
  static const std::vector<Tactic> kAll = [&] {
    std::vector<Tactic> all(opened.begin(), opened.end());
    all.insert(all.end() - 1, std::begin(kOwn), std::end(kOwn));
    return all;
  }();
  return kAll;
}

Result<Backend> open(int ordinal, const DeviceProperties* described) {
  TENON_ASSIGN(Backend backend, open_cuda_library(ordinal, described));
  backend.tactics = with_own(backend.tactics);
  return backend;
}

}  // namespace

Result<Backend> cuda_backend(int ordinal) {
  return open(ordinal, nullptr);
}

Result<Backend> described_cuda_backend(const DeviceProperties& properties) {
  return open(0, &properties);
}

}  // namespace tenon
