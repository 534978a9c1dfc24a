#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "ir/dim.h"

namespace tenon::einsum {

/// Axes of an operand or the result by label: letters, and for the axes of an ellipsis numbers from
/// kEllipsis on, counted from the last, so that they broadcast.
using Labels = std::vector<int>;
inline constexpr int kEllipsis = 256;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

/// Reads an equation such as "bij,bjk->bik" for operands of these shapes.
Result<Equation> read_equation(std::string text, const std::vector<Shape>& shapes);

}  // namespace tenon::einsum
