#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "kernels/jit/kernel_code.h"

namespace tenon {

/// Scale and bias of normalized rows, and the quantization of the result to 8 bits; inputs
/// are the problem's, constants of one number a column, -1: absent.
struct ByteFactors {
  int scale = -1, bias = -1;
  double quantum = 1, zero = 0;  ///< Of the quantization.
  DataType type = DataType::kInt8;
  int64_t columns = 1;
  std::vector<int64_t> order = {};  ///< Columns by place, where they lie in another one.
  /// Lowest byte, as an integer; floats of 8 bits have no zero point.
  double start() const;
  /// From the lowest to the highest integer; 1 for floats.
  double width() const { return is_real(type) ? 1 : 255; }
};

/// Of each column the factor of a normalized number and the addend, in bytes; of integers places
/// between the least and the greatest one (add_byte_places).
std::function<std::vector<std::byte>()> byte_factors(const Problem& problem,
                                                     const ByteFactors& factors);

/// Has conversions of jit/bytes.cuh, which comes behind, take such places.
void add_byte_places(KernelCode& code, DataType type);

}  // namespace tenon
