#include "kernels/conv/winograd_body.h"
#include "kernels/vector_math/vector_avx512.h"

namespace tenon::cpu {

const WinogradFunctions kWinogradAvx512 = WinogradTable<vector_math::F32x16>::kFunctions;

}  // namespace tenon::cpu
