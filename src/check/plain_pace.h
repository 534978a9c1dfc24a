#pragma once

#include <optional>

namespace tenon {

/// How fast the machine evaluates networks whose kernels were not tuned, each of which runs once.
/// Times of trials tell little of it: these ran with other algorithms, on operands in the caches.
struct PlainPace {
  /// Seconds a multiplication, by the processor's kernels on all cores; 0: not measured.
  double kernels = 0;
  double loops = 0;    ///< The same by plain loops.
  double element = 0;  ///< To make an element of a result by loops, and to compare it.

  /// From the seconds of a step (MachinePace::step).
  static PlainPace guessed(double step);
  /// By small networks of its own, in some milliseconds; not that of kernels for a network of so
  /// few multiplications that this would be much beside them, and nothing for one of fewer yet.
  static std::optional<PlainPace> measured(double multiplications);
};

}  // namespace tenon
