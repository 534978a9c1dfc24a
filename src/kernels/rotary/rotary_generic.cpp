#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/rotary/rotary.h"

namespace tenon::cpu {
namespace rotary_detail_generic {
#include "kernels/rotary/rotary_body.h"
}  // namespace rotary_detail_generic

RotaryFunction rotary_generic() {
  return rotary_detail_generic::rotate;
}

}  // namespace tenon::cpu
