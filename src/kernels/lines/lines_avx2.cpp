#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/lines/lines.h"

namespace tenon::cpu {
namespace lines_avx2 {
#include "kernels/lines/lines_body.h"
}  // namespace lines_avx2

const LineFunctions& line_functions_avx2() {
  static constexpr LineFunctions kFunctions{lines_avx2::largest, lines_avx2::first_above};
  return kFunctions;
}

}  // namespace tenon::cpu
