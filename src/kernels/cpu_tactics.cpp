#include "device/cpu/cpu_device.h"
#include "kernels/backend.h"

namespace tenon {

#define TENON_TACTIC(name, device, version, space) TENON_DECLARE_TACTIC(space)
#include "kernels/cpu_tactics.def"

namespace {

constexpr Tactic kTable[] = {
#define TENON_TACTIC(name, device, version, space) \
  {name,                                           \
   DeviceKind::device,                             \
   version,                                        \
   tactics::space::supports,                       \
   tactics::space::configs,                        \
   tactics::space::create},
#include "kernels/cpu_tactics.def"
};

}  // namespace

std::span<const Tactic> cpu_tactics() {
  return kTable;
}

Backend cpu_backend(int threads) {
  return {cpu::make_cpu_device(threads), cpu_tactics()};
}

}  // namespace tenon
