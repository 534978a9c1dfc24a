#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/lines/lines.h"

namespace tenon::cpu {
namespace lines_generic {
#include "kernels/lines/lines_body.h"
}  // namespace lines_generic

const LineFunctions& line_functions_generic() {
  static constexpr LineFunctions kFunctions{lines_generic::largest, lines_generic::first_above};
  return kFunctions;
}

}  // namespace tenon::cpu
