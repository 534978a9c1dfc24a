#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/quantize/quantize.h"
#include "kernels/vector_math/bytes_avx2.h"

namespace tenon::cpu {
namespace quantize_detail_avx2 {
using Bytes = vector_math::BytesOfF32x8;
#include "kernels/quantize/quantize_body.h"
}  // namespace quantize_detail_avx2

const QuantizeFunctions& quantize_functions_avx2() {
  static constexpr QuantizeFunctions kFunctions{quantize_detail_avx2::quantize,
                                                quantize_detail_avx2::dequantize};
  return kFunctions;
}

}  // namespace tenon::cpu
