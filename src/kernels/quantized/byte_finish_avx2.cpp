#include "kernels/quantized/byte_finish_body.h"
#include "kernels/vector_math/bytes_avx2.h"

namespace tenon::cpu {

void byte_finish_avx2(const ByteFinish& finish) {
  RowFinish<vector_math::BytesOfF32x8>{finish}.run();
}

}  // namespace tenon::cpu
