#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tools/commands/session.h"
#include "tools/exports.h"

namespace tenon::tools {

/// How far one tensor is from another of the same extents.
struct Deviation {
  static constexpr size_t kBins = 8;

  size_t count = 0;
  double norm = 0;               ///< Length of the difference over the length of what was expected.
  double cosine = 1;             ///< Of the angle between the two.
  double largest = 0;            ///< Difference of two elements.
  size_t where = 0;              ///< Of the largest.
  double got = 0, expected = 0;  ///< There.
  size_t not_finite = 0;  ///< Elements that are finite on one side only, or different infinities.
  /// Elements by their difference over the root mean square of what was expected: up to 1e-7, 1e-6,
  /// ..., 1e-1, and above.
  std::array<size_t, kBins> histogram{};

  bool within(double tolerance) const { return not_finite == 0 && norm <= tolerance; }
};

Deviation deviation_of(std::span<const double> got, std::span<const double> expected);

/// The values that a side of a comparison computed, in the order in which it did.
using TensorValues = std::vector<OutputValues>;

/// The tensor of the same name and with as many elements; null where there is none.
const OutputValues* comparable_in(const TensorValues& got, const OutputValues& expected);

/// Tensors of a table: how many both sides have, and how many of these lie outside of the
/// tolerance.
struct Compared {
  size_t shared = 0, bad = 0;
};

/// A table of the tensors of `expected` that `got` has too, with a histogram of each; only those in
/// `names` where it is not empty.
Compared show_deviations(Session& session, const TensorValues& got, const TensorValues& expected,
                         const std::vector<std::string>& names, double tolerance);

/// Whether both sides have all tensors of these names, each within the tolerance.
bool all_agree(const TensorValues& got, const TensorValues& expected,
               const std::vector<std::string>& names, double tolerance);

/// Says which tensor is the first, in the order of `expected`, that lies outside of the tolerance,
/// and how far the ones around it are.
void show_first_bad(Session& session, const TensorValues& got, const TensorValues& expected,
                    double tolerance);

}  // namespace tenon::tools
