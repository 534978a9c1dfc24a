#pragma once

#include "kernels/gemm/product.h"

/// One level of Strassen's scheme, in Winograd's form: a product of matrices cut into quarters
/// takes seven products of quarters and not eight.
///
///   S1 = A21 + A22   S2 = S1 - A11    S3 = A11 - A21   S4 = A12 - S2
///   T1 = B12 - B11   T2 = B22 - T1    T3 = B22 - B12   T4 = T2 - B21
///   P1 = A11 B11  P2 = A12 B21  P3 = S4 B22  P4 = A22 T4  P5 = S1 T1  P6 = S2 T2  P7 = S3 T3
///   C11 = P1 + P2              C12 = P1 + P6 + P5 + P3
///   C21 = P1 + P6 + P7 - P4    C22 = P1 + P6 + P7 + P5
///
/// The weights stay as they are, packed in panels: the first tile of a product that needs a
/// difference computes it on the way and keeps it, in caches, for the tiles below. Rounding errors
/// are a few times those of the plain product relative to the whole matrices, not element by
/// element; infinities become NaN in the other half of the rows and columns too.
namespace tenon::cpu {

class StrassenProduct {
 public:
  /// Not usable where the plain product is as good. A must be rows of floats in memory.
  static StrassenProduct plan(const Microkernels& kernels, int64_t m, int64_t n, int64_t k,
                              const std::vector<EpilogueStep>& steps, int threads);

  bool usable() const { return kernels_ != nullptr; }
  size_t scratch_bytes() const;
  /// Bytes of other memory that a run can fetch into the caches meanwhile.
  size_t fetch_capacity() const;
  /// `operands.ahead` is that of the whole run; `operands.source` is not used.
  void run(const ProductOperands& operands, ThreadPool& pool, void* scratch) const;

 private:
  friend struct StrassenTask;
  friend struct StrassenScratch;
  static constexpr int kProducts = 7;

  /// One of the seven left operands.
  struct Rows {
    const float* data;
    int64_t stride;
  };

  int64_t bottom_rows() const { return m_ - half_m_; }
  int64_t row_tasks() const;
  int64_t column_tasks() const;
  int64_t staged_stride() const;
  size_t staged_bytes() const;  ///< of one block of rows
  size_t worker_bytes() const;
  bool stages_alone() const;
  int64_t staged_blocks() const;
  void stage(const ProductOperands& operands, int64_t row, int64_t rows, int64_t first,
             float* to) const;
  void find_rows(const ProductOperands& operands, int64_t first, const float* staged,
                 Rows* rows) const;
  bool copies(int operand, const ProductOperands& operands) const;

  const Microkernels* kernels_ = nullptr;
  FinishFunction finish_ = nullptr;
  std::vector<EpilogueStep> steps_;
  bool has_bias_ = false;  ///< The first step is a bias.
  bool finish_in_place_ = false;
  int threads_ = 1;
  int64_t m_ = 0, n_ = 0, k_ = 0;
  int64_t half_m_ = 0;  ///< rows of the upper quarters; the lower ones may have one less
  int64_t half_k_ = 0;
  int64_t pairs_ = 0;  ///< panels of a left quarter, each with its partner on the right
  int64_t k_block_ = 0;
  int64_t row_block_ = 0;  ///< of half_m_, in one task
  int64_t pairs_of_task_ = 0;
};

}  // namespace tenon::cpu
