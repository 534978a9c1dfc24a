#include "kernels/conv/winograd_body.h"
#include "kernels/vector_math/vector_generic.h"

namespace tenon::cpu {

const WinogradFunctions kWinogradGeneric = WinogradTable<vector_math::F32x1>::kFunctions;

}  // namespace tenon::cpu
