#include "kernels/conv/winograd_body.h"
#include "kernels/vector_math/isa_vector.h"

namespace tenon::cpu {

const WinogradFunctions TENON_CONSTANT_OF_ISA(kWinograd) =
    WinogradTable<vector_math::IsaVector>::kFunctions;

}  // namespace tenon::cpu
