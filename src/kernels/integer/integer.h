#pragma once

#include <cstdint>

#include "device/cpu/isa.h"

/// Matrix products of 32-bit integers, which wrap around.
namespace tenon::cpu {

/// Columns of B that are packed side by side.
inline constexpr int64_t kIntegerPanel = 32;

/// Up to kIntegerPanel columns of one product; strides in elements. B is packed in rows of
/// kIntegerPanel, C is contiguous along its rows.
struct IntegerProduct {
  const int32_t *a, *b;
  int32_t* c;
  int64_t a_row = 0, a_step = 0, c_row = 0;
  int64_t rows = 0, columns = 0, depth = 0;
};
using IntegerFunction = void (*)(const IntegerProduct& product);
TENON_BY_ISA(IntegerFunction, integer_function)

}  // namespace tenon::cpu
