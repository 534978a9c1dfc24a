#include "kernels/conv/winograd_body.h"
#include "kernels/vector_math/vector_avx2.h"

namespace tenon::cpu {

const WinogradFunctions kWinogradAvx2 = WinogradTable<vector_math::F32x8>::kFunctions;

}  // namespace tenon::cpu
