#pragma once

#include "kernels/vector_math/isa.h"

#if TENON_ISA_INDEX == 2
#include "kernels/vector_math/vector_avx512.h"
#elif TENON_ISA_INDEX == 1
#include "kernels/vector_math/vector_avx2.h"
#else
#include "kernels/vector_math/vector_generic.h"
#endif

namespace tenon::vector_math {

/// The vector of floats of the instruction set that the source is compiled for.
#if TENON_ISA_INDEX == 2
using IsaVector = F32x16;
#elif TENON_ISA_INDEX == 1
using IsaVector = F32x8;
#else
using IsaVector = F32x1;
#endif

}  // namespace tenon::vector_math
