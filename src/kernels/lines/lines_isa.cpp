#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/lines/lines.h"
#include "kernels/vector_math/isa.h"

namespace tenon::cpu {
namespace lines::TENON_ISA {
#include "kernels/lines/lines_body.h"
}  // namespace lines::TENON_ISA

const LineFunctions& TENON_OF_ISA(line_functions)() {
  static constexpr LineFunctions kFunctions{lines::TENON_ISA::largest,
                                            lines::TENON_ISA::first_above};
  return kFunctions;
}

}  // namespace tenon::cpu
