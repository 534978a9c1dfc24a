#include <utility>

#include "kernels/gemm/microkernel_body.h"
#include "kernels/gemm/microkernel_tables.h"
#include "kernels/gemm/strassen_body.h"
#include "kernels/vector_math/vector_avx2.h"

namespace tenon::cpu {

const Microkernels kMicrokernelsAvx2F32 = {
    Isa::avx2,
    ElementType::f32,
    1,
    16,
    6,
    2,
    TileTable<FloatProduct<vector_math::F32x8>, 6, 2, 2>::run_any,
    &StrassenBody<vector_math::F32x8>::kLoops};

}  // namespace tenon::cpu
