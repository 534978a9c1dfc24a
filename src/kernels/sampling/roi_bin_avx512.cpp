#include "kernels/sampling/roi_align.h"

namespace tenon::cpu {
namespace roi_avx512 {
#include "kernels/sampling/roi_bin_body.h"
}  // namespace roi_avx512

void roi_bin_avx512(const RoiBin& bin, const float* image, int64_t channels, float* out) {
  roi_avx512::sum_bin(bin, image, channels, out);
}

}  // namespace tenon::cpu
