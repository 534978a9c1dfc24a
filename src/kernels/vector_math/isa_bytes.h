#pragma once

#include "kernels/vector_math/isa.h"

#if TENON_ISA_INDEX == 2
#include "kernels/vector_math/bytes_avx512.h"
#elif TENON_ISA_INDEX == 1
#include "kernels/vector_math/bytes_avx2.h"
#else
#include "kernels/vector_math/bytes_generic.h"
#endif

namespace tenon::vector_math {

/// Vectors of bytes of the instruction set that the source is compiled for.
#if TENON_ISA_INDEX == 2
using IsaBytes = BytesOfF32x16;
#elif TENON_ISA_INDEX == 1
using IsaBytes = BytesOfF32x8;
#else
using IsaBytes = BytesOfF32x1;
#endif

}  // namespace tenon::vector_math
