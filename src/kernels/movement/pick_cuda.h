#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/jit/plan.h"

namespace tenon {

/// Where the elements of a result come from, as device code over the result's coordinates c0, c1,
/// ... (i64, logical axes).
struct Pick {
  std::string statements;           ///< Before the places; `return false;` takes the fill value.
  std::vector<std::string> places;  ///< One expression an axis of x.
  std::vector<std::pair<std::string, int>> operands;  ///< Other operands: name in the code, input.
  int fill = -1;  ///< Problem input that holds the fill value; -1: zero.
  /// Elements that, counted from each multiple of it along the result's fastest axis, lie together
  /// in x: 1 where nothing is known.
  int64_t run = 1;
};

/// One launch of movement/pick.cu.
Result<JitPlan> plan_pick(const Problem& problem, const Pick& pick);

/// The axis of an operand that is fastest in memory.
int fastest_axis(const Operand& operand);

}  // namespace tenon
