#include "kernels/sampling/roi_align.h"

namespace tenon::cpu {
namespace roi_avx2 {
#include "kernels/sampling/roi_bin_body.h"
}  // namespace roi_avx2

void roi_bin_avx2(const RoiBin& bin, const float* image, int64_t channels, float* out) {
  roi_avx2::sum_bin(bin, image, channels, out);
}

}  // namespace tenon::cpu
