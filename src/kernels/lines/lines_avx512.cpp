#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/lines/lines.h"

namespace tenon::cpu {
namespace lines_avx512 {
#include "kernels/lines/lines_body.h"
}  // namespace lines_avx512

const LineFunctions& line_functions_avx512() {
  static constexpr LineFunctions kFunctions{lines_avx512::largest, lines_avx512::first_above};
  return kFunctions;
}

}  // namespace tenon::cpu
