#pragma once

#include <array>

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/product.h"
#include "kernels/gemm/strassen.h"

/// Batched matrix product C[i] = epilogue(A[i] * B[i]) over strided operands.
namespace tenon::cpu {

/// Leading dimensions that a product is repeated over; stride 0 broadcasts an operand.
inline constexpr int kMaxBatchDims = 4;
using BatchDims = std::array<int64_t, kMaxBatchDims>;

/// An operand's type and strides in elements; row and column are those of the mathematical A (m x
/// k), B (k x n), C (m x n).
struct GemmMatrix {
  ElementType type = ElementType::f32;
  int64_t row_stride = 0;
  int64_t column_stride = 1;
  BatchDims batch_strides{};
};

struct GemmProblem {
  int64_t m = 0, n = 0, k = 0;
  BatchDims batch = {1, 1, 1, 1};
  GemmMatrix a, b, c;  ///< c.column_stride is 1
  /// Multiply in bf16 (accumulating in float) where the machine can; without, everything is float.
  ElementType compute = ElementType::f32;
  std::vector<EpilogueStep> steps;
  /// Strides of each step's operand over the batch; per_row, per_column and full operands.
  std::vector<BatchDims> step_batch_strides;
  Isa isa = detected_isa();
  int threads = 1;
  /// Fewer multiplications by Strassen's scheme where that pays.
  bool strassen = true;
  bool tiles = false;  ///< By tile_microkernels().
  /// B's contents are known to prepare(), or lie packed here (see tenon::Problem).
  bool constant_b = false;
  std::span<const std::byte> packed;
  /// B is the same for the whole batch, and comes from GemmArguments::panels.
  bool makes_panels = false;
};

struct GemmArguments {
  const void* a = nullptr;
  const void* b = nullptr;  ///< not used when B was packed by prepare, or with `panels`
  void* c = nullptr;
  std::span<const EpilogueOperand> operands;  ///< parallel to the problem's steps
  std::span<const std::byte> ahead;           ///< See tenon::LaunchArguments.
  const PanelSource* panels = nullptr;        ///< Where the problem says so.
};

/// Longest epilogue.
inline constexpr int kMaxEpilogueSteps = 16;

class Gemm {
 public:
  /// `b` is B's contents where it is constant: they are packed once.
  static Result<Gemm> prepare(const GemmProblem& problem, const void* b = nullptr);
  /// Whether Strassen's scheme serves the problem, once B is constant.
  static bool fits_strassen(const GemmProblem& problem);
  /// Whether tiles can multiply.
  static bool fits_tiles(const GemmProblem& problem);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t fetch_capacity() const;
  /// Needs `scratch` of scratch_bytes(), 64-byte aligned, and a pool of at most the problem's
  /// threads.
  void run(const GemmArguments& arguments, ThreadPool& pool, void* scratch) const;
  const ProductPlan& plan() const { return plan_; }

 private:
  int64_t batch_count() const;
  int64_t b_count() const;
  int64_t task_count() const;
  void pack_all_b(const void* b, ThreadPool& pool, void* to) const;
  void run_strassen(const GemmArguments& arguments, ThreadPool& pool, void* scratch) const;
  void run_task(const GemmArguments& arguments, const void* packed, const void* staged,
                int64_t task, void* scratch) const;

  GemmProblem problem_;
  ProductPlan plan_;
  StrassenProduct strassen_;  ///< Where usable, it takes the place of the plain product.
  bool direct_a_ = false;
  PackedWeights packed_;
  size_t packed_each_ = 0;  ///< bytes of one packed B; 0 where its panels are made
};

}  // namespace tenon::cpu
