#include "select/local_rates.h"

#include <algorithm>
#include <cmath>

namespace tenon {
namespace {

/// Work is the same where amounts differ by about so much, in logarithms.
constexpr double kSame = 0.3;
/// The weight of the rates of all work: that of one measurement a factor of e away.
constexpr double kAll = 1;
/// The weight of an earlier build's measurement.
constexpr double kRecalled = 0.3;
constexpr size_t kFigures = 3;

double logarithm(double amount) {
  return std::log(std::max(amount, 1.0));
}

/// The square of how far work is from other work.
double distance(double first, double second, double other_first, double other_second) {
  const double a = logarithm(first) - logarithm(other_first);
  const double b = logarithm(second) - logarithm(other_second);
  return a * a + b * b;
}

}  // namespace

/// One for each piece of work: the last.
void LocalRates::keep(const Sample& sample) {
  std::erase_if(samples_, [&](const Sample& other) {
    return distance(sample.first, sample.second, other.first, other.second) <= kSame * kSame / 100;
  });
  if (samples_.size() == kMostKept) samples_.erase(samples_.begin());
  samples_.push_back(sample);
}

void LocalRates::add(double first, double second, double seconds) {
  rates_.add(first, second, seconds);
  if (seconds > 0) keep({first, second, seconds});
}

double LocalRates::seconds(double first, double second) const {
  double sum = 0, weights = kAll;
  for (const Sample& sample : samples_) {
    const double usual = rates_.seconds(sample.first, sample.second);
    if (usual <= 0) continue;
    const double apart = kSame * kSame + distance(first, second, sample.first, sample.second);
    const double weight = sample.weight / (apart * apart);
    sum += weight * std::log(sample.seconds / usual);
    weights += weight;
  }
  return rates_.seconds(first, second) * std::exp(sum / weights);
}

std::vector<double> LocalRates::learned() const {
  std::vector<double> all = rates_.learned();
  for (const Sample& sample : samples_)
    if (const double guess = rates_.guessed(sample.first, sample.second); guess > 0)
      all.insert(all.end(), {sample.first, sample.second, sample.seconds / guess});
  return all;
}

void LocalRates::recall(std::span<const double> learned) {
  if (learned.size() < TwoRates::kLearned) return;
  rates_.recall(learned.first(TwoRates::kLearned));
  learned = learned.subspan(TwoRates::kLearned);
  for (; learned.size() >= kFigures; learned = learned.subspan(kFigures))
    if (learned[0] >= 0 && learned[1] >= 0 && learned[2] > 0)
      keep(
          {learned[0], learned[1], learned[2] * rates_.guessed(learned[0], learned[1]), kRecalled});
}

}  // namespace tenon
