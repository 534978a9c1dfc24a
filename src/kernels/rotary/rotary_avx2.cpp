#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/rotary/rotary.h"

namespace tenon::cpu {
namespace rotary_detail_avx2 {
#include "kernels/rotary/rotary_body.h"
}  // namespace rotary_detail_avx2

RotaryFunction rotary_avx2() {
  return rotary_detail_avx2::rotate;
}

}  // namespace tenon::cpu
