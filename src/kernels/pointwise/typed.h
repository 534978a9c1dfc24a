#pragma once

#include "device/cpu/thread_pool.h"
#include "device/cpu/worker_memory.h"
#include "kernels/pointwise/program.h"

/// Pointwise regions over integers of any width, f64 and mixtures of types: rows of blocks go
/// through the operator table's own row functions, each value in its own type.
namespace tenon::cpu {

/// Elements of a block of one value.
inline constexpr int64_t kTypedBlock = 512;

struct TypedPlan {
  PointwiseProgram program;
  CollapsedLoops loops;
  std::vector<DataType> types;  ///< Of inputs, then of instructions.

  int64_t row() const { return loops.extents.back(); }
  int64_t rows() const;
  size_t worker_bytes(int threads) const {
    return worker_stride(types.size() * kTypedBlock * sizeof(int64_t), threads);
  }
};

/// Whether blocks can hold and convert it.
bool is_typed_block_type(DataType type);
/// Whether the instruction is defined for operands of that type.
bool has_row_function(const PointwiseProgram::Instruction& instruction, DataType operand);

void run_typed(const TypedPlan& plan, const void* const* inputs, void* const* outputs,
               ThreadPool& pool, void* scratch);

}  // namespace tenon::cpu
