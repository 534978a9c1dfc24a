#pragma once

#include <span>
#include <vector>

#include "select/two_rates.h"

namespace tenon {

/// Seconds that work takes which is the sum of two amounts, where the rates themselves change with
/// the size of the work (caches, parts of tiles): TwoRates of all that was measured, corrected by
/// how far the most similar work was from them.
class LocalRates {
 public:
  LocalRates(double first, double second) : rates_(first, second) {}
  void add(double first, double second, double seconds);
  double seconds(double first, double second) const;

  /// As of TwoRates; the last measurements come along.
  std::vector<double> learned() const;
  void recall(std::span<const double> learned);

 private:
  static constexpr size_t kMostKept = 32;
  struct Sample {
    double first, second, seconds;
    double weight = 1;
  };
  void keep(const Sample& sample);

  TwoRates rates_;
  std::vector<Sample> samples_;  ///< The oldest first.
};

}  // namespace tenon
