#include <utility>

#include "kernels/gemm/microkernel_body.h"
#include "kernels/gemm/microkernel_tables.h"
#include "kernels/gemm/strassen_body.h"
#include "kernels/vector_math/vector_generic.h"

namespace tenon::cpu {

const Microkernels kMicrokernelsGenericF32 = {
    Isa::generic,
    ElementType::f32,
    1,
    4,
    4,
    1,
    TileTable<FloatProduct<vector_math::F32x1>, 4, 1, 4>::run_any,
    &StrassenBody<vector_math::F32x1>::kLoops};

const Microkernels& microkernels(ElementType type, Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512_bf16 && type == ElementType::bf16) return kMicrokernelsAvx512Bf16;
  if (isa >= Isa::avx512) return kMicrokernelsAvx512F32;
  if (isa == Isa::avx2) return kMicrokernelsAvx2F32;
#endif
  (void)type, (void)isa;
  return kMicrokernelsGenericF32;
}

const Microkernels* tile_microkernels(ElementType type, Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512_bf16 && has_tiles())
    return type == ElementType::bf16 ? &kMicrokernelsAmxBf16 : &kMicrokernelsAmxF32;
#endif
  (void)type, (void)isa;
  return nullptr;
}

}  // namespace tenon::cpu
