#include "kernels/quantized/byte_finish_body.h"
#include "kernels/vector_math/vector_avx512.h"

namespace tenon::cpu {
namespace {

struct Bytes {
  using Vector = vector_math::F32x16;
  [[gnu::always_inline]] static Vector from_i32(const int32_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_loadu_si512(p))};
  }
  [[gnu::always_inline]] static __m128i load(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  [[gnu::always_inline]] static Vector from_i8(const int8_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load(p)))};
  }
  [[gnu::always_inline]] static Vector from_u8(const uint8_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(load(p)))};
  }
  [[gnu::always_inline]] static void store(uint8_t* p, Vector x, int32_t zero) {
    const __m512i whole = _mm512_add_epi32(_mm512_cvtps_epi32(x.v), _mm512_set1_epi32(zero));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(whole));
  }
};

}  // namespace

void byte_finish_avx512(const ByteFinish& finish) {
  RowFinish<Bytes>{finish}.run();
}

}  // namespace tenon::cpu
