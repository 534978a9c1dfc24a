#include "kernels/conv/pair_kernel.h"
#include "kernels/conv/stem_depthwise.h"

namespace tenon::tactics::conv_stem_depthwise {

using cpu::StemDepthwise;

TENON_DESCRIBED_TACTIC((cpu::describe_pair_for<StemDepthwise, true>),
                       (cpu::make_pair_kernel<cpu::PairKernel<StemDepthwise>, StemDepthwise>))

}  // namespace tenon::tactics::conv_stem_depthwise
