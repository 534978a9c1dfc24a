#pragma once

#include <cstdint>

namespace tenon {

/// c[m,n] += a[m,k] * b[k,n], row-major with leading dimensions, for the reference evaluations. T
/// is float, double, uint32_t or uint64_t (whose products wrap). Vectors are as wide as the
/// processor and TENON_CPU_ISA have them; each sum runs in order of k and rounds each product, so
/// that results are the same on all of them.
template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
                  T* c, int64_t ldc);

/// The same with rows of b that begin at these offsets from it.
template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                  const int64_t* rows, T* c, int64_t ldc);

}  // namespace tenon
