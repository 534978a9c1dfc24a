#include "kernels/sampling/roi_align.h"

namespace tenon::cpu {
namespace roi_generic {
#include "kernels/sampling/roi_bin_body.h"
}  // namespace roi_generic

void roi_bin_generic(const RoiBin& bin, const float* image, int64_t channels, float* out) {
  roi_generic::sum_bin(bin, image, channels, out);
}

}  // namespace tenon::cpu
