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
  bool of_table = false;  ///< x is one of the network's constants: its extents never vary.
};

/// An extent or stride of x in device code: in hexadecimal digits, which are never open
/// (OpenText::open_numbers), where x is a table.
std::string number_of_x(bool of_table, int64_t number);

/// The operator of the problem's node as a choice of elements.
Result<Pick> describe_pick(const Problem& problem);
/// The widest pack that the result, x and the run allow.
int pick_width(const Problem& problem, const Pick& pick);
/// Device code for the place in x.
std::string picked_place(const Problem& problem, const Pick& pick);

/// One launch of movement/pick.cu.
Result<JitPlan> plan_pick(const Problem& problem, const Pick& pick);

/// Device code that makes coordinates c0, c1, ... (i64, logical axes) of element `at` (an Index,
/// used up) of a tensor in memory order, whose fastest axis may be known not to vary.
std::string coordinates_code(const Operand& tensor, bool fastest_is_known = false);

/// A result of which each element is computed by itself from its coordinates.
struct Elements {
  std::string statements;  ///< Over c0, c1, ...; set `value`, of the result's type of arithmetic.
  std::vector<std::pair<std::string, int>> operands;  ///< Other operands: name in the code, input.
};
/// One launch of movement/elements.cu.
Result<JitPlan> plan_elements(const Problem& problem, const Elements& elements);

/// The place of coordinates `c<first>`, ... in an operand with `count` axes.
std::string place_code(const Operand& operand, int first, int count);

/// The axis of an operand that is fastest in memory.
int fastest_axis(const Operand& operand);

}  // namespace tenon
