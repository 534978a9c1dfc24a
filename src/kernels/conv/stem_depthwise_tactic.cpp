#include "kernels/conv/pair_kernel.h"
#include "kernels/conv/stem_depthwise.h"

namespace tenon::tactics::conv_stem_depthwise {

using cpu::StemDepthwise;

Support supports(const Problem& problem) {
  return Support::of(cpu::describe_pair_for<StemDepthwise>(problem, true));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::make_pair_kernel<cpu::PairKernel<StemDepthwise>, StemDepthwise>(problem, true);
}

}  // namespace tenon::tactics::conv_stem_depthwise
