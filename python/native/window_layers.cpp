// Layers with windows or weights: convolutions, pooling, scale, normalizations, constants, resize.
#include "graph.h"

namespace tenon::python {
namespace {

/// Shared by convolutions and deconvolutions.
template <typename Class> void bind_convolution(nb::module_& m, const char* name) {
  Documented<Class, ILayer> bound(m, name);
  bound
      // clang-format off
      TENON_RW("num_output_maps", getNbOutputMaps, setNbOutputMaps)
      TENON_RW("pre_padding", getPrePadding, setPrePadding)
      TENON_RW("post_padding", getPostPadding, setPostPadding)
      TENON_RW("padding_mode", getPaddingMode, setPaddingMode)
      TENON_RW("num_groups", getNbGroups, setNbGroups)
      TENON_RW("kernel_size_nd", getKernelSizeNd, setKernelSizeNd)
      TENON_RW("stride_nd", getStrideNd, setStrideNd)
      TENON_RW("padding_nd", getPaddingNd, setPaddingNd)
      TENON_RW("dilation_nd", getDilationNd, setDilationNd);
  // clang-format on
  weights_property<&Class::getKernelWeights, &Class::setKernelWeights>(bound, "kernel");
  weights_property<&Class::getBiasWeights, &Class::setBiasWeights>(bound, "bias");
}

void bind_pooling(nb::module_& m) {
  TENON_LAYER(IPoolingLayer, ILayer)
  // clang-format off
      TENON_RW("type", getPoolingType, setPoolingType)
      TENON_RW("pre_padding", getPrePadding, setPrePadding)
      TENON_RW("post_padding", getPostPadding, setPostPadding)
      TENON_RW("padding_mode", getPaddingMode, setPaddingMode)
      TENON_RW("blend_factor", getBlendFactor, setBlendFactor)
      TENON_RW("average_count_excludes_padding", getAverageCountExcludesPadding, setAverageCountExcludesPadding)
      TENON_RW("window_size_nd", getWindowSizeNd, setWindowSizeNd)
      TENON_RW("stride_nd", getStrideNd, setStrideNd)
      TENON_RW("padding_nd", getPaddingNd, setPaddingNd);
  // clang-format on
}

void bind_normalizations(nb::module_& m) {
  {
    TENON_LAYER(ILRNLayer, ILayer)
    // clang-format off
        TENON_RW("window_size", getWindowSize, setWindowSize)
        TENON_RW("alpha", getAlpha, setAlpha)
        TENON_RW("beta", getBeta, setBeta)
        TENON_RW("k", getK, setK);
    // clang-format on
  }
  {
    using Class = IScaleLayer;
    Documented<Class, ILayer> bound(m, "IScaleLayer");
    bound
        // clang-format off
        TENON_RW("mode", getMode, setMode)
        TENON_RW("channel_axis", getChannelAxis, setChannelAxis);
    // clang-format on
    weights_property<&Class::getShift, &Class::setShift>(bound, "shift");
    weights_property<&Class::getScale, &Class::setScale>(bound, "scale");
    weights_property<&Class::getPower, &Class::setPower>(bound, "power");
  }
  TENON_LAYER(INormalizationLayer, ILayer)
  // clang-format off
      TENON_RW("epsilon", getEpsilon, setEpsilon)
      TENON_RW("axes", getAxes, setAxes)
      TENON_RW("num_groups", getNbGroups, setNbGroups)
      TENON_RW("compute_precision", getComputePrecision, setComputePrecision)
      TENON_RO("is_v2", isV2);
  // clang-format on
}

std::vector<float> scales_of(const IResizeLayer& layer) {
  const int32_t count = layer.getScales(0, nullptr);
  std::vector<float> scales(count > 0 ? count : 0);
  if (!scales.empty()) layer.getScales(count, scales.data());
  return scales;
}

void bind_resize(nb::module_& m) {
  TENON_LAYER(IResizeLayer, ILayer)
  // clang-format off
      TENON_RW("shape", getOutputDimensions, setOutputDimensions)
      TENON_RW("resize_mode", getResizeMode, setResizeMode)
      TENON_RW("coordinate_transformation", getCoordinateTransformation, setCoordinateTransformation)
      TENON_RW("selector_for_single_pixel", getSelectorForSinglePixel, setSelectorForSinglePixel)
      TENON_RW("nearest_rounding", getNearestRounding, setNearestRounding)
      TENON_RW("exclude_outside", getExcludeOutside, setExcludeOutside)
      TENON_RW("cubic_coeff", getCubicCoeff, setCubicCoeff)
      // clang-format on
      .def_prop_rw("scales", &scales_of,
                   [](Class& layer, std::vector<float> scales) {
                     layer.setScales(scales.data(), static_cast<int32_t>(scales.size()));
                   })
      .def("set_input", &Class::setInput, "index"_a, "tensor"_a);
}

}  // namespace

void bind_window_layers(nb::module_& m) {
  bind_convolution<IConvolutionLayer>(m, "IConvolutionLayer");
  bind_convolution<IDeconvolutionLayer>(m, "IDeconvolutionLayer");
  bind_pooling(m);
  bind_normalizations(m);
  bind_resize(m);
  using Class = IConstantLayer;
  Documented<Class, ILayer> bound(m, "IConstantLayer");
  bound.def_prop_rw("shape", &Class::getDimensions, &Class::setDimensions);
  bound.def_prop_rw(
      "weights",
      [](nb::pointer_and_handle<Class> self) -> nb::object {
        const Weights weights = self.p->getWeights();
        return weights_to_python(weights, self.h);
      },
      [](Class& self, WeightsArg weights) {
        self.setWeights(weights.weights);
        keep_array(&self, weights);
      },
      nb::for_setter(nb::arg("value").none()));
}

}  // namespace tenon::python
