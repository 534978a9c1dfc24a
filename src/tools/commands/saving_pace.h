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
  double expected_ = 0, took_ = 0;  ///< Sums over earlier builds.
};

}  // namespace tenon::tools
