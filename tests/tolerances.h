#pragma once

#include <string_view>

namespace tenon::test {

/// The allowed error of an element as a share of itself: a row of ops/numerics.def, for programs
/// that do not link the library's insides. Not a constant expression where there is no such row.
constexpr double relative_tolerance(std::string_view computation, std::string_view type) {
  struct Row {
    std::string_view computation, type;
    double relative;
  };
  constexpr Row kRows[] = {
#define TENON_NUMERICS(computation, type, relative, spread, norm) {#computation, #type, relative},
#include "../src/ops/numerics.def"
  };
  for (const Row& row : kRows)
    if (row.computation == computation && row.type == type) return row.relative;
  throw "no such row";
}

/// Of results that are compared with numbers worked out by hand.
inline constexpr double kNear = relative_tolerance("kKernel", "kFloat32");

}  // namespace tenon::test
