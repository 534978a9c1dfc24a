#include "kernels/sampling/roi_align.h"
#include "kernels/vector_math/isa.h"

namespace tenon::cpu {
namespace roi::TENON_ISA {
#include "kernels/sampling/roi_bin_body.h"
}  // namespace roi::TENON_ISA

void TENON_OF_ISA(roi_bin)(const RoiBin& bin, const float* image, int64_t channels, float* out) {
  roi::TENON_ISA::sum_bin(bin, image, channels, out);
}

}  // namespace tenon::cpu
