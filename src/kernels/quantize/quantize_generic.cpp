#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/quantize/quantize.h"
#include "kernels/vector_math/bytes_generic.h"

namespace tenon::cpu {
namespace quantize_detail_generic {
using Bytes = vector_math::BytesOfF32x1;
#include "kernels/quantize/quantize_body.h"
}  // namespace quantize_detail_generic

const QuantizeFunctions& quantize_functions_generic() {
  static constexpr QuantizeFunctions kFunctions{quantize_detail_generic::quantize,
                                                quantize_detail_generic::dequantize};
  return kFunctions;
}

}  // namespace tenon::cpu
