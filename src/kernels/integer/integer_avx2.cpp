#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/integer/integer.h"

namespace tenon::cpu {
namespace integer_detail_avx2 {
#include "kernels/integer/integer_body.h"
}  // namespace integer_detail_avx2

IntegerFunction integer_product_avx2() {
  return integer_detail_avx2::product;
}

}  // namespace tenon::cpu
