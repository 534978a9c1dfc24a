// A GPU's backend: libtenon_cuda's part, and the tactics that libtenon has itself.
#include <atomic>
#include <vector>

#include "kernels/backend.h"
#include "kernels/device_tactics.h"

namespace tenon {

#define TENON_TACTIC(name, device, version, space, ...) TENON_DECLARE_TACTIC(space)
#include "kernels/host_tactics.def"

namespace {

constexpr Tactic kOwn[] = {
#define TENON_TACTIC(name, device, version, space, ...) \
  TENON_TACTIC_ROW(name, device, version, space, tactics::space::configs, __VA_ARGS__)
#include "kernels/host_tactics.def"
};

/// `opened` with ours ahead of the last one, which runs nodes that no other tactic takes. Without
/// it: those of the first call that gave some.
std::span<const Tactic> with_own(std::span<const Tactic> opened = {}) {
  static std::atomic<const std::vector<Tactic>*> all = nullptr;
  if (all == nullptr && !opened.empty()) {
    static const std::vector<Tactic> kAll = [&] {
      std::vector<Tactic> made(opened.begin(), opened.end());
      made.insert(made.end() - 1, std::begin(kOwn), std::end(kOwn));
      return made;
    }();
    all = &kAll;
  }
  const std::vector<Tactic>* const made = all;
  return made == nullptr ? std::span<const Tactic>() : *made;
}

Result<Backend> open(int ordinal, const DeviceProperties* described) {
  TENON_ASSIGN(Backend backend, open_cuda_library(ordinal, described));
  backend.tactics = with_own(backend.tactics);
  return backend;
}

}  // namespace

std::span<const Tactic> tactics_of(DeviceKind kind) {
  return kind == DeviceKind::kCpu ? cpu_tactics() : with_own();
}

Result<Backend> cuda_backend(int ordinal) {
  return open(ordinal, nullptr);
}

Result<Backend> described_cuda_backend(const DeviceProperties& properties) {
  return open(0, &properties);
}

}  // namespace tenon
