#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/integer/integer.h"

namespace tenon::cpu {
namespace integer_detail_avx512 {
#include "kernels/integer/integer_body.h"
}  // namespace integer_detail_avx512

IntegerFunction integer_product_avx512() {
  return integer_detail_avx512::product;
}

}  // namespace tenon::cpu
