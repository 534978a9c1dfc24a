#include "kernels/quantized/byte_finish_body.h"
#include "kernels/vector_math/bytes_generic.h"

namespace tenon::cpu {
void byte_finish_generic(const ByteFinish& finish) {
  RowFinish<vector_math::BytesOfF32x1>{finish}.run();
}

ByteFinishFunction byte_finish(Isa isa) {
  return TENON_BY_ISA(isa, byte_finish_generic, byte_finish_avx2, byte_finish_avx512);
}

}  // namespace tenon::cpu
