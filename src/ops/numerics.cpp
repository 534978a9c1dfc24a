#include "ops/numerics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/reals.h"

namespace tenon {
namespace {

struct Row {
  Computation computation;
  DataType type;
  Tolerance tolerance;
};

constexpr Row kRows[] = {
#define TENON_NUMERICS(computation, type, relative, spread, norm) \
  {Computation::computation, DataType::type, {relative, spread, norm}},
#include "ops/numerics.def"
};

const Row* find_row(Computation computation, DataType type) {
  const auto* found = std::ranges::find_if(
      kRows, [&](const Row& row) { return row.computation == computation && row.type == type; });
  return found == std::end(kRows) ? nullptr : found;
}

/// Two draws of the same rounding may lie as far apart as this times one of them and the truth: for
/// all elements together, and for the one that is hit most.
constexpr double kTwoDraws = 3, kWorstDraw = 10;
/// A norm of nearly nothing says nothing.
constexpr double kNothing = 1e-12;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Sums over the elements that are finite on both sides.
struct Sums {
  double difference = 0, norm = 0;
  double largest = 0;  ///< Of the differences.
  int64_t count = 0;
  double distance() const { return std::sqrt(difference / std::max(norm, kNothing)); }
  double root_mean_square() const { return count == 0 ? 0 : std::sqrt(norm / double(count)); }
  double difference_mean() const { return count == 0 ? 0 : std::sqrt(difference / double(count)); }
};

Sums sums_of(std::span<const double> a, std::span<const double> e) {
  Sums sums;
  for (size_t i = 0; i < e.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(e[i])) continue;
    sums.difference += (a[i] - e[i]) * (a[i] - e[i]);
    sums.norm += e[i] * e[i];
    sums.largest = std::max(sums.largest, std::abs(a[i] - e[i]));
    ++sums.count;
  }
  return sums;
}

void note(Deviation& deviation, size_t element, double excess, double actual, double expected) {
  if (excess <= deviation.excess && deviation.element >= 0) return;
  deviation.excess = excess;
  deviation.element = static_cast<int64_t>(element);
  deviation.actual = actual;
  deviation.expected = expected;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

Tolerance tolerance(Computation computation, DataType type) {
  const Row* row = find_row(computation, type);
  if (row == nullptr) row = find_row(computation, DataType::kBFloat16);
  if (row == nullptr) row = find_row(Computation::kKernel, type);
  return row == nullptr ? tolerance(Computation::kKernel, DataType::kBFloat16) : row->tolerance;
}

Tolerance wider(const Tolerance& a, const Tolerance& b) {
  return {std::max(a.relative, b.relative), std::max(a.spread, b.spread), std::max(a.norm, b.norm)};
}

std::string Deviation::describe() const {
  if (!(norm <= norm_limit) && !(excess > 1))
    return fmt::format("distance {:.3g}, limit {:.3g}", norm, norm_limit);
  return fmt::format("distance {:.3g}, limit {:.3g}; element {} is {:.6g} instead of {:.6g}", norm,
                     norm_limit, element, actual, expected);
}

Deviation compare_numbers(std::span<const double> actual, std::span<const double> expected,
                          std::span<const double> rounded, const Tolerance& tolerance, bool jumps) {
  const Sums own = sums_of(actual, expected);
  const Sums draw = rounded.empty() ? Sums() : sums_of(rounded, expected);
  Deviation result;
  result.norm = own.distance();
  result.norm_limit = std::max(tolerance.norm, kTwoDraws * draw.distance());
  const double everywhere =
      tolerance.spread * own.root_mean_square() + kWorstDraw * draw.difference_mean() + kNothing;
  // Of those that a jump explains.
  Deviation jumped;
  int64_t jumped_count = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double a = actual[i], e = expected[i], r = rounded.empty() ? e : rounded[i];
    result.overflows += !std::isfinite(a) && std::isfinite(e) ? 1 : 0;
    if (same(a, e) || same(a, r)) continue;
    double excess = kInfinite;
    bool jumps_so_far = false;
    if (std::isfinite(a) && std::isfinite(e)) {
      const double drawn = std::isfinite(r) ? kTwoDraws * std::abs(r - e) : 0;
      excess = std::abs(a - e) / (everywhere + drawn + tolerance.relative * std::abs(e));
      jumps_so_far = jumps && excess > 1 && std::abs(a - e) <= kTwoDraws * draw.largest;
    }
    jumped_count += jumps_so_far ? 1 : 0;
    note(jumps_so_far ? jumped : result, i, excess, a, e);
  }
  const double share = double(jumped_count) / double(std::max<size_t>(1, expected.size()));
  if (share > kJumpShare && jumped.excess > result.excess)
    note(result, static_cast<size_t>(jumped.element), jumped.excess, jumped.actual,
         jumped.expected);
  return result;
}

Deviation compare_tensors(const Tensor& actual, const Tensor& expected, const Tensor* rounded,
                          const Tolerance& tolerance, bool jumps) {
  if (actual.extents() != expected.extents()) return {.norm = 1, .excess = kInfinite, .element = 0};
  const Values<double> a(actual), e(expected);
  const Values<double> r = rounded == nullptr ? Values<double>() : Values<double>(*rounded);
  const auto span = [](const Values<double>& values) {
    return std::span(values.data(), static_cast<size_t>(values.size()));
  };
  return compare_numbers(span(a), span(e), span(r), tolerance, jumps);
}

}  // namespace tenon
