#pragma once

namespace tenon {

/// Bytes of the widest vectors that the processor has and the user allows (TENON_CPU_ISA): 64 with
/// AVX-512 F and DQ, 32 with AVX2, else 16.
int vector_bytes();

}  // namespace tenon
