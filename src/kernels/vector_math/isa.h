#pragma once

/// Sources named *_isa.cpp are compiled once for each instruction set (cmake/tenon.cmake), with
/// TENON_ISA as its name, TENON_ISA_NAME as that in constants' names, and TENON_ISA_INDEX as its
/// place in the order generic, avx2, avx512.
#if !defined(TENON_ISA)
#define TENON_ISA generic
#define TENON_ISA_NAME Generic
#define TENON_ISA_INDEX 0
#endif

#define TENON_ISA_JOINED_(name, isa) name##isa
#define TENON_ISA_JOIN_(name, isa) TENON_ISA_JOINED_(name, isa)
/// rows_ and avx2 to `rows_avx2`; kRows and Avx2 to `kRowsAvx2`.
#define TENON_OF_ISA(name) TENON_ISA_JOIN_(name##_, TENON_ISA)
#define TENON_CONSTANT_OF_ISA(name) TENON_ISA_JOIN_(name, TENON_ISA_NAME)

namespace tenon::vector_math {

constexpr int kIsa = TENON_ISA_INDEX;

}  // namespace tenon::vector_math
