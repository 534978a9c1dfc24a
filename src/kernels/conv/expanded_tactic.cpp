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

Support supports(const Problem& problem) {
  return Support::of(cpu::describe_pair_for<ExpandedDepthwise>(problem, false));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::make_pair_kernel<ExpandedKernel, ExpandedDepthwise>(problem, false);
}

}  // namespace tenon::tactics::conv_expanded
