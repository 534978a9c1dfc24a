#include "ops/small_gemm.h"

#include <cstring>
#include <string>

#include "base/environment.h"

namespace tenon {
namespace {

/// `Bytes` of numbers that are computed with at a time.
template <class T, int Bytes>
struct Vector {
  using type __attribute__((vector_size(Bytes))) = T;
};

#define TENON_INLINED [[gnu::always_inline]] inline

/// A tile of c with its sums in registers: Rows rows, Vectors times V wide. V is T or a vector.
template <class V, int Rows, int Vectors, class T>
TENON_INLINED void multiply_tile_of(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
                                    T* c, int64_t ldc) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  constexpr int64_t kLanes = sizeof(V) / sizeof(T);
  V sums[Rows][Vectors] = {};
  for (int64_t l = 0; l < k; ++l) {
    V right[Vectors];
    for (int v = 0; v < Vectors; ++v) std::memcpy(&right[v], b + l * ldb + v * kLanes, sizeof(V));
    for (int r = 0; r < Rows; ++r) {
      const T factor = a[r * lda + l];
      for (int v = 0; v < Vectors; ++v) sums[r][v] += factor * right[v];
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) {
      V sum;
      std::memcpy(&sum, c + r * ldc + v * kLanes, sizeof(V));
      sum += sums[r][v];
      std::memcpy(c + r * ldc + v * kLanes, &sum, sizeof(V));
    }
}

/// All rows of some columns.
template <class V, int Rows, int Vectors, class T>
TENON_INLINED void multiply_strip(int64_t m, int64_t k, const T* a, int64_t lda, const T* b,
                                  int64_t ldb, T* c, int64_t ldc) {
  int64_t i = 0;
  for (; i + Rows <= m; i += Rows)
    multiply_tile_of<V, Rows, Vectors>(k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
  for (; i < m; ++i) multiply_tile_of<V, 1, Vectors>(k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
}

/// Vectors of `Bytes`, then of 16, then single columns.
template <int Bytes, int Rows, class T>
TENON_INLINED void multiply_add_in(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
                                   const T* b, int64_t ldb, T* c, int64_t ldc) {
  constexpr int kVectors = 2, kSmallest = 16, kSmallRows = 4;
  using Wide = typename Vector<T, Bytes>::type;
  using Small = typename Vector<T, kSmallest>::type;
  constexpr auto kWide = static_cast<int64_t>(kVectors * Bytes / sizeof(T));
  constexpr auto kSmall = static_cast<int64_t>(kSmallest / sizeof(T));
  int64_t j = 0;
  for (; j + kWide <= n; j += kWide)
    multiply_strip<Wide, Rows, kVectors>(m, k, a, lda, b + j, ldb, c + j, ldc);
  for (; j + kSmall <= n; j += kSmall)
    multiply_strip<Small, kSmallRows, 1>(m, k, a, lda, b + j, ldb, c + j, ldc);
  for (; j < n; ++j) multiply_strip<T, kSmallRows, 1>(m, k, a, lda, b + j, ldb, c + j, ldc);
}

#undef TENON_INLINED

/// Bytes of the widest vectors that the processor has and the user allows.
int vector_bytes() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const std::string limit = instruction_set_limit();
  const bool avx2 = limit != "generic" && __builtin_cpu_supports("avx2");
  const bool avx512 = avx2 && limit != "avx2" && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512dq");
  return avx512 ? 64 : avx2 ? 32 : 16;
#else
  return 16;
#endif
}

#if defined(__x86_64__)
// A sum and a product in one step would round once, and give other bits than plain code does.
#if defined(__clang__)
#define TENON_APART
#else
#define TENON_APART __attribute__((optimize("fp-contract=off")))
#endif

template <class T>
__attribute__((target("avx512f,avx512dq"))) TENON_APART void multiply_add_avx512(
    int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
    int64_t ldc) {
  multiply_add_in<64, 8>(m, n, k, a, lda, b, ldb, c, ldc);
}

template <class T>
__attribute__((target("avx2"))) TENON_APART void multiply_add_avx2(int64_t m, int64_t n, int64_t k,
                                                                   const T* a, int64_t lda,
                                                                   const T* b, int64_t ldb, T* c,
                                                                   int64_t ldc) {
  multiply_add_in<32, 4>(m, n, k, a, lda, b, ldb, c, ldc);
}

#undef TENON_APART
#endif

}  // namespace

template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
                  T* c, int64_t ldc) {
#if defined(__x86_64__)
  static const int bytes = vector_bytes();
  if (bytes == 64) return multiply_add_avx512(m, n, k, a, lda, b, ldb, c, ldc);
  if (bytes == 32) return multiply_add_avx2(m, n, k, a, lda, b, ldb, c, ldc);
#endif
  multiply_add_in<16, 4>(m, n, k, a, lda, b, ldb, c, ldc);
}

template void multiply_add(int64_t, int64_t, int64_t, const float*, int64_t, const float*, int64_t,
                           float*, int64_t);
template void multiply_add(int64_t, int64_t, int64_t, const double*, int64_t, const double*,
                           int64_t, double*, int64_t);
template void multiply_add(int64_t, int64_t, int64_t, const uint32_t*, int64_t, const uint32_t*,
                           int64_t, uint32_t*, int64_t);
template void multiply_add(int64_t, int64_t, int64_t, const uint64_t*, int64_t, const uint64_t*,
                           int64_t, uint64_t*, int64_t);

}  // namespace tenon
