#include "kernels/conv/depthwise.h"
#include "kernels/conv/depthwise_phases.h"
#include "kernels/conv/describe.h"
#include "kernels/conv/direct.h"
#include "kernels/conv/grouped.h"
#include "kernels/conv/mixed_winograd.h"
#include "kernels/conv/narrow.h"
#include "kernels/conv/stem.h"
#include "kernels/conv/winograd.h"

namespace tenon::tactics {
namespace {

/// Whether a convolution that fits `fits` can be made of the problem.
template <class Fits>
Support supports_where(const Problem& problem, Fits fits, const char* otherwise,
                       bool weights_may_change = false) {
  const auto description = cpu::describe_convolution(problem);
  if (!description.ok()) return Support::of(description);
  if (description->conv.weights_change && !weights_may_change)
    return Support::no("the weights are not constant");
  return fits(description->conv) ? Support{} : Support::no(otherwise);
}

Support supports_winograd(const Problem& problem) {
  // A plan whose weights are transformed already runs under smaller shapes of its profile, too.
  const bool transformed = !problem.packed.empty();
  const auto fits = [transformed](const cpu::ConvProblem& p) {
    return cpu::WinogradConvolution<4>::fits(p) &&
           (transformed || p.weights_change || !cpu::MixedWinograd::pays_in_networks(p));
  };
  return supports_where(
      problem, fits,
      "not a 3x3 convolution with stride 1, groups of 8 channels or more and a "
      "dilation of at most half the image, or one of few tiles that plain weights are better for",
      true);
}

}  // namespace

namespace conv_direct {

Support supports(const Problem& problem) {
  return Support::of(cpu::describe_convolution(problem));
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::DirectConvolution>::create(problem);
}

}  // namespace conv_direct

namespace conv_tiles {

Support supports(const Problem& problem) {
  // A plan whose weights are packed already runs under smaller shapes of its profile too.
  const bool is_packed = !problem.packed.empty();
  const bool is_exact = !problem.numerics.bf16_parts;
  const auto fits = [&](const cpu::ConvProblem& p) {
    // An infinity would become no number.
    if (is_exact && p.compute == cpu::ElementType::f32) return false;
    const int64_t channels = p.input_channels / p.groups, columns = p.output_channels / p.groups;
    return cpu::DirectConvolution::fits_tiles(p) &&
           (is_packed || cpu::pays_by_tiles(p.compute, p.batch * cpu::volume(p.output), columns,
                                            channels * cpu::volume(p.kernel)));
  };
  return supports_where(problem, fits,
                        "few pixels or channels, exact numerics, or a machine without tiles (AMX)");
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::DirectConvolution>::create(problem, true);
}

}  // namespace conv_tiles

namespace conv_depthwise {

Support supports(const Problem& problem) {
  return supports_where(problem, cpu::DepthwiseConvolution::fits,
                        "not a depthwise convolution over a channels-last image");
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::DepthwiseConvolution>::create(problem);
}

}  // namespace conv_depthwise

namespace conv_depthwise_phases {

Support supports(const Problem& problem) {
  return supports_where(problem, cpu::DepthwiseDeconvolution::fits,
                        "not a transposed depthwise convolution over a channels-last image to f32");
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::DepthwiseDeconvolution>::create(problem);
}

}  // namespace conv_depthwise_phases

namespace conv_grouped {

Support supports(const Problem& problem) {
  const auto fits = [](const cpu::ConvProblem& p) {
    return p.groups > 1 && cpu::GroupedConvolution::fits(p);
  };
  return supports_where(problem, fits,
                        "not a convolution of a channels-last image with groups of up to 256 "
                        "channels, or a window that is dilated far");
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::GroupedConvolution>::create(problem);
}

}  // namespace conv_grouped

namespace conv_windows {

Support supports(const Problem& problem) {
  return supports_where(problem, cpu::GroupedConvolution::pays_alone,
                        "not a convolution of a channels-last f32 image with one group and "
                        "at most 1 MiB of weights, or one whose windows are the image itself");
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::GroupedConvolution>::create(problem);
}

}  // namespace conv_windows

namespace conv_narrow {

Support supports(const Problem& problem) {
  return supports_where(problem, cpu::NarrowConvolution::fits,
                        "not a convolution of a dense channels-last f32 image to few channels");
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::NarrowConvolution>::create(problem);
}

}  // namespace conv_narrow

namespace conv_stem {

Support supports(const Problem& problem) {
  return supports_where(problem, cpu::StemConvolution::fits,
                        "not a convolution of few channels whose pixels lie side by side");
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::StemConvolution>::create(problem);
}

}  // namespace conv_stem

namespace conv_mixed_winograd {

Support supports(const Problem& problem) {
  const auto fits = [](const cpu::ConvProblem& p) {
    return cpu::MixedWinograd::fits(p) && cpu::MixedWinograd::pays(p);
  };
  return supports_where(problem, fits,
                        "not a 3x3 convolution with stride 2 or many channels, dilation 1 and one "
                        "group, or no AVX-512");
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::MixedWinograd>::create(problem);
}

}  // namespace conv_mixed_winograd

namespace conv_winograd4 {

Support supports(const Problem& problem) {
  return supports_winograd(problem);
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::WinogradConvolution<4>>::create(problem);
}

}  // namespace conv_winograd4

namespace conv_winograd2 {

Support supports(const Problem& problem) {
  return supports_winograd(problem);
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return cpu::ConvKernel<cpu::WinogradConvolution<2>>::create(problem);
}

}  // namespace conv_winograd2

}  // namespace tenon::tactics
