#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/quantize/quantize.h"
#include "kernels/vector_math/bytes_avx512.h"

namespace tenon::cpu {
namespace quantize_detail_avx512 {
using Bytes = vector_math::BytesOfF32x16;
#include "kernels/quantize/quantize_body.h"
}  // namespace quantize_detail_avx512

const QuantizeFunctions& quantize_functions_avx512() {
  static constexpr QuantizeFunctions kFunctions{quantize_detail_avx512::quantize,
                                                quantize_detail_avx512::dequantize};
  return kFunctions;
}

}  // namespace tenon::cpu
