#pragma once

#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"
#include "kernels/pointwise/program.h"

namespace tenon::cpu {

/// How an operand's elements are stored; registers are float, with 0 and 1 for bool.
enum class PointwiseType : uint8_t { f32, bf16, f16, boolean, i32, i64, i8, u8 };

/// Elements of a block of registers.
inline constexpr int64_t kBlockElements = 1024;

/// A program made ready: blocks of rows go through all instructions while they are in the
/// first-level cache. A register is a block of floats; there is one for each input and each
/// instruction of the program.
struct PointwisePlan {
  PointwiseProgram program;
  CollapsedLoops loops;
  std::vector<PointwiseType> types;  ///< Inputs, then outputs.
  std::vector<int> loads;            ///< Inputs that differ from block to block.
  std::vector<int> numbers;          ///< Inputs of one element, loaded once.
  Isa isa = detected_isa();

  /// Fills `loads` and `numbers` from the rest.
  void sort_inputs();
  int64_t row() const { return loops.extents.back(); }
  int64_t rows() const;
  /// A block is several whole rows, or a piece of one long row.
  int64_t rows_a_block() const { return row() >= kBlockElements ? 1 : kBlockElements / row(); }
  int64_t pieces_a_row() const { return (row() + kBlockElements - 1) / kBlockElements; }
  size_t scratch_bytes(int threads) const;
};

/// `inputs` and `outputs` are addresses in the order of the program; `scratch` has
/// scratch_bytes(threads of the pool). Results do not depend on the number of threads.
void run_pointwise(const PointwisePlan& plan, const void* const* inputs, void* const* outputs,
                   ThreadPool& pool, void* scratch);

/// The loops over one block, as compiled for one instruction set.
struct BlockFunctions {
  /// out[i] = f(x[i]) or f(x[i], y[i]) or x[i] ? y[i] : z[i]
  void (*apply)(const PointwiseProgram::Instruction& instruction, const float* x, const float* y,
                const float* z, float* out, int64_t n);
  /// Converts n elements from `from`, the first one at element `at`, `stride` elements apart.
  void (*load)(PointwiseType type, const void* from, int64_t at, int64_t stride, float* to,
               int64_t n);
  /// Converts n elements to `to`, likewise.
  void (*store)(PointwiseType type, const float* from, void* to, int64_t at, int64_t stride,
                int64_t n);
};
TENON_BY_ISA(const BlockFunctions&, block_functions)

}  // namespace tenon::cpu
