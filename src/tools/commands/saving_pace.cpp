#include "tools/commands/saving_pace.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "base/environment.h"
#include "base/replace_file.h"

namespace tenon::tools {
namespace {

/// In the cache folder.
constexpr const char* kFile = "saving";
/// A first guess, that both take as long, weighs as much as a plan of so many seconds.
constexpr double kGuess = 1e-3;
/// How much less a build counts for each one behind it.
constexpr double kEarlier = 0.85;

}  // namespace

SavingPace::SavingPace() {
  const auto folder = cache_folder();
  if (folder.empty()) return;
  double expected = 0, took = 0;
  std::ifstream file(folder / kFile);
  if (!(file >> expected >> took) || !(expected >= 0) || !(took >= 0)) return;
  expected_ = expected;
  took_ = took;
}

double SavingPace::seconds(double expected) const {
  return expected * (took_ + kGuess) / (expected_ + kGuess);
}

void SavingPace::saved(double expected, double seconds) {
  expected_ = kEarlier * expected_ + expected;
  took_ = kEarlier * took_ + seconds;
  if (const auto folder = cache_folder(); !folder.empty())
    replace_file(folder / kFile, fmt::format("{:.6g} {:.6g}\n", expected_, took_));
}

}  // namespace tenon::tools
