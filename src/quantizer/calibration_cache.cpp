#include "quantizer/calibration_cache.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "base/version.h"

namespace tenon {
namespace {

constexpr float kLargest = 127;

/// "TRT-101600-EntropyCalibration2" to its last part; empty for other texts.
std::string_view algorithm_of(std::string_view line) {
  if (!line.starts_with("TRT-")) return {};
  const size_t dash = line.find('-', 4);
  return dash == std::string_view::npos ? std::string_view() : line.substr(dash + 1);
}

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

/// Names may hold ": " themselves; the last is the separator.
Status read_line(std::string_view line, int number, CalibrationCache& cache) {
  const size_t colon = line.rfind(": ");
  if (colon == std::string_view::npos)
    return user_error("calibration cache, line {}: '{}' is not 'tensor: scale'", number, line);
  const std::string_view digits = line.substr(colon + 2);
  uint32_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  const float scale = std::bit_cast<float>(bits);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(scale) ||
      scale < 0)
    return user_error(
        "calibration cache, line {}: '{}' is not the 8 hexadecimal digits of a scale of at least 0",
        number, digits);
  cache.ranges[std::string(line.substr(0, colon))] = scale * kLargest;
  return {};
}

}  // namespace

std::string CalibrationCache::text() const {
  std::string result =
      fmt::format("TRT-{}-{}\n", kApiMajor * 10000 + kApiMinor * 100 + kApiPatch, algorithm);
  for (const auto& [name, range] : ranges)
    result += fmt::format("{}: {:08x}\n", name, std::bit_cast<uint32_t>(range / kLargest));
  return result;
}

Result<CalibrationCache> CalibrationCache::parse(std::string_view text) {
  CalibrationCache cache;
  int number = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = trimmed(text.substr(start, end - start));
    start = end + 1;
    if (++number == 1) {
      cache.algorithm = algorithm_of(line);
      if (cache.algorithm.empty())
        return user_error(
            "calibration cache, line 1: '{}' is not of the form 'TRT-101600-EntropyCalibration2'",
            line);
    } else if (!line.empty()) {
      TENON_TRY(read_line(line, number, cache));
    }
  }
  if (number == 0) return user_error("the calibration cache is empty");
  return cache;
}

}  // namespace tenon
