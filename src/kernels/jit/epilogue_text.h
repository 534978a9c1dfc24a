#pragma once

#include <string>
#include <vector>

#include "kernels/jit/epilogue_code.h"

namespace tenon {

/// A line of an epilogue's body, as TextForm::kEpilogue has it: one of these and three numbers.
/// Ahead of them stand the bytes that are prefetched of each operand; the words are the expression
/// of kRound and the operands' types.
enum class EpilogueStatement : uint8_t {
  kKeep,       ///< The running value is kept as this number.
  kReturn,     ///< This kept value is the running one again.
  kRoughGelu,  ///< To 16 bits.
  kEarlier,    ///< Step function, kept value, whether the running one is the second argument.
  kAlone,      ///< Step function.
  kOperand,    ///< Step function, operand, whether the running value is the second argument.
  kRound,
};
/// In place of a kept value's number.
inline constexpr int64_t kRunningValue = -1;

/// The functions and macros of add_epilogue_functions().
std::string epilogue_functions(const std::vector<EpilogueOperand>& operands,
                               const std::string& body);

}  // namespace tenon
