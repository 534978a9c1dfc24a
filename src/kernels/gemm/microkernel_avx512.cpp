#include <utility>

#include "kernels/gemm/microkernel_body.h"
#include "kernels/gemm/microkernel_tables.h"
#include "kernels/gemm/strassen_body.h"
#include "kernels/vector_math/vector_avx2.h"
#include "kernels/vector_math/vector_avx512.h"

namespace tenon::cpu {

const Microkernels kMicrokernelsAvx512F32 = {Isa::avx512,
                                             ElementType::f32,
                                             1,
                                             32,
                                             14,
                                             6,
                                             TileTable<FloatProduct<vector_math::F32x16>, 14, 6, 2,
                                                       FloatProduct<vector_math::F32x8>>::run_any,
                                             &StrassenBody<vector_math::F32x16>::kLoops};

}  // namespace tenon::cpu
