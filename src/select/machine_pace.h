#pragma once

#include "select/pace_book.h"

namespace tenon {

/// How fast the machine is at the moment, beside whatever else runs on it: the units of forecasts
/// until the work itself was measured.
struct MachinePace {
  double step = 0;  ///< Seconds that a core takes to multiply and add, one behind the other.
  double byte = 0;  ///< Seconds to copy a byte into memory that was not used before.

  /// By moving a small part of so many bytes; takes some milliseconds.
  static MachinePace measured(double bytes);
  /// With the mean of bytes in earlier builds too, whose measurements differ by half: the book gets
  /// this one.
  MachinePace among_earlier(PaceBook& book) const;
};

}  // namespace tenon
