#pragma once

#include <algorithm>

namespace tenon {

/// Seconds left of work that was expected to take so many when it was last heard of, `ago` seconds
/// before: overdue work is expected to take a share of the time since then.
inline double left_after(double expected, double ago) {
  constexpr double kOverdue = 0.25;
  return expected > 0 ? std::max(expected - ago, kOverdue * ago) : 0;
}

}  // namespace tenon
