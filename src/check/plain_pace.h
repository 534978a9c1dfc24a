#pragma once

#include <optional>

namespace tenon {

/// How fast the machine evaluates networks whose kernels were not tuned, each of which runs once.
/// Times of trials tell little of it: these ran with other algorithms, on operands in the caches.
struct PlainPace {
  double kernels = 0;  ///< Seconds a multiplication, by the processor's kernels on all cores.
  double loops = 0;    ///< The same by plain loops.

  /// From the seconds of a step (MachinePace::step).
  static PlainPace guessed(double step);
  /// By small networks of its own, in some milliseconds. Nothing for a network of so few
  /// multiplications that this would be much beside them.
  static std::optional<PlainPace> measured(double multiplications);
};

}  // namespace tenon
