#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::cpu {

/// Instruction sets that kernels are written for, each including those before it. `generic` is
/// plain C++.
enum class Isa : uint8_t { generic, avx2, avx512, avx512_bf16 };

/// The best instruction set of this machine that this build has code for; found out once.
Isa detected_isa();

/// The instruction set to use when no better one than `cap` is wanted: tests run every level this
/// way.
Isa capped_isa(Isa cap);

/// The same for a number; one that no instruction set has means the best.
Isa isa_up_to(int level);

/// The machine multiplies and adds bytes in AVX-512 registers (VNNI), beside an Isa from avx512 on.
bool has_byte_products();

std::string_view isa_name(Isa isa);

}  // namespace tenon::cpu
