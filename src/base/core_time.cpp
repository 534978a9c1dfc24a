#include "base/core_time.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

namespace tenon {
namespace {

/// A thread that ran for less is taken to be undisturbed, mostly.
constexpr double kPrior = 5e-3;

}  // namespace

CoreTime::CoreTime() : thread_(gettid()), begun_(now()) {}

CoreTime::Seconds CoreTime::now() const {
  const std::string path = fmt::format("/proc/self/task/{}/schedstat", thread_);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  if (file == nullptr) return {};
  // "RAN WAITED SLICES", in nanoseconds.
  char text[64];
  const char* const end = text + std::fread(text, 1, sizeof(text), file.get());
  uint64_t ran = 0, waited = 0;
  const auto [gap, first] = std::from_chars(text, end, ran);
  if (first != std::errc() || gap == end) return {};
  if (std::from_chars(gap + 1, end, waited).ec != std::errc()) return {};
  return {1e-9 * static_cast<double>(ran), 1e-9 * static_cast<double>(waited)};
}

double CoreTime::stretch() const {
  const Seconds seconds = now();
  const double ran = std::max(seconds.ran - begun_.ran, 0.0) + kPrior;
  return 1 + std::max(seconds.waited - begun_.waited, 0.0) / ran;
}

}  // namespace tenon
