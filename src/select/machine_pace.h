#pragma once

namespace tenon {

/// How fast the machine is at the moment, beside whatever else runs on it: the units of forecasts
/// until the work itself was measured.
struct MachinePace {
  double step = 0;  ///< Seconds that a core takes to multiply and add, one behind the other.
  double byte = 0;  ///< Seconds to copy a byte into memory that was not used before.

  /// By moving a small part of so many bytes; takes some milliseconds.
  static MachinePace measured(double bytes);
};

}  // namespace tenon
