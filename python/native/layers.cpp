// Layers with a few settings each.
#include "graph.h"

namespace tenon::python {
namespace {

/// The input that some layers take beyond those given when they were added.
#define TENON_SET_INPUT .def("set_input", &Class::setInput, "index"_a, "tensor"_a)

// clang-format off
void bind_pointwise_layers(nb::module_& m) {
  { TENON_LAYER(IActivationLayer, ILayer)
        TENON_RW("type", getActivationType, setActivationType)
        TENON_RW("alpha", getAlpha, setAlpha)
        TENON_RW("beta", getBeta, setBeta); }
  { TENON_LAYER(IElementWiseLayer, ILayer) TENON_RW("op", getOperation, setOperation); }
  { TENON_LAYER(IUnaryLayer, ILayer) TENON_RW("op", getOperation, setOperation); }
  { TENON_LAYER(ISelectLayer, ILayer); }
  { TENON_LAYER(IIdentityLayer, ILayer); }
  { TENON_LAYER(IParametricReLULayer, ILayer); }
  { TENON_LAYER(ICastLayer, ILayer) TENON_RW("to_type", getToType, setToType); }
  { TENON_LAYER(IQuantizeLayer, ILayer)
        TENON_RW("axis", getAxis, setAxis)
        TENON_RW("block_shape", getBlockShape, setBlockShape)
        TENON_RW("to_type", getToType, setToType); }
  { TENON_LAYER(IDequantizeLayer, ILayer)
        TENON_RW("axis", getAxis, setAxis)
        TENON_RW("block_shape", getBlockShape, setBlockShape)
        TENON_RW("to_type", getToType, setToType); }
  { TENON_LAYER(IDynamicQuantizeLayer, ILayer)
        TENON_RW("axis", getAxis, setAxis)
        TENON_RW("block_size", getBlockSize, setBlockSize)
        TENON_RW("block_shape", getBlockShape, setBlockShape)
        TENON_RW("to_type", getToType, setToType)
        TENON_RW("scale_type", getScaleType, setScaleType); }
}

void bind_axis_layers(nb::module_& m) {
  { TENON_LAYER(ISoftMaxLayer, ILayer) TENON_RW("axes", getAxes, setAxes); }
  { TENON_LAYER(IRaggedSoftMaxLayer, ILayer); }
  { TENON_LAYER(IConcatenationLayer, ILayer) TENON_RW("axis", getAxis, setAxis); }
  { TENON_LAYER(IReduceLayer, ILayer)
        TENON_RW("op", getOperation, setOperation)
        TENON_RW("axes", getReduceAxes, setReduceAxes)
        TENON_RW("keep_dims", getKeepDimensions, setKeepDimensions); }
  { TENON_LAYER(ITopKLayer, ILayer)
        TENON_RW("op", getOperation, setOperation)
        TENON_RW("k", getK, setK)
        TENON_RW("axes", getReduceAxes, setReduceAxes)
        TENON_RW("indices_type", getIndicesType, setIndicesType)
        TENON_SET_INPUT; }
  { TENON_LAYER(ICumulativeLayer, ILayer)
        TENON_RW("op", getOperation, setOperation)
        TENON_RW("exclusive", getExclusive, setExclusive)
        TENON_RW("reverse", getReverse, setReverse); }
  { TENON_LAYER(IOneHotLayer, ILayer) TENON_RW("axis", getAxis, setAxis); }
  { TENON_LAYER(INonZeroLayer, ILayer) TENON_RW("indices_type", getIndicesType, setIndicesType); }
  { TENON_LAYER(IReverseSequenceLayer, ILayer)
        TENON_RW("batch_axis", getBatchAxis, setBatchAxis)
        TENON_RW("sequence_axis", getSequenceAxis, setSequenceAxis); }
  { TENON_LAYER(IEinsumLayer, ILayer) TENON_RW("equation", getEquation, setEquation); }
}

void bind_movement_layers(nb::module_& m) {
  { TENON_LAYER(IScatterLayer, ILayer)
        TENON_RW("axis", getAxis, setAxis)
        TENON_RW("mode", getMode, setMode); }
  { TENON_LAYER(IGatherLayer, ILayer)
        TENON_RW("axis", getGatherAxis, setGatherAxis)
        TENON_RW("num_elementwise_dims", getNbElementWiseDims, setNbElementWiseDims)
        TENON_RW("mode", getMode, setMode); }
  { TENON_LAYER(IPaddingLayer, ILayer)
        TENON_RW("pre_padding_nd", getPrePaddingNd, setPrePaddingNd)
        TENON_RW("post_padding_nd", getPostPaddingNd, setPostPaddingNd); }
  { TENON_LAYER(IShuffleLayer, ILayer)
        TENON_RW("first_transpose", getFirstTranspose, setFirstTranspose)
        TENON_RW("reshape_dims", getReshapeDimensions, setReshapeDimensions)
        TENON_RW("second_transpose", getSecondTranspose, setSecondTranspose)
        TENON_RW("zero_is_placeholder", getZeroIsPlaceholder, setZeroIsPlaceholder)
        TENON_SET_INPUT; }
  { TENON_LAYER(ISliceLayer, ILayer)
        TENON_RW("start", getStart, setStart)
        TENON_RW("shape", getSize, setSize)
        TENON_RW("stride", getStride, setStride)
        TENON_RW("mode", getMode, setMode)
        TENON_RW("axes", getAxes, setAxes)
        TENON_SET_INPUT; }
  { TENON_LAYER(IShapeLayer, ILayer); }
  { TENON_LAYER(ISqueezeLayer, ILayer) TENON_SET_INPUT; }
  { TENON_LAYER(IUnsqueezeLayer, ILayer) TENON_SET_INPUT; }
  { TENON_LAYER(IGridSampleLayer, ILayer)
        TENON_RW("interpolation_mode", getInterpolationMode, setInterpolationMode)
        TENON_RW("align_corners", getAlignCorners, setAlignCorners)
        TENON_RW("sample_mode", getSampleMode, setSampleMode); }
  { TENON_LAYER(INMSLayer, ILayer)
        TENON_RW("bounding_box_format", getBoundingBoxFormat, setBoundingBoxFormat)
        TENON_RW("topk_box_limit", getTopKBoxLimit, setTopKBoxLimit)
        TENON_RW("indices_type", getIndicesType, setIndicesType)
        TENON_SET_INPUT; }
  { TENON_LAYER(IDistCollectiveLayer, ILayer); }
}
// clang-format on

nb::object number(double real, int64_t integer, bool is_integer) {
  return is_integer ? nb::object(nb::int_(integer)) : nb::object(nb::float_(real));
}

double real_of(const nb::object& value, const char* property) {
  double real = 0;
  if (nb::try_cast(value, real)) return real;
  throw nb::type_error((std::string(property) + " is one number").c_str());
}

/// Integers stay exact in fills of INT64.
void bind_fill(nb::module_& m) {
  TENON_LAYER(IFillLayer, ILayer)
  // clang-format off
      TENON_RW("shape", getDimensions, setDimensions)
      TENON_RW("operation", getOperation, setOperation)
      TENON_RW("to_type", getToType, setToType)
      .def("is_alpha_beta_int64", &Class::isAlphaBetaInt64)
      // clang-format on
      .def_prop_rw(
          "alpha",
          [](const Class& l) {
            return number(l.getAlpha(), l.getAlphaInt64(), l.isAlphaBetaInt64());
          },
          [](Class& l, const nb::object& value) {
            nb::isinstance<nb::int_>(value) ? l.setAlphaInt64(nb::cast<int64_t>(value))
                                            : l.setAlpha(real_of(value, "alpha"));
          })
      .def_prop_rw(
          "beta",
          [](const Class& l) {
            return number(l.getBeta(), l.getBetaInt64(), l.isAlphaBetaInt64());
          },
          [](Class& l, const nb::object& value) {
            nb::isinstance<nb::int_>(value) ? l.setBetaInt64(nb::cast<int64_t>(value))
                                            : l.setBeta(real_of(value, "beta"));
          }) TENON_SET_INPUT;
}

void bind_matrix_multiply(nb::module_& m) {
  TENON_LAYER(IMatrixMultiplyLayer, ILayer)
      .def_prop_rw(
          "op0", [](const Class& l) { return l.getOperation(0); },
          [](Class& l, MatrixOperation op) { l.setOperation(0, op); })
      .def_prop_rw(
          "op1", [](const Class& l) { return l.getOperation(1); },
          [](Class& l, MatrixOperation op) { l.setOperation(1, op); });
}

}  // namespace

void bind_layers(nb::module_& m) {
  bind_pointwise_layers(m);
  bind_axis_layers(m);
  bind_movement_layers(m);
  bind_fill(m);
  bind_matrix_multiply(m);
}

}  // namespace tenon::python
