#pragma once

#include <algorithm>
#include <cstdint>

namespace tenon {

/// c[m,n] += a[m,k] * b[k,n], row-major with leading dimensions, for the reference evaluations:
/// four rows and eight columns at a time, which compilers keep in vector registers. Sums run in
/// order of k.
template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
                  T* c, int64_t ldc) {
  constexpr int64_t kRows = 4, kColumns = 8;
  for (int64_t i = 0; i < m; i += kRows) {
    const int64_t rows = std::min(kRows, m - i);
    for (int64_t j = 0; j < n; j += kColumns) {
      const int64_t columns = std::min(kColumns, n - j);
      T sums[kRows][kColumns] = {};
      if (rows == kRows && columns == kColumns) {
        for (int64_t l = 0; l < k; ++l)
          for (int64_t r = 0; r < kRows; ++r) {
            const T factor = a[(i + r) * lda + l];
            for (int64_t x = 0; x < kColumns; ++x) sums[r][x] += factor * b[l * ldb + j + x];
          }
      } else {
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t l = 0; l < k; ++l) {
            const T factor = a[(i + r) * lda + l];
            for (int64_t x = 0; x < columns; ++x) sums[r][x] += factor * b[l * ldb + j + x];
          }
      }
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t x = 0; x < columns; ++x) c[(i + r) * ldc + j + x] += sums[r][x];
    }
  }
}

}  // namespace tenon
