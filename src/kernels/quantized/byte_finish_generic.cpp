#include "kernels/quantized/byte_finish_body.h"
#include "kernels/vector_math/bytes_generic.h"

namespace tenon::cpu {
void byte_finish_generic(const ByteFinish& finish) {
  RowFinish<vector_math::BytesOfF32x1>{finish}.run();
}

ByteFinishFunction byte_finish(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return byte_finish_avx512;
  if (isa >= Isa::avx2) return byte_finish_avx2;
#endif
  (void)isa;
  return byte_finish_generic;
}

}  // namespace tenon::cpu
