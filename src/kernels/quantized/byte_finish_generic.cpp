#include "kernels/quantized/byte_finish_body.h"
#include "kernels/vector_math/vector_generic.h"

namespace tenon::cpu {
namespace {

struct Bytes {
  using Vector = vector_math::F32x1;
  static Vector from_i32(const int32_t* p) { return {static_cast<float>(*p)}; }
  static Vector from_i8(const int8_t* p) { return {static_cast<float>(*p)}; }
  static Vector from_u8(const uint8_t* p) { return {static_cast<float>(*p)}; }
  static void store(uint8_t* p, Vector x, int32_t zero) {
    *p = static_cast<uint8_t>(static_cast<int32_t>(x.v) + zero);
  }
};

}  // namespace

void byte_finish_generic(const ByteFinish& finish) {
  RowFinish<Bytes>{finish}.run();
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
