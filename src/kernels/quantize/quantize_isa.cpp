#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/quantize/quantize.h"
#include "kernels/vector_math/isa_bytes.h"

namespace tenon::cpu {
namespace quantize_detail::TENON_ISA {
using Bytes = vector_math::IsaBytes;
#include "kernels/quantize/quantize_body.h"
}  // namespace quantize_detail::TENON_ISA

const QuantizeFunctions& TENON_OF_ISA(quantize_functions)() {
  static constexpr QuantizeFunctions kFunctions{quantize_detail::TENON_ISA::quantize,
                                                quantize_detail::TENON_ISA::dequantize,
                                                quantize_detail::TENON_ISA::range};
  return kFunctions;
}

}  // namespace tenon::cpu
