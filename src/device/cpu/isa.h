#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace tenon::cpu {

/// Instruction sets that kernels are written for, each including those before it. `generic` is
/// plain C++.
enum class Isa : uint8_t { generic, avx2, avx512, avx512_bf16 };

/// The best instruction set of this machine that this build has code for and that
/// instruction_set_limit() allows; found out once.
Isa detected_isa();

/// Fails where instruction_set_limit() names no instruction set; it is no limit then.
Status check_instruction_set_limit();

/// The instruction set to use when no better one than `cap` is wanted: tests run every level this
/// way.
Isa capped_isa(Isa cap);

/// The same for a number; one that no instruction set has means the best.
Isa isa_up_to(int level);

/// The best that a kernel has for an instruction set. Those of x86-64 are only named there, where
/// they are compiled.
#if defined(__x86_64__)
#define TENON_BEST_OF_ISA(isa, plain, for_avx2, for_avx512) \
  ((isa) >= ::tenon::cpu::Isa::avx512 ? (for_avx512)        \
   : (isa) >= ::tenon::cpu::Isa::avx2 ? (for_avx2)          \
                                      : (plain))
#else
#define TENON_BEST_OF_ISA(isa, plain, for_avx2, for_avx512) (static_cast<void>(isa), (plain))
#endif

/// Declares `Outcome name(Isa)`, which calls the best of name_generic(), name_avx2() and
/// name_avx512(): a source *_isa.cpp defines them (kernels/vector_math/isa.h).
#define TENON_BY_ISA(Outcome, name)                                              \
  std::type_identity_t<Outcome()> name##_generic, name##_avx2, name##_avx512;    \
  inline Outcome name(Isa isa) {                                                 \
    return TENON_BEST_OF_ISA(isa, name##_generic, name##_avx2, name##_avx512)(); \
  }
/// Declares `Function name_function(Isa)`, which gives the best of these functions themselves.
#define TENON_FUNCTION_BY_ISA(Function, name)                                  \
  std::remove_pointer_t<Function> name##_generic, name##_avx2, name##_avx512;  \
  inline Function name##_function(Isa isa) {                                   \
    return TENON_BEST_OF_ISA(isa, name##_generic, name##_avx2, name##_avx512); \
  }

/// The machine multiplies and adds bytes in AVX-512 registers (VNNI), beside an Isa from avx512 on.
bool has_byte_products();

/// The machine multiplies tiles of bytes and of bf16 (AMX), beside an Isa from avx512_bf16 on, and
/// the system lets this process do so.
bool has_tiles();

std::string_view isa_name(Isa isa);

}  // namespace tenon::cpu
