#include "ops/gemm_reference.h"

#include <algorithm>
#include <vector>

#include "ops/small_gemm.h"

namespace tenon {
namespace {

constexpr int64_t kDepthBlock = 256, kWidth = 2048;  // A panel of b stays in cache.

/// A part of a matrix with its rows one behind the other, which is copied where it lies otherwise.
template <class T> class Panel {
 public:
  Panel(MatrixView<T> matrix, int64_t height, int64_t width, std::vector<T>& memory)
      : data_(matrix.data), stride_(matrix.row_stride) {
    if (matrix.column_stride == 1) return;
    memory.resize(static_cast<size_t>(height * width));
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j)
        memory[i * width + j] = matrix.data[i * matrix.row_stride + j * matrix.column_stride];
    data_ = memory.data();
    stride_ = width;
  }
  const T* data() const { return data_; }
  int64_t stride() const { return stride_; }

 private:
  const T* data_;
  int64_t stride_;
};

}  // namespace

template <class T>
void multiply_matrices(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c) {
  std::fill_n(c, m * n, T(0));
  std::vector<T> rows, columns;
  for (int64_t p = 0; p < k; p += kDepthBlock) {
    const int64_t depth = std::min(kDepthBlock, k - p);
    const Panel<T> left({a.data + p * a.column_stride, a.row_stride, a.column_stride}, m, depth,
                        rows);
    for (int64_t j = 0; j < n; j += kWidth) {
      const int64_t width = std::min(kWidth, n - j);
      const Panel<T> right(
          {b.data + p * b.row_stride + j * b.column_stride, b.row_stride, b.column_stride}, depth,
          width, columns);
      multiply_add(m, width, depth, left.data(), left.stride(), right.data(), right.stride(), c + j,
                   n);
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
