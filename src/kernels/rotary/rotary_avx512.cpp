#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/rotary/rotary.h"

namespace tenon::cpu {
namespace rotary_detail_avx512 {
#include "kernels/rotary/rotary_body.h"
}  // namespace rotary_detail_avx512

RotaryFunction rotary_avx512() {
  return rotary_detail_avx512::rotate;
}

}  // namespace tenon::cpu
