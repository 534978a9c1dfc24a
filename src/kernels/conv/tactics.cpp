#include "kernels/conv/depthwise.h"
#include "kernels/conv/describe.h"
#include "kernels/conv/direct.h"

namespace tenon::tactics {

namespace conv_direct {

Support supports(const Problem& problem) {
  const auto description = cpu::describe_convolution(problem);
  return description.ok() ? Support{} : Support::no(description.error().message);
}

std::vector<std::string> configs(const Problem& problem) {
  return single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::DirectConvolution>::create(problem);
}

}  // namespace conv_direct

namespace conv_depthwise {

Support supports(const Problem& problem) {
  const auto description = cpu::describe_convolution(problem);
  if (!description.ok()) return Support::no(description.error().message);
  if (!cpu::DepthwiseConvolution::fits(description->conv))
    return Support::no("not a depthwise convolution over a channels-last image");
  return {};
}

std::vector<std::string> configs(const Problem& problem) {
  return single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::DepthwiseConvolution>::create(problem);
}

}  // namespace conv_depthwise

}  // namespace tenon::tactics
