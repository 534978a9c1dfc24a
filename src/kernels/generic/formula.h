#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/jit/plan.h"
#include "kernels/known_number.h"

namespace tenon {

/// A result of which each element is computed by itself: constants of the operator for one of the
/// files of this folder.
struct Formula {
  std::string file;  ///< "generic/lrn.cu".
  std::string constants;
  bool saturates = true;   ///< Numbers too large for a narrow float become its largest number.
  int power_rounding = 0;  ///< Of powers of two: 0 up, 1 down, 2 nearest.
  /// The operand that the file reads as x6, behind the operands. May be null.
  std::function<std::vector<std::byte>()> table;

  void number(std::string_view name, int64_t value);
  void real(std::string_view name, double value);
  void flag(std::string_view name, bool value);
  /// `name(i)`: one of the numbers.
  void list(std::string_view name, const std::vector<int64_t>& values);
};

/// The formula of a problem's operator, or why there is none: operands that it does not take.
Result<Formula> formula_of(const Problem& problem);

/// Adds the element types and places of all operands (generic/operands.cuh), `Real`, the type of
/// arithmetic on reals, `Result`, that of the result, and `Accumulator`, that of sums. `formula`
/// says how narrow types round.
Status add_operands(KernelCode& code, const Problem& problem, const Formula& formula = {});

/// Least and largest number of an integer type, as device code; null for other types.
struct IntegerLimits {
  const char *low = nullptr, *high = nullptr;
};
IntegerLimits limits_of(DataType type);

}  // namespace tenon
