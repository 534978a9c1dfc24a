#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tenon {

/// Seconds that work takes which is the sum of two amounts, each at a rate of its own: learned from
/// measurements, and where these do not tell the rates apart, both go at the common pace.
class TwoRates {
 public:
  /// First guesses of seconds for one of each amount; their ratio matters, until both were seen.
  TwoRates(double first, double second) : first_(first), second_(second) {}
  void add(double first, double second, double seconds);
  double seconds(double first, double second) const;
  double guessed(double first, double second) const { return first * first_ + second * second_; }

  /// All that was learned in this build and earlier ones; and of these, with guesses for their
  /// machine's pace: as if it had been measured here, with little weight.
  static constexpr size_t kLearned = 7;
  std::vector<double> learned() const;
  void recall(std::span<const double> learned);

 private:
  double first_, second_;
  /// Sums over measurements of the guesses x and y, seconds t, with the weight 1 / (x + y).
  double xx_ = 0, xy_ = 0, yy_ = 0, xt_ = 0, yt_ = 0, guessed_ = 0, took_ = 0;
  std::vector<double> before_;  ///< As earlier builds learned it.
  double recalled_ = 0;         ///< The part of guessed_ that is theirs.
};

}  // namespace tenon
