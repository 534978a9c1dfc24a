#include "kernels/quantized/byte_finish.h"

namespace tenon::cpu {

ByteFinishFunction byte_finish(Isa isa) {
  return TENON_BY_ISA(isa, byte_finish_generic, byte_finish_avx2, byte_finish_avx512);
}

}  // namespace tenon::cpu
