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

using Description = Result<cpu::ConvDescription>;

/// A convolution that fits `fits`.
template <class Fits>
Description describe_where(const Problem& problem, Fits fits, const char* otherwise,
                           bool weights_may_change = false) {
  TENON_ASSIGN(cpu::ConvDescription description, cpu::describe_convolution(problem));
  if (description.conv.weights_change && !weights_may_change)
    return unsupported("the weights are not constant");
  if (!fits(description.conv)) return unsupported("{}", otherwise);
  return description;
}

Description describe_winograd(const Problem& problem) {
  // A plan whose weights are transformed already runs under smaller shapes of its profile, too.
  const bool transformed = !problem.packed.empty();
  const auto fits = [transformed](const cpu::ConvProblem& p) {
    return cpu::WinogradConvolution<4>::fits(p) &&
           (transformed || p.weights_change || !cpu::MixedWinograd::pays_in_networks(p));
  };
  return describe_where(
      problem, fits,
      "not a 3x3 convolution with stride 1, groups of 8 channels or more and a "
      "dilation of at most half the image, or one of few tiles that plain weights are better for",
      true);
}

bool is_grouped(const cpu::ConvProblem& p) {
  return p.groups > 1 && cpu::GroupedConvolution::fits(p);
}

bool pays_mixed(const cpu::ConvProblem& p) {
  return cpu::MixedWinograd::fits(p) && cpu::MixedWinograd::pays(p);
}

Description describe_tiles(const Problem& problem) {
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
  Description description = describe_where(
      problem, fits, "few pixels or channels, exact numerics, or a machine without tiles (AMX)");
  if (description.ok()) description->conv.tiles = true;
  return description;
}

}  // namespace

/// The functions of a tactic: its implementation, and the description of `problem` for it.
#define TENON_CONVOLUTION_TACTIC(space, Implementation, described)                        \
  namespace space {                                                                       \
  Support supports(const Problem& problem) {                                              \
    return Support::of(described);                                                        \
  }                                                                                       \
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {      \
    TENON_ASSIGN(cpu::ConvDescription description, described);                            \
    return cpu::ConvKernel<cpu::Implementation>::create(problem, std::move(description)); \
  }                                                                                       \
  }

TENON_CONVOLUTION_TACTIC(conv_direct, DirectConvolution, cpu::describe_convolution(problem))
TENON_CONVOLUTION_TACTIC(conv_depthwise, DepthwiseConvolution,
                         describe_where(problem, cpu::DepthwiseConvolution::fits,
                                        "not a depthwise convolution over a channels-last image"))
TENON_CONVOLUTION_TACTIC(
    conv_depthwise_phases, DepthwiseDeconvolution,
    describe_where(problem, cpu::DepthwiseDeconvolution::fits,
                   "not a transposed depthwise convolution over a channels-last image to f32"))
TENON_CONVOLUTION_TACTIC(
    conv_grouped, GroupedConvolution,
    describe_where(problem, is_grouped,
                   "not a convolution of a channels-last image with groups of up to 256 "
                   "channels, or a window that is dilated far"))
TENON_CONVOLUTION_TACTIC(
    conv_windows, GroupedConvolution,
    describe_where(problem, cpu::GroupedConvolution::pays_alone,
                   "not a convolution of a channels-last f32 image with one group and "
                   "at most 1 MiB of weights, or one whose windows are the image itself"))
TENON_CONVOLUTION_TACTIC(
    conv_narrow, NarrowConvolution,
    describe_where(problem, cpu::NarrowConvolution::fits,
                   "not a convolution of a dense channels-last f32 image to few channels"))
TENON_CONVOLUTION_TACTIC(
    conv_stem, StemConvolution,
    describe_where(problem, cpu::StemConvolution::fits,
                   "not a convolution of few channels whose pixels lie side by side"))
TENON_CONVOLUTION_TACTIC(
    conv_mixed_winograd, MixedWinograd,
    describe_where(problem, pays_mixed,
                   "not a 3x3 convolution with stride 2 or many channels, dilation 1 and one "
                   "group, or no AVX-512"))
TENON_CONVOLUTION_TACTIC(conv_winograd4, WinogradConvolution<4>, describe_winograd(problem))
TENON_CONVOLUTION_TACTIC(conv_winograd2, WinogradConvolution<2>, describe_winograd(problem))

TENON_CONVOLUTION_TACTIC(conv_tiles, DirectConvolution, describe_tiles(problem))

}  // namespace tenon::tactics
