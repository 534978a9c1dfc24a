#pragma once

#include "kernels/gemm/microkernel.h"

namespace tenon::cpu {

/// A matrix anywhere in memory; strides in elements.
struct MatrixView {
  const void* data = nullptr;
  ElementType type = ElementType::f32;
  int64_t row_stride = 0;
  int64_t column_stride = 1;

  MatrixView at(int64_t row, int64_t column) const;
};

/// Elements from one packed panel of k steps to the next.
int64_t panel_stride(const Microkernels& kernels, int64_t k);
/// Bytes of a packed k x n matrix.
size_t packed_bytes(const Microkernels& kernels, int64_t k, int64_t n);

/// Packs panels [first, last) of the k x n matrix `b` into `packed`, which is the start of all
/// panels.
void pack_panels(const Microkernels& kernels, const MatrixView& b, int64_t k, int64_t n,
                 int64_t first, int64_t last, void* packed);

/// Threads, of so many, that the packing of weights into `bytes` is worth.
int packing_threads(size_t bytes, int threads);

/// Copies a block of A to rows of `to_stride` elements in the kernels' type, zero up to a multiple
/// of their k_unit.
void pack_rows(const Microkernels& kernels, const MatrixView& a, int64_t rows, int64_t k, void* to,
               int64_t to_stride);

float bf16_to_float(uint16_t bits);
uint16_t float_to_bf16(float value);  ///< Rounds to nearest even.

}  // namespace tenon::cpu
