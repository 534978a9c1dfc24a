#include "device/cpu/isa.h"

#include <algorithm>

namespace tenon::cpu {
namespace {

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512 && __builtin_cpu_supports("avx512bf16")) return Isa::avx512_bf16;
  if (avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
#endif
  return Isa::generic;
}

}  // namespace

Isa detected_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa capped_isa(Isa cap) {
  return std::min(cap, detected_isa());
}

Isa isa_up_to(int level) {
  return level >= static_cast<int>(detected_isa()) ? detected_isa() : static_cast<Isa>(level);
}

bool has_byte_products() {
#if defined(__x86_64__)
  static const bool has = detected_isa() >= Isa::avx512 && __builtin_cpu_supports("avx512vnni");
  return has;
#else
  return false;
#endif
}

std::string_view isa_name(Isa isa) {
  constexpr std::string_view kNames[] = {"generic", "avx2", "avx512", "avx512_bf16"};
  return kNames[static_cast<int>(isa)];
}

}  // namespace tenon::cpu
