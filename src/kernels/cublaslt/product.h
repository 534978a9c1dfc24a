#pragma once

#include <array>
#include <vector>

#include "kernels/region.h"

namespace tenon::cublaslt {

/// A matrix of a product in memory. One of its axes is contiguous.
struct Matrix {
  DataType type = DataType::kFloat32;
  int64_t rows = 0, columns = 0;
  int64_t stride = 0;       ///< In elements, from one line to the next.
  bool transposed = false;  ///< Lines are columns.
  std::vector<int64_t> batch_strides;
  int64_t alignment = 16;  ///< Every address of a launch is a multiple of this many bytes.
};

enum class Activation { kNone, kRelu, kGeluTanh };

/// D = activation(alpha * A * B + C + bias) for every index of the batch.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  std::vector<int64_t> batch;  ///< Extents; matrices step by their batch_strides, 0 where repeated.
  Matrix a, b, c, d;
  float alpha = 1;
  Activation activation = Activation::kNone;
  bool allow_tf32 = false;
  int a_input = 0, b_input = 1;        ///< Problem inputs.
  int c_input = -1, bias_input = -1;   ///< The same; -1: absent.
  const Tensor* constant_b = nullptr;  ///< Its contents, dense as `b` says.
  const Tensor* constant_bias = nullptr;

  /// Steps of the region from this one on are left: the library has no epilogue for them.
  size_t taken_steps = 0;

  int64_t batch_count() const;
};

/// The product that a matmul or a convolution of single pixels stands for, with as much of its
/// epilogue as cuBLASLt takes; fails with the reason why it does not take the product itself.
Result<Product> describe_product(const Problem& problem);

}  // namespace tenon::cublaslt
