#include "kernels/quantized/byte_finish_body.h"
#include "kernels/vector_math/isa_bytes.h"

namespace tenon::cpu {

void TENON_OF_ISA(byte_finish)(const ByteFinish& finish) {
  RowFinish<vector_math::IsaBytes>{finish}.run();
}

}  // namespace tenon::cpu
