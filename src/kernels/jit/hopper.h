#pragma once

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

/// Adds a device function that issues it,
///   name(float (&d)[columns / 2], u64 a, u64 b, int keep)
/// or, with A in registers, name(d, const u32 (&a)[4], u64 b, int keep); d is overwritten where
/// `keep` is 0.
void add_group_product(KernelCode& code, std::string_view name, const GroupProduct& product);

}  // namespace tenon
