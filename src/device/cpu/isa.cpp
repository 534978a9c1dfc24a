#include "device/cpu/isa.h"

#include <algorithm>
#include <iterator>
#include <optional>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "base/environment.h"
#include "device/cpu/do_nothing.h"

namespace tenon::cpu {

void do_nothing() {}

namespace {

constexpr std::string_view kNames[] = {"generic", "avx2", "avx512", "avx512_bf16"};

std::optional<Isa> isa_of(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Isa>(found - std::begin(kNames));
}

#if defined(__x86_64__)
/// Compilers know its name only lately.
bool converts_halves() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

/// All that cmake/tenon.cmake has the sources of an instruction set compiled for.
Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && converts_halves();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512 && __builtin_cpu_supports("avx512bf16")) return Isa::avx512_bf16;
  if (avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
#endif
  return Isa::generic;
}

/// Tiles are 8 KiB of state for each thread, which Linux keeps for processes that asked for it.
bool tiles_are_granted() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr unsigned kBf16Bit = 1u << 22, kTilesBit = 1u << 24, kBytesBit = 1u << 25;
  constexpr unsigned kAll = kBf16Bit | kTilesBit | kBytesBit;
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kAll) == kAll &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

Isa detected_isa() {
  static const Isa isa =
      std::min(detect(), isa_of(instruction_set_limit()).value_or(Isa::avx512_bf16));
  return isa;
}

Status check_instruction_set_limit() {
  const std::string limit = instruction_set_limit();
  if (limit.empty() || isa_of(limit).has_value()) return {};
  return user_error("TENON_CPU_ISA is '{}', which is none of {}", limit, fmt::join(kNames, ", "));
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

bool has_tiles() {
  static const bool has =
      detected_isa() >= Isa::avx512_bf16 && has_byte_products() && tiles_are_granted();
  return has;
}

std::string_view isa_name(Isa isa) {
  return kNames[static_cast<int>(isa)];
}

}  // namespace tenon::cpu
