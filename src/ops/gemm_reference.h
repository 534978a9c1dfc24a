#pragma once

#include <cstdint>

namespace tenon {

/// c[m,n] = a[m,k] * b[k,n] with any strides of a and b, c dense: blocked loops over packed panels.
/// T is float, double, int64_t or uint64_t (whose products wrap).
template <class T> struct MatrixView {
  const T* data;
  int64_t row_stride, column_stride;
};

template <class T>
void multiply_matrices(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c);

extern template void multiply_matrices(int64_t, int64_t, int64_t, MatrixView<float>,
                                       MatrixView<float>, float*);
extern template void multiply_matrices(int64_t, int64_t, int64_t, MatrixView<double>,
                                       MatrixView<double>, double*);
extern template void multiply_matrices(int64_t, int64_t, int64_t, MatrixView<uint64_t>,
                                       MatrixView<uint64_t>, uint64_t*);

}  // namespace tenon
