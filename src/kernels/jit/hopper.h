#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/jit/kernel_code.h"

namespace tenon {

/// One product of a warp group (sm_90a): 64 rows by `columns` (a multiple of 8 up to 256) over 16
/// elements of f16 or bf16, summed in f32.
struct GroupProduct {
  int columns = 64;
  bool bf16 = false;
  bool a_in_registers = false;
  bool a_by_columns = false;  ///< The rows of A are contiguous in memory, not k.
  bool b_by_columns = false;  ///< The columns of B are contiguous in memory, not k.
};

/// The same over 32 elements of 8 bits, k contiguous in operands in shared memory: "s8" or
/// "u8", summed in s32, or "e4m3" or "e5m2", summed in f32, of which about 14 bits count.
struct ByteGroupProduct {
  int columns = 64;
  std::string_view a = "s8", b = "s8";
  bool a_in_registers = false;
  bool is_integer() const { return a == "s8" || a == "u8"; }
};

/// The same of 64 rows of which two of each four elements along k are there, over 32 of k: in
/// shared memory, k contiguous in both operands.
struct SparseGroupProduct {
  int columns = 64;
  bool bf16 = false;
};

/// Adds a device function that issues it,
///   name(float (&d)[columns / 2], u64 a, u64 b, int keep)
/// or, with A in registers, name(d, const u32 (&a)[4], u64 b, int keep); d is overwritten where
/// `keep` is 0.
void add_group_product(KernelCode& code, std::string_view name, const GroupProduct& product);
/// Likewise; d is of int where the elements are integers.
void add_group_product(KernelCode& code, std::string_view name, const ByteGroupProduct& product);
/// Likewise, name<pair>(d, u64 a, u64 b, u32 where, int keep): of four threads side by side the
/// first pair (0) or the second one (1) says where elements are.
void add_sparse_product(KernelCode& code, std::string_view name, const SparseGroupProduct& product);

/// Threads and registers of kernels of `groups` warp groups that compute and threads that fetch for
/// them, `each` blocks at a time on a multiprocessor. Where `moves`, a whole warp group fetches and
/// leaves its registers to the others.
struct GroupShape {
  int64_t groups = 1, each = 1;
  bool moves = false;
  bool alone = false;  ///< Threads that compute fetch for themselves.

  int64_t fetchers() const { return moves ? 128 : alone ? 0 : 32; }
  int64_t threads() const { return groups * 128 + fetchers(); }
  int64_t fetching_registers() const { return 24; }
  int64_t computing_registers() const;
};
/// Constants kGroups, kBlocksEach, kFetchers, kMovesRegisters, kFetchingRegisters and
/// kComputingRegisters.
void add_group_shape(KernelCode& code, const GroupShape& shape);

}  // namespace tenon
