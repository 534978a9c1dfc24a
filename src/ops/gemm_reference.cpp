#include "ops/gemm_reference.h"

#include <algorithm>
#include <vector>

namespace tenon {
namespace {

constexpr int64_t kRows = 4, kColumns = 8;           // A tile of c in registers.
constexpr int64_t kDepthBlock = 256, kWidth = 2048;  // A packed panel of b stays in cache.

/// b[depth, width] as strips of kColumns columns, padded with zeros.
template <class T>
void pack_columns(MatrixView<T> b, int64_t depth, int64_t width, T* packed) {
  for (int64_t j = 0; j < width; j += kColumns) {
    for (int64_t p = 0; p < depth; ++p) {
      const T* row = b.data + p * b.row_stride;
      for (int64_t c = 0; c < kColumns; ++c)
        *packed++ = j + c < width ? row[(j + c) * b.column_stride] : T(0);
    }
  }
}

template <class T>
void pack_rows(MatrixView<T> a, int64_t height, int64_t depth, T* packed) {
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t r = 0; r < kRows; ++r)
      *packed++ = r < height ? a.data[r * a.row_stride + p * a.column_stride] : T(0);
}

/// A tile of c: with `accumulate` added to its current value.
template <class T>
void multiply_tile(const T* rows, const T* columns, int64_t depth, T* c, int64_t stride,
                   int64_t height, int64_t width, bool accumulate) {
  T tile[kRows][kColumns] = {};
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t j = 0; j < kColumns; ++j)
        tile[r][j] += rows[p * kRows + r] * columns[p * kColumns + j];
  for (int64_t r = 0; r < height; ++r)
    for (int64_t j = 0; j < width; ++j)
      c[r * stride + j] = accumulate ? c[r * stride + j] + tile[r][j] : tile[r][j];
}

}  // namespace

template <class T>
void multiply_matrices(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c) {
  if (k == 0) std::fill_n(c, m * n, T(0));
  const int64_t depth_block = std::min(k, kDepthBlock);
  const int64_t strips = (std::min(n, kWidth) + kColumns - 1) / kColumns;
  std::vector<T> columns(strips * kColumns * depth_block);
  std::vector<T> rows(kRows * depth_block);
  for (int64_t j0 = 0; j0 < n; j0 += kWidth) {
    const int64_t width = std::min(kWidth, n - j0);
    for (int64_t p0 = 0; p0 < k; p0 += kDepthBlock) {
      const int64_t depth = std::min(kDepthBlock, k - p0);
      pack_columns<T>(
          {b.data + p0 * b.row_stride + j0 * b.column_stride, b.row_stride, b.column_stride}, depth,
          width, columns.data());
      for (int64_t i = 0; i < m; i += kRows) {
        const int64_t height = std::min(kRows, m - i);
        pack_rows<T>(
            {a.data + i * a.row_stride + p0 * a.column_stride, a.row_stride, a.column_stride},
            height, depth, rows.data());
        for (int64_t j = 0; j < width; j += kColumns)
          multiply_tile(rows.data(), columns.data() + j * depth, depth, c + i * n + j0 + j, n,
                        height, std::min(kColumns, width - j), p0 > 0);
      }
    }
  }
}

template void multiply_matrices(int64_t, int64_t, int64_t, MatrixView<float>, MatrixView<float>,
                                float*);
template void multiply_matrices(int64_t, int64_t, int64_t, MatrixView<double>, MatrixView<double>,
                                double*);
template void multiply_matrices(int64_t, int64_t, int64_t, MatrixView<uint64_t>,
                                MatrixView<uint64_t>, uint64_t*);

}  // namespace tenon
