#pragma once

#include "kernels/gemm/microkernel.h"

namespace tenon::cpu {

extern const Microkernels kMicrokernelsGenericF32;
extern const Microkernels kMicrokernelsAvx2F32;
extern const Microkernels kMicrokernelsAvx512F32;
extern const Microkernels kMicrokernelsAvx512Bf16;
extern const Microkernels kMicrokernelsAmxF32;
extern const Microkernels kMicrokernelsAmxBf16;

}  // namespace tenon::cpu
