#include "select/two_rates.h"

#include <algorithm>
#include <array>

#include "select/pace_book.h"

namespace tenon {
namespace {

/// The weight of the common pace, as a share of all measurements: it decides where amounts always
/// come together, and hardly matters otherwise.
constexpr double kCommon = 0.02;
/// First guesses weigh as much as so many seconds of measured work.
constexpr double kGuessSeconds = 2e-3;
/// Figures of earlier builds weigh as much as so many seconds of guessed work.
constexpr double kRecalledSeconds = 0.02;
/// Of learned figures, the seconds of all guesses.
constexpr size_t kGuessed = 5;
/// No rate is below this share of the common pace: measurements are never so exact.
constexpr double kLeast = 0.02;

}  // namespace

void TwoRates::add(double first, double second, double seconds) {
  const double x = first * first_, y = second * second_;
  if (x + y <= 0 || seconds < 0) return;
  const double weight = 1 / (x + y);
  xx_ += weight * x * x;
  xy_ += weight * x * y;
  yy_ += weight * y * y;
  xt_ += weight * x * seconds;
  yt_ += weight * y * seconds;
  guessed_ += x + y;
  took_ += seconds;
}

/// The least squares of relative errors, drawn towards the common pace.
double TwoRates::seconds(double first, double second) const {
  const double x = first * first_, y = second * second_;
  const double pace = (took_ + kGuessSeconds) / (guessed_ + kGuessSeconds);
  const double common = kCommon * (guessed_ + kGuessSeconds);
  const double a = xx_ + common, d = yy_ + common;
  const double p = xt_ + common * pace, q = yt_ + common * pace;
  const double determinant = a * d - xy_ * xy_;
  double s = (p * d - q * xy_) / determinant, u = (q * a - p * xy_) / determinant;
  // Where one would be negative, the other explains all.
  const double least = kLeast * pace;
  if (s < least) {
    s = least;
    u = std::max((q - s * xy_) / d, least);
  } else if (u < least) {
    u = least;
    s = std::max((p - u * xy_) / a, least);
  }
  return s * x + u * y;
}

/// Of this build, as far as it counts for the next one, and of those before.
std::vector<double> TwoRates::learned() const {
  std::vector<double> all = before_;
  all.resize(kLearned);
  const double measured = guessed_ - recalled_;
  if (measured <= 0) return all;
  const std::array<double, kLearned> sums{xx_, xy_, yy_, xt_, yt_, guessed_, took_};
  const double used = before_.empty() ? 0 : recalled_ / before_[kGuessed];
  const double share = std::min(kRecalledSeconds / measured, 1.0);
  for (size_t i = 0; i < sums.size(); ++i)
    all[i] = PaceBook::kEarlier * all[i] + share * (sums[i] - used * all[i]);
  return all;
}

void TwoRates::recall(std::span<const double> learned) {
  const std::array<double*, kLearned> sums{&xx_, &xy_, &yy_, &xt_, &yt_, &guessed_, &took_};
  if (learned.size() != sums.size() || learned[kGuessed] <= 0) return;
  before_.assign(learned.begin(), learned.end());
  const double share = std::min(kRecalledSeconds / learned[kGuessed], 1.0);
  for (size_t i = 0; i < sums.size(); ++i) *sums[i] += share * learned[i];
  recalled_ = share * learned[kGuessed];
}

}  // namespace tenon
