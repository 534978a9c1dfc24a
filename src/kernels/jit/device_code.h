#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kernels/region.h"
#include "kernels/tactic.h"

namespace tenon {

/// The axes of a loop over elements, slowest first: axis numbers of some tensor.
using AxisOrder = std::vector<int>;

/// Axes in the order in which they lie in memory of a dense tensor of that layout.
AxisOrder memory_order(int rank, Layout layout);

/// Strides of an operand, dense or not.
std::vector<int64_t> strides_of(const Operand& operand);

/// Strides of an operand as a tensor of `extents` that it broadcasts to: 0 along broadcast axes.
Result<std::vector<int64_t>> broadcast_strides(const Operand& operand, const Extents& extents);

/// `values` in that order of axes.
std::vector<int64_t> ordered(const std::vector<int64_t>& values, const AxisOrder& order);

/// The largest number of elements up to 16 bytes, a power of 2, that loads and stores of all the
/// given strides, extents and alignments allow along the fastest axis.
struct PackedOperand {
  const Operand* operand;
  std::vector<int64_t> strides;  ///< In the loop's order.
};
int pack_width(const Extents& loop, const std::vector<PackedOperand>& operands);

/// Elements that the address of an operand is known to be a multiple of.
int64_t alignment_in_elements(const Operand& operand);

/// Name of the element type in kernels/jit/prelude.cuh; null for types that kernels do not know.
const char* device_type(DataType type);
/// The type of arithmetic there: float for narrow floats.
const char* wide_type(DataType type);

/// Source of a kernel made for one problem: the prelude, the problem's constants, then files of
/// the kernel families. Same problem, same text.
class DeviceCode {
 public:
  /// `using name = ...;`
  void type(std::string_view name, DataType type);
  void alias(std::string_view name, std::string_view type);
  void constant(std::string_view name, int64_t value);
  void flag(std::string_view name, bool value);
  void real(std::string_view name, double value);
  void array(std::string_view name, const std::vector<int64_t>& values);
  /// A struct that says where elements of a loop lie in an operand (`locate` of the prelude).
  void located(std::string_view name, const Extents& loop, const std::vector<int64_t>& strides,
               int64_t alignment);
  void text(std::string_view text) { constants_ += text; }
  /// Division and square root of floats may be off in the last place, and denormals are zero: for
  /// results that are rounded to 16 bits.
  void allow_fast_math() { fast_ = true; }
  /// Results of `type` are wanted: fast_math where that is 16 bits wide.
  void round_to(DataType type) {
    if (type == DataType::kFloat16 || type == DataType::kBFloat16) fast_ = true;
  }

  /// All of it, ending in the given files of src/kernels ("rows/softmax.cu").
  Result<std::string> source(std::initializer_list<std::string_view> files) const;
  std::vector<std::string> options() const;

 private:
  std::string constants_;
  bool fast_ = false;
};

/// Text of a real number in device code, infinities and NaN included.
std::string device_real(double value);

/// True when indices of all operands of the problem fit 32 bits.
bool small_indices(const Problem& problem);

}  // namespace tenon
