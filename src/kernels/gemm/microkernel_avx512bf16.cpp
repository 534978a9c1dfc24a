#include <utility>

#include "kernels/gemm/microkernel_body.h"
#include "kernels/gemm/microkernel_tables.h"
#include "kernels/vector_math/vector_avx512.h"

namespace tenon::cpu {
namespace {

/// Products of pairs of bf16, summed in float.
struct Bf16Product {
  using Element = uint16_t;
  using Vector = vector_math::F32x16;
  static constexpr int kUnit = 2;
  using Register = __m512i;
  [[gnu::always_inline]] static __m512i broadcast(const uint16_t* a) {
    int pair;
    __builtin_memcpy(&pair, a, sizeof(pair));
    return _mm512_set1_epi32(pair);
  }
  [[gnu::always_inline]] static __m512i load(const uint16_t* b) { return _mm512_loadu_si512(b); }
  [[gnu::always_inline]] static Vector multiply_add(__m512i a, __m512i b, Vector c) {
    return {_mm512_dpbf16_ps(c.v, (__m512bh)a, (__m512bh)b)};
  }
};

}  // namespace

const Microkernels kMicrokernelsAvx512Bf16 = {
    Isa::avx512_bf16, ElementType::bf16, 2, 32, 14, 6, TileTable<Bf16Product, 14, 6, 2>::run};

}  // namespace tenon::cpu
