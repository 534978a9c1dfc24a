#include "kernels/conv/expanded.h"
#include "kernels/conv/pair_kernel.h"

namespace tenon::tactics::conv_expanded {
namespace {

using cpu::ExpandedDepthwise;

class ExpandedKernel final : public cpu::PairKernel<ExpandedDepthwise> {
 public:
  using PairKernel::PairKernel;
  size_t fetch_capacity() const override { return both().fetch_capacity(); }
};

}  // namespace

TENON_DESCRIBED_TACTIC((cpu::describe_pair_for<ExpandedDepthwise, false>),
                       (cpu::make_pair_kernel<ExpandedKernel, ExpandedDepthwise>))

}  // namespace tenon::tactics::conv_expanded
