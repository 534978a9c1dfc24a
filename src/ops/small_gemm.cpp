#include "ops/small_gemm.h"

#include <cstring>
#include <vector>

#include "base/vector_bytes.h"

namespace tenon {
namespace {

/// `Bytes` of numbers that are computed with at a time.
template <class T, int Bytes> struct Vector { using type __attribute__((vector_size(Bytes))) = T; };

#define TENON_INLINED [[gnu::always_inline]] inline

/// Rows of b from some column on: at equal distances, or wherever offsets have them.
template <class T> struct EvenRows {
  const T* first;
  int64_t distance;
  TENON_INLINED const T* operator[](int64_t row) const { return first + row * distance; }
  TENON_INLINED EvenRows from(int64_t column) const { return {first + column, distance}; }
};
template <class T> struct ListedRows {
  const T* first;
  const int64_t* offsets;
  TENON_INLINED const T* operator[](int64_t row) const { return first + offsets[row]; }
  TENON_INLINED ListedRows from(int64_t column) const { return {first + column, offsets}; }
};

/// A tile of c with its sums in registers: Rows rows, Vectors times V wide. V is T or a vector.
template <class V, int Rows, int Vectors, class T, class B>
TENON_INLINED void multiply_tile_of(int64_t k, const T* a, int64_t lda, const B& b, T* c,
                                    int64_t ldc) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  constexpr int64_t kLanes = sizeof(V) / sizeof(T);
  V sums[Rows][Vectors] = {};
  for (int64_t l = 0; l < k; ++l) {
    V right[Vectors];
    for (int v = 0; v < Vectors; ++v) std::memcpy(&right[v], b[l] + v * kLanes, sizeof(V));
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
template <class V, int Rows, int Vectors, class T, class B>
TENON_INLINED void multiply_strip(int64_t m, int64_t k, const T* a, int64_t lda, const B& b, T* c,
                                  int64_t ldc) {
  int64_t i = 0;
  for (; i + Rows <= m; i += Rows)
    multiply_tile_of<V, Rows, Vectors>(k, a + i * lda, lda, b, c + i * ldc, ldc);
  for (; i < m; ++i) multiply_tile_of<V, 1, Vectors>(k, a + i * lda, lda, b, c + i * ldc, ldc);
}

/// The columns that are left, in vectors of `Bytes`, then of half as many.
template <int Bytes, int Rows, class T, class B>
TENON_INLINED void multiply_rest(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
                                 const B& b, T* c, int64_t ldc) {
  constexpr int kSmallest = 16;
  using V = typename Vector<T, Bytes>::type;
  constexpr auto kWidth = static_cast<int64_t>(Bytes / sizeof(T));
  int64_t j = 0;
  for (; j + kWidth <= n; j += kWidth)
    multiply_strip<V, Rows, 1>(m, k, a, lda, b.from(j), c + j, ldc);
  if constexpr (Bytes > kSmallest)
    return multiply_rest<Bytes / 2, Rows>(m, n - j, k, a, lda, b.from(j), c + j, ldc);
  for (; j < n; ++j) multiply_strip<T, Rows, 1>(m, k, a, lda, b.from(j), c + j, ldc);
}

/// Rows of b that lie far apart displace each other in the caches: where several tiles read them,
/// columns are copied to one place first, up to so many numbers.
constexpr int64_t kPackedTiles = 2, kMostPacked = 1 << 17;

/// Two vectors of `Bytes` at a time, then fewer columns. Of few rows Wide vectors: the sums of a
/// tile wait for each other's last step.
template <int Bytes, int Rows, int Wide, class T, class B>
TENON_INLINED void multiply_add_in(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
                                   const B& b, T* c, int64_t ldc) {
  constexpr int kVectors = 2;
  using V = typename Vector<T, Bytes>::type;
  constexpr auto kWidth = static_cast<int64_t>(kVectors * Bytes / sizeof(T));
  constexpr auto kWideWidth = static_cast<int64_t>(Wide * Bytes / sizeof(T));
  const bool packs = m >= kPackedTiles * Rows && n >= kWidth && k <= kMostPacked / kWidth;
  std::vector<T> panel(static_cast<size_t>(packs ? k * kWidth : 0));
  int64_t j = 0;
  for (; m < Rows && j + kWideWidth <= n; j += kWideWidth)
    multiply_strip<V, 1, Wide>(m, k, a, lda, b.from(j), c + j, ldc);
  for (; j + kWidth <= n; j += kWidth) {
    const B columns = b.from(j);
    if (!packs) {
      multiply_strip<V, Rows, kVectors>(m, k, a, lda, columns, c + j, ldc);
      continue;
    }
    for (int64_t l = 0; l < k; ++l)
      std::memcpy(panel.data() + l * kWidth, columns[l], kWidth * sizeof(T));
    multiply_strip<V, Rows, kVectors>(m, k, a, lda, EvenRows<T>{panel.data(), kWidth}, c + j, ldc);
  }
  multiply_rest<Bytes, Rows>(m, n - j, k, a, lda, b.from(j), c + j, ldc);
}

#undef TENON_INLINED

#if defined(__x86_64__)
// A sum and a product in one step would round once, and give other bits than plain code does.
#if defined(__clang__)
#define TENON_APART
#else
#define TENON_APART __attribute__((optimize("fp-contract=off")))
#endif

template <class T, class B>
__attribute__((target("avx512f,avx512dq"))) TENON_APART void multiply_add_avx512(
    int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const B& b, T* c, int64_t ldc) {
  multiply_add_in<64, 8, 8>(m, n, k, a, lda, b, c, ldc);
}

template <class T, class B>
__attribute__((target("avx2"))) TENON_APART void multiply_add_avx2(int64_t m, int64_t n, int64_t k,
                                                                   const T* a, int64_t lda,
                                                                   const B& b, T* c, int64_t ldc) {
  multiply_add_in<32, 4, 4>(m, n, k, a, lda, b, c, ldc);
}

#undef TENON_APART
#endif

template <class T, class B>
void multiply_add_any(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const B& b, T* c,
                      int64_t ldc) {
#if defined(__x86_64__)
  const int bytes = vector_bytes();
  if (bytes == 64) return multiply_add_avx512(m, n, k, a, lda, b, c, ldc);
  if (bytes == 32) return multiply_add_avx2(m, n, k, a, lda, b, c, ldc);
#endif
  multiply_add_in<16, 4, 4>(m, n, k, a, lda, b, c, ldc);
}

}  // namespace

template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
                  T* c, int64_t ldc) {
  multiply_add_any(m, n, k, a, lda, EvenRows<T>{b, ldb}, c, ldc);
}

template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                  const int64_t* rows, T* c, int64_t ldc) {
  multiply_add_any(m, n, k, a, lda, ListedRows<T>{b, rows}, c, ldc);
}

#define TENON_OF_TYPE(T)                                                                          \
  template void multiply_add(int64_t, int64_t, int64_t, const T*, int64_t, const T*, int64_t, T*, \
                             int64_t);                                                            \
  template void multiply_add(int64_t, int64_t, int64_t, const T*, int64_t, const T*,              \
                             const int64_t*, T*, int64_t);
TENON_OF_TYPE(float)
TENON_OF_TYPE(double)
TENON_OF_TYPE(uint32_t)
TENON_OF_TYPE(uint64_t)
#undef TENON_OF_TYPE

}  // namespace tenon
