#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/rotary/rotary.h"
#include "kernels/vector_math/isa.h"

namespace tenon::cpu {
namespace rotary_detail::TENON_ISA {
#include "kernels/rotary/rotary_body.h"
}  // namespace rotary_detail::TENON_ISA

RotaryFunction TENON_OF_ISA(rotary_function)() {
  return rotary_detail::TENON_ISA::rotate;
}

}  // namespace tenon::cpu
