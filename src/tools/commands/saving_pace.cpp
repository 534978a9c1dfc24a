#include "tools/commands/saving_pace.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "base/environment.h"
#include "base/replace_file.h"

namespace tenon::tools {
namespace {

/// In the cache folder.
constexpr const char* kFile = "pace_of_saving";
/// A first guess of both times' ratio, for plans that lie in their file already and have to be on
/// the disk; and it weighs as much as a plan of so many seconds.
constexpr double kFirst = 0.05, kGuess = 1e-3;
/// How much less a build counts for each one behind it.
constexpr double kEarlier = 0.85;

}  // namespace

SavingPace::SavingPace() {
  const auto folder = cache_folder();
  if (folder.empty()) return;
  double expected = 0, sum = 0;
  std::ifstream file(folder / kFile);
  if (!(file >> expected >> sum) || !(expected >= 0) || !std::isfinite(sum)) return;
  expected_ = expected;
  sum_ = sum;
}

double SavingPace::seconds(double expected) const {
  return expected * std::exp((sum_ + kGuess * std::log(kFirst)) / (expected_ + kGuess));
}

/// By the mean of logarithms: now and then a plan takes several times as long, for pages or a disk
/// that are busy, which says little of the next one.
void SavingPace::saved(double expected, double seconds) {
  if (!(expected > 0) || !(seconds > 0)) return;
  expected_ = kEarlier * expected_ + expected;
  sum_ = kEarlier * sum_ + expected * std::log(seconds / expected);
  if (const auto folder = cache_folder(); !folder.empty())
    replace_file(folder / kFile, fmt::format("{:.6g} {:.6g}\n", expected_, sum_));
}

}  // namespace tenon::tools
