#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/integer/integer.h"
#include "kernels/vector_math/isa.h"

namespace tenon::cpu {
namespace integer_detail::TENON_ISA {
#include "kernels/integer/integer_body.h"
}  // namespace integer_detail::TENON_ISA

IntegerFunction TENON_OF_ISA(integer_function)() {
  return integer_detail::TENON_ISA::product;
}

}  // namespace tenon::cpu
