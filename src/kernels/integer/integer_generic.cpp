#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/integer/integer.h"

namespace tenon::cpu {
namespace integer_detail_generic {
#include "kernels/integer/integer_body.h"
}  // namespace integer_detail_generic

IntegerFunction integer_product_generic() {
  return integer_detail_generic::product;
}

}  // namespace tenon::cpu
