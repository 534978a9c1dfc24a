#include "kernels/quantized/byte_finish_body.h"
#include "kernels/vector_math/bytes_avx512.h"

namespace tenon::cpu {

void byte_finish_avx512(const ByteFinish& finish) {
  RowFinish<vector_math::BytesOfF32x16>{finish}.run();
}

}  // namespace tenon::cpu
