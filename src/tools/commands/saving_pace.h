#pragma once

namespace tenon::tools {

/// How long plans take to be saved, beside the time that putting them together takes: as in earlier
/// builds on this machine, of which the cache folder keeps a file.
class SavingPace {
 public:
  SavingPace();

  /// Of a plan that is expected to be put together in so many seconds.
  double seconds(double expected) const;
  /// It was saved in so many.
  void saved(double expected, double seconds);

 private:
  /// Sums over earlier builds: of the seconds that plans were expected to be put together in, and
  /// of these times the logarithm of how many times as long they took to be saved.
  double expected_ = 0, sum_ = 0;
};

}  // namespace tenon::tools
