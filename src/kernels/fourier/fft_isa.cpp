#include "kernels/vector_math/isa_vector.h"
// The functions over the vector type come after it.
#include "kernels/fourier/fft_body.h"

namespace tenon::cpu {

const FourierFunctions& TENON_OF_ISA(fourier_functions)() {
  static constexpr FourierFunctions kFunctions{Lanes<vector_math::IsaVector>::transform,
                                               vector_math::IsaVector::kWidth};
  return kFunctions;
}

}  // namespace tenon::cpu
