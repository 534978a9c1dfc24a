#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/quantize/quantize.h"

namespace tenon::cpu {
namespace quantize_detail_avx2 {
#include "kernels/quantize/quantize_body.h"
}  // namespace quantize_detail_avx2

const QuantizeFunctions& quantize_functions_avx2() {
  static constexpr QuantizeFunctions kFunctions{quantize_detail_avx2::quantize,
                                                quantize_detail_avx2::dequantize};
  return kFunctions;
}

}  // namespace tenon::cpu
