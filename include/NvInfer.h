#pragma once

/// TensorRT 10.16 surface: describing and building networks.

#include "NvInferRuntime.h"

// Default implementations of deprecated methods call each other.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace nvinfer1 {

enum class LayerType : int32_t;
enum class ActivationType : int32_t;
class ITensor;
class ILayer;
enum class PaddingMode : int32_t;
class IConvolutionLayer;
class IActivationLayer;
enum class PoolingType : int32_t;
class IPoolingLayer;
class ILRNLayer;
enum class ScaleMode : int32_t;
class IScaleLayer;
class ISoftMaxLayer;
class IConcatenationLayer;
class IDeconvolutionLayer;
enum class ElementWiseOperation : int32_t;
class IElementWiseLayer;
enum class GatherMode : int32_t;
class IGatherLayer;
class IPluginV2Layer;
class IPluginV3Layer;
enum class UnaryOperation : int32_t;
class IUnaryLayer;
enum class ReduceOperation : int32_t;
enum class CollectiveOperation : int32_t;
class IReduceLayer;
class IPaddingLayer;
struct Permutation;
class IShuffleLayer;
enum class SampleMode : int32_t;
class ISliceLayer;
class IShapeLayer;
enum class TopKOperation : int32_t;
class ITopKLayer;
enum class MatrixOperation : int32_t;
class IMatrixMultiplyLayer;
class INonZeroLayer;
class IRaggedSoftMaxLayer;
class IIdentityLayer;
class ICastLayer;
class IConstantLayer;
class IParametricReLULayer;
enum class InterpolationMode : int32_t;
enum class ResizeCoordinateTransformation : int32_t;
enum class ResizeSelector : int32_t;
enum class ResizeRoundMode : int32_t;
class IResizeLayer;
enum class LoopOutput : int32_t;
enum class TripLimit : int32_t;
class ILoopBoundaryLayer;
class IIfConditionalBoundaryLayer;
class IConditionLayer;
class IIfConditionalOutputLayer;
class IIfConditionalInputLayer;
class IIfConditional;
class IRecurrenceLayer;
class ILoopOutputLayer;
class ITripLimitLayer;
class IIteratorLayer;
class ILoop;
class ISelectLayer;
class IAssertionLayer;
enum class FillOperation : int32_t;
class IFillLayer;
class IQuantizeLayer;
class IDequantizeLayer;
class IDynamicQuantizeLayer;
class IEinsumLayer;
enum class ScatterMode : int32_t;
class IScatterLayer;
class IOneHotLayer;
class IGridSampleLayer;
enum class BoundingBoxFormat : int32_t;
class INMSLayer;
class IReverseSequenceLayer;
class INormalizationLayer;
class ISqueezeLayer;
class IUnsqueezeLayer;
enum class CumulativeOperation : int32_t;
class ICumulativeLayer;
enum class AttentionNormalizationOp : int32_t;
class IAttentionBoundaryLayer;
class IAttentionInputLayer;
class IAttentionOutputLayer;
class IAttention;
class IRotaryEmbeddingLayer;
enum class KVCacheMode : int32_t;
class IKVCacheUpdateLayer;
enum class MoEActType : int32_t;
class IMoELayer;
class IDistCollectiveLayer;
class INetworkDefinition;
enum class CalibrationAlgoType : int32_t;
class IInt8Calibrator;
class IAlgorithmIOInfo;
class IAlgorithmVariant;
class IAlgorithmContext;
class IAlgorithm;
enum class QuantizationFlag : int32_t;
enum class RuntimePlatform : int32_t;
enum class BuilderFlag : int32_t;
class ITimingCache;
enum class MemoryPoolType : int32_t;
enum class PreviewFeature : int32_t;
enum class HardwareCompatibilityLevel : int32_t;
enum class TilingOptimizationLevel : int32_t;
class IBuilderConfig;
enum class NetworkDefinitionCreationFlag : int32_t;
class IBuilder;

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

class IInt8EntropyCalibrator;
class IInt8EntropyCalibrator2;
class IInt8MinMaxCalibrator;
class IInt8LegacyCalibrator;
class IAlgorithmSelector;
struct TimingCacheKey;
struct TimingCacheValue;
class IProgressMonitor;

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

using IInt8EntropyCalibrator = v_1_0::IInt8EntropyCalibrator;
using IInt8EntropyCalibrator2 = v_1_0::IInt8EntropyCalibrator2;
using IInt8MinMaxCalibrator = v_1_0::IInt8MinMaxCalibrator;
using IInt8LegacyCalibrator = v_1_0::IInt8LegacyCalibrator;
using IAlgorithmSelector = v_1_0::IAlgorithmSelector;
using IProgressMonitor = v_1_0::IProgressMonitor;
using TensorFormats = uint32_t;
using QuantizationFlags = uint32_t;
using BuilderFlags = uint32_t;
using NetworkDefinitionCreationFlags = uint32_t;
using TimingCacheKey = v_1_0::TimingCacheKey;
using TimingCacheValue = v_1_0::TimingCacheValue;
/// Kinds of layers: each is the class that an ILayer may be cast to.
enum class LayerType : int32_t {
  /// Of IConvolutionLayer.
  kCONVOLUTION = 0,
  /// Of ICastLayer.
  kCAST = 1,
  /// Of IActivationLayer.
  kACTIVATION = 2,
  /// Of IPoolingLayer.
  kPOOLING = 3,
  /// Of ILRNLayer.
  kLRN = 4,
  /// Of IScaleLayer.
  kSCALE = 5,
  /// Of ISoftMaxLayer.
  kSOFTMAX = 6,
  /// Of IDeconvolutionLayer.
  kDECONVOLUTION = 7,
  /// Of IConcatenationLayer.
  kCONCATENATION = 8,
  /// Of IElementWiseLayer.
  kELEMENTWISE = 9,
  /// Of plugin layers of the first generation, which no longer exist.
  kPLUGIN = 10,
  /// Of IUnaryLayer.
  kUNARY = 11,
  /// Of IPaddingLayer.
  kPADDING = 12,
  /// Of IShuffleLayer.
  kSHUFFLE = 13,
  /// Of IReduceLayer.
  kREDUCE = 14,
  /// Of ITopKLayer.
  kTOPK = 15,
  /// Of IGatherLayer.
  kGATHER = 16,
  /// Of IMatrixMultiplyLayer.
  kMATRIX_MULTIPLY = 17,
  /// Of IRaggedSoftMaxLayer.
  kRAGGED_SOFTMAX = 18,
  /// Of IConstantLayer.
  kCONSTANT = 19,
  /// Of IIdentityLayer.
  kIDENTITY = 20,
  /// Of IPluginV2Layer.
  kPLUGIN_V2 = 21,
  /// Of ISliceLayer.
  kSLICE = 22,
  /// Of IShapeLayer.
  kSHAPE = 23,
  /// Of IParametricReLULayer.
  kPARAMETRIC_RELU = 24,
  /// Of IResizeLayer.
  kRESIZE = 25,
  /// Of ITripLimitLayer.
  kTRIP_LIMIT = 26,
  /// Of IRecurrenceLayer.
  kRECURRENCE = 27,
  /// Of IIteratorLayer.
  kITERATOR = 28,
  /// Of ILoopOutputLayer.
  kLOOP_OUTPUT = 29,
  /// Of ISelectLayer.
  kSELECT = 30,
  /// Of IFillLayer.
  kFILL = 31,
  /// Of IQuantizeLayer.
  kQUANTIZE = 32,
  /// Of IDequantizeLayer.
  kDEQUANTIZE = 33,
  /// Of IConditionLayer.
  kCONDITION = 34,
  /// Of IIfConditionalInputLayer.
  kCONDITIONAL_INPUT = 35,
  /// Of IIfConditionalOutputLayer.
  kCONDITIONAL_OUTPUT = 36,
  /// Of IScatterLayer.
  kSCATTER = 37,
  /// Of IEinsumLayer.
  kEINSUM = 38,
  /// Of IAssertionLayer.
  kASSERTION = 39,
  /// Of IOneHotLayer.
  kONE_HOT = 40,
  /// Of INonZeroLayer.
  kNON_ZERO = 41,
  /// Of IGridSampleLayer.
  kGRID_SAMPLE = 42,
  /// Of INMSLayer.
  kNMS = 43,
  /// Of IReverseSequenceLayer.
  kREVERSE_SEQUENCE = 44,
  /// Of INormalizationLayer.
  kNORMALIZATION = 45,
  /// Of IPluginV3Layer.
  kPLUGIN_V3 = 46,
  /// Of ISqueezeLayer.
  kSQUEEZE = 47,
  /// Of IUnsqueezeLayer.
  kUNSQUEEZE = 48,
  /// Of ICumulativeLayer.
  kCUMULATIVE = 49,
  /// Of IDynamicQuantizeLayer.
  kDYNAMIC_QUANTIZE = 50,
  /// Of IAttentionInputLayer.
  kATTENTION_INPUT = 51,
  /// Of IAttentionOutputLayer.
  kATTENTION_OUTPUT = 52,
  /// Of IRotaryEmbeddingLayer.
  kROTARY_EMBEDDING = 53,
  /// Of IKVCacheUpdateLayer.
  kKVCACHE_UPDATE = 54,
  /// Of IMoELayer.
  kMOE = 55,
  /// Of IDistCollectiveLayer.
  kDIST_COLLECTIVE = 56,
};
template <> constexpr int32_t EnumMax<LayerType>() noexcept {
  return 57;
}

/// Scalar functions of IActivationLayer; some read alpha and beta.
enum class ActivationType : int32_t {
  /// Computes max(0, x).
  kRELU = 0,
  /// Computes 1 / (1 + exp(-x)).
  kSIGMOID = 1,
  /// Computes tanh(x).
  kTANH = 2,
  /// Computes x where x >= 0, else alpha * x.
  kLEAKY_RELU = 3,
  /// Computes x where x >= 0, else alpha * (exp(x) - 1).
  kELU = 4,
  /// Computes beta * x where x > 0, else beta * (alpha * exp(x) - alpha).
  kSELU = 5,
  /// Computes x / (1 + abs(x)).
  kSOFTSIGN = 6,
  /// Computes alpha * log(exp(beta * x) + 1).
  kSOFTPLUS = 7,
  /// Computes max(alpha, min(beta, x)).
  kCLIP = 8,
  /// Computes max(0, min(1, alpha * x + beta)).
  kHARD_SIGMOID = 9,
  /// Computes alpha * tanh(beta * x).
  kSCALED_TANH = 10,
  /// Computes x where x > alpha, else 0.
  kTHRESHOLDED_RELU = 11,
  /// Computes 0.5 * x * (1 + erf(x / sqrt(2))).
  kGELU_ERF = 12,
  /// Computes 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
  kGELU_TANH = 13,
};
template <> constexpr int32_t EnumMax<ActivationType>() noexcept {
  return 14;
}

/// A tensor of a network.
class ITensor : public INoCopy {
 public:
  /// Sets the name, which inputs and outputs of the engine are found by; it is copied. Default: a
  /// name made from the layer's. Null is ignored. Names of inputs and outputs must differ when the
  /// network is built.
  void setName(const char* name) noexcept;
  /// Returns the name, which inputs and outputs of the engine are found by; it is copied. Default:
  /// a name made from the layer's.
  const char* getName() const noexcept;
  /// Sets the dimensions of a network input, -1 for extents that profiles decide; at most 8 axes.
  /// Layers that read it follow. An error for other tensors.
  void setDimensions(const Dims& dimensions) noexcept;
  /// Returns the dimensions, as they follow from the layers as these are set now; -1 for dynamic
  /// extents. nbDims is -1, with an error logged, where a layer on the way is wrong.
  Dims getDimensions() const noexcept;
  /// Sets the type of a network input, or the type that the application binds to an output of a
  /// network that is not strongly typed. Other changes are errors: add a cast.
  TRT_DEPRECATED void setType(DataType type) noexcept;
  /// Returns the type of the elements, as it follows from the layers as these are set now.
  DataType getType() const noexcept;
  /// Sets the range of values, from which the scale of the tensor in INT8 follows. Returns false
  /// where `min` is above `max`.
  TRT_DEPRECATED bool setDynamicRange(float min, float max) noexcept;
  /// Returns whether the tensor was made by addInput().
  bool isNetworkInput() const noexcept;
  /// Returns whether the tensor is marked by markOutput().
  bool isNetworkOutput() const noexcept;
  /// Sets whether the tensor is the same for each element of a batch. It has no effect, since
  /// batches are explicit: always false.
  TRT_DEPRECATED void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept;
  /// Returns whether the tensor is the same for each element of a batch. It has no effect, since
  /// batches are explicit: always false.
  TRT_DEPRECATED bool getBroadcastAcrossBatch() const noexcept;
  /// Returns where the tensor's memory is, as the engine will tell: kHOST for inputs that decide
  /// shapes, kDEVICE for all others. Another place is an error.
  TensorLocation getLocation() const noexcept;
  /// Sets where the tensor's memory is, as the engine will tell: kHOST for inputs that decide
  /// shapes, kDEVICE for all others. Another place is an error.
  TRT_DEPRECATED void setLocation(TensorLocation location) noexcept;
  /// Returns whether setDynamicRange() was called since the last reset.
  TRT_DEPRECATED bool dynamicRangeIsSet() const noexcept;
  /// Drops the range of values.
  void resetDynamicRange() noexcept;
  /// Returns the least value of the range, or NaN where none is set.
  float getDynamicRangeMin() const noexcept;
  /// Returns the largest value of the range, or NaN where none is set.
  float getDynamicRangeMax() const noexcept;
  /// Sets the formats that the tensor may have, a bit mask of TensorFormat. Default: all. Of an
  /// input or output: kLINEAR where the mask has it, else the one of least padding, which a
  /// reformat in the plan reads or writes. Builds fail where none can be had: those of a DLA, and
  /// packed ones whose number of channels is not known.
  void setAllowedFormats(TensorFormats formats) noexcept;
  /// Returns the formats that the tensor may have, a bit mask of TensorFormat. Default: all.
  TensorFormats getAllowedFormats() const noexcept;
  /// Returns whether the elements follow from shapes alone, or, for an input, decide shapes; such
  /// inputs are bound in host memory.
  bool isShapeTensor() const noexcept;
  /// Returns whether the tensor is computed by the device, which is so for every tensor that is no
  /// shape tensor.
  bool isExecutionTensor() const noexcept;
  /// Names a dynamic axis of an input, `index` from 0. Equal names of two inputs' axes say that
  /// their extents are equal. Constant extents take none; other axes and tensors are errors.
  void setDimensionName(int32_t index, const char* name) noexcept;
  /// Returns the name, or the expression, of a dynamic extent; null for constant ones. The text is
  /// valid until the next call.
  const char* getDimensionName(int32_t index) const noexcept;

 protected:
  apiv::VTensor* mImpl{nullptr};
};

/// A layer of a network.
class ILayer : public INoCopy {
 public:
  /// Returns the kind of layer, which says the class that it may be cast to.
  LayerType getType() const noexcept;
  /// Sets the name, which messages, profilers and the inspector show; it is copied. Default: the
  /// kind and a number in parentheses, "(Unnamed Layer* 3) [Convolution]".
  void setName(const char* name) noexcept;
  /// Returns the name, which messages, profilers and the inspector show; it is copied. Default: the
  /// kind and a number in parentheses, "(Unnamed Layer* 3) [Convolution]".
  const char* getName() const noexcept;
  /// Returns the number of inputs.
  int32_t getNbInputs() const noexcept;
  /// Returns an input, or null where `index` is not from 0 to getNbInputs() - 1 or an optional one
  /// is not set.
  ITensor* getInput(int32_t index) const noexcept;
  /// Returns the number of outputs.
  int32_t getNbOutputs() const noexcept;
  /// Returns an output, or null where `index` is not from 0 to getNbOutputs() - 1.
  ITensor* getOutput(int32_t index) const noexcept;
  /// Replaces an input, or adds an optional one at the index that its class documents. An error for
  /// other indices and for tensors of other networks.
  void setInput(int32_t index, ITensor& tensor) noexcept;
  /// Asks for the type that the layer computes in, in networks that are not strongly typed. It
  /// binds with kOBEY_PRECISION_CONSTRAINTS or kPREFER_PRECISION_CONSTRAINTS.
  TRT_DEPRECATED void setPrecision(DataType dataType) noexcept;
  /// Returns the type that setPrecision() asked for; kFLOAT where it did not.
  DataType getPrecision() const noexcept;
  /// Returns whether setPrecision() was called since the last reset.
  TRT_DEPRECATED bool precisionIsSet() const noexcept;
  /// Drops the type that setPrecision() asked for.
  TRT_DEPRECATED void resetPrecision() noexcept;
  /// Rounds an output to a type. The tensor keeps its own, but for identities, which convert:
  /// ITensor::setType() changes what applications bind. An error in strongly typed networks: add a
  /// cast.
  TRT_DEPRECATED void setOutputType(int32_t index, DataType dataType) noexcept;
  /// Returns the type of an output, `index` from 0 to getNbOutputs() - 1.
  DataType getOutputType(int32_t index) const noexcept;
  /// Returns whether setOutputType() was called for an output since the last reset.
  TRT_DEPRECATED bool outputTypeIsSet(int32_t index) const noexcept;
  /// Drops the type that setOutputType() set.
  TRT_DEPRECATED void resetOutputType(int32_t index) noexcept;
  /// Sets a text that comes back from the inspector; it is copied. Default: "". Null is an error.
  /// Since 10.15.
  void setMetadata(const char* metadata) noexcept;
  /// Returns a text that comes back from the inspector; it is copied. Default: "". Since 10.15.
  const char* getMetadata() const noexcept;
  /// Sets the number of devices that the layer runs on. Default: 1. Collectives and attention alone
  /// run on several: false, with an error logged, for other numbers of other layers. Since 10.16.
  bool setNbRanks(int32_t nbRanks) noexcept;
  /// Returns the number of devices that the layer runs on. Default: 1. Since 10.16.
  int32_t getNbRanks() const noexcept;

 protected:
  apiv::VLayer* mLayer{nullptr};
};

/// How the padding of a window operator is found, and which way its output extent is rounded. The
/// SAME modes pad so that the output extent is the input's over the stride, rounded up.
enum class PaddingMode : int32_t {
  /// The given padding; output extents rounded down.
  kEXPLICIT_ROUND_DOWN = 0,
  /// The given padding; output extents rounded up.
  kEXPLICIT_ROUND_UP = 1,
  /// Padding for an output of the input's extent over the stride, the odd element behind.
  kSAME_UPPER = 2,
  /// Padding for an output of the input's extent over the stride, the odd element in front.
  kSAME_LOWER = 3,
};
template <> constexpr int32_t EnumMax<PaddingMode>() noexcept {
  return 4;
}

/// Convolution of [N, C, spatial...] with kernels [maps, C / groups, kernel...] and a bias of one
/// number a map. 1 to 3 spatial axes. Input 1 and 2 may be set to tensors instead of kernel and
/// bias weights.
class IConvolutionLayer : public ILayer {
 public:
  /// Sets the number of output channels, at least 1. Default: that of the call that added the
  /// layer.
  void setNbOutputMaps(int64_t nbOutputMaps) noexcept;
  /// Returns the number of output channels, at least 1. Default: that of the call that added the
  /// layer.
  int64_t getNbOutputMaps() const noexcept;
  /// Sets the number of groups that the channels of input and output are split into, at least 1,
  /// which divides both. Default: 1.
  void setNbGroups(int64_t nbGroups) noexcept;
  /// Returns the number of groups that the channels of input and output are split into, at least 1,
  /// which divides both. Default: 1.
  int64_t getNbGroups() const noexcept;
  /// Sets the kernel's weights, in the order that the class documents. They are not copied and must
  /// live until the network is built. Count 0 where input 1 gives them. Default: those of the call
  /// that added the layer.
  void setKernelWeights(Weights weights) noexcept;
  /// Returns the kernel's weights, in the order that the class documents. They are not copied and
  /// must live until the network is built. Count 0 where input 1 gives them. Default: those of the
  /// call that added the layer.
  Weights getKernelWeights() const noexcept;
  /// Sets the bias, one number for each output channel, or count 0 for none. It is not copied and
  /// must live until the network is built. Default: that of the call that added the layer.
  void setBiasWeights(Weights weights) noexcept;
  /// Returns the bias, one number for each output channel, or count 0 for none. It is not copied
  /// and must live until the network is built. Default: that of the call that added the layer.
  Weights getBiasWeights() const noexcept;
  /// Sets the padding in front of the first element, one number for each spatial axis, at least 0.
  /// Default: 0. Used by the explicit padding modes.
  void setPrePadding(const Dims& padding) noexcept;
  /// Returns the padding in front of the first element, one number for each spatial axis, at least
  /// 0. Default: 0.
  Dims getPrePadding() const noexcept;
  /// Sets the padding behind the last element, one number for each spatial axis, at least 0.
  /// Default: 0. Used by the explicit padding modes.
  void setPostPadding(const Dims& padding) noexcept;
  /// Returns the padding behind the last element, one number for each spatial axis, at least 0.
  /// Default: 0.
  Dims getPostPadding() const noexcept;
  /// Sets how padding is found and output extents are rounded. Default: kEXPLICIT_ROUND_DOWN.
  void setPaddingMode(PaddingMode paddingMode) noexcept;
  /// Returns how padding is found and output extents are rounded. Default: kEXPLICIT_ROUND_DOWN.
  PaddingMode getPaddingMode() const noexcept;
  /// Sets the kernel's extents, one for each spatial axis, at least 1. Default: those of the call
  /// that added the layer.
  void setKernelSizeNd(const Dims& kernelSize) noexcept;
  /// Returns the kernel's extents, one for each spatial axis, at least 1. Default: those of the
  /// call that added the layer.
  Dims getKernelSizeNd() const noexcept;
  /// Sets the step from one window to the next, one number for each spatial axis, at least 1.
  /// Default: 1.
  void setStrideNd(const Dims& stride) noexcept;
  /// Returns the step from one window to the next, one number for each spatial axis, at least 1.
  /// Default: 1.
  Dims getStrideNd() const noexcept;
  /// Sets the padding on both sides, one number for each spatial axis, at least 0. Default: 0. It
  /// sets both setPrePadding() and setPostPadding().
  void setPaddingNd(const Dims& padding) noexcept;
  /// Returns the padding on both sides, one number for each spatial axis, at least 0. Default: 0.
  Dims getPaddingNd() const noexcept;
  /// Sets the step between two elements of the kernel, one number for each spatial axis, at least
  /// 1. Default: 1.
  void setDilationNd(const Dims& dilation) noexcept;
  /// Returns the step between two elements of the kernel, one number for each spatial axis, at
  /// least 1. Default: 1.
  Dims getDilationNd() const noexcept;

 protected:
  apiv::VConvolutionLayer* mImpl{nullptr};
};

/// y = f(x), of the input's shape and type.
class IActivationLayer : public ILayer {
 public:
  /// Sets the function. Default: that of the call that added the layer.
  void setActivationType(ActivationType type) noexcept;
  /// Returns the function. Default: that of the call that added the layer.
  ActivationType getActivationType() const noexcept;
  /// Sets the function's first parameter: the slope of kLEAKY_RELU, the factor of kELU, kSELU,
  /// kSOFTPLUS, kHARD_SIGMOID and kSCALED_TANH, the threshold of kTHRESHOLDED_RELU, the lower bound
  /// of kCLIP. Default: 1 for kSOFTPLUS, else 0.
  void setAlpha(float alpha) noexcept;
  /// Sets the function's second parameter: the factor inside kSOFTPLUS and kSCALED_TANH, the offset
  /// of kHARD_SIGMOID, the upper bound of kCLIP. Default: 1 for kSOFTPLUS, else 0.
  void setBeta(float beta) noexcept;
  /// Returns the function's first parameter: the slope of kLEAKY_RELU, the factor of kELU, kSELU,
  /// kSOFTPLUS, kHARD_SIGMOID and kSCALED_TANH, the threshold of kTHRESHOLDED_RELU, the lower bound
  /// of kCLIP. Default: 1 for kSOFTPLUS, else 0.
  float getAlpha() const noexcept;
  /// Returns the function's second parameter: the factor inside kSOFTPLUS and kSCALED_TANH, the
  /// offset of kHARD_SIGMOID, the upper bound of kCLIP. Default: 1 for kSOFTPLUS, else 0.
  float getBeta() const noexcept;

 protected:
  apiv::VActivationLayer* mImpl{nullptr};
};

/// MAX_AVERAGE_BLEND is (1 - blend) * max + blend * average.
enum class PoolingType : int32_t {
  /// Largest element of each window.
  kMAX = 0,
  /// Mean of each window; setAverageCountExcludesPadding() says whether padding counts.
  kAVERAGE = 1,
  /// (1 - blendFactor) * maximum + blendFactor * mean.
  kMAX_AVERAGE_BLEND = 2,
};
template <> constexpr int32_t EnumMax<PoolingType>() noexcept {
  return 3;
}

/// Pooling of [N, C, spatial...] over windows of as many axes as there are spatial ones.
class IPoolingLayer : public ILayer {
 public:
  /// Sets how a window becomes one number. Default: that of the call that added the layer.
  void setPoolingType(PoolingType type) noexcept;
  /// Returns how a window becomes one number. Default: that of the call that added the layer.
  PoolingType getPoolingType() const noexcept;
  /// Sets the share of the average in kMAX_AVERAGE_BLEND, from 0 to 1. Default: 0.
  void setBlendFactor(float blendFactor) noexcept;
  /// Returns the share of the average in kMAX_AVERAGE_BLEND, from 0 to 1. Default: 0.
  float getBlendFactor() const noexcept;
  /// Sets whether averages divide by the number of elements inside of the input, rather than by
  /// that of the window. Default: true.
  void setAverageCountExcludesPadding(bool exclusive) noexcept;
  /// Returns whether averages divide by the number of elements inside of the input, rather than by
  /// that of the window. Default: true.
  bool getAverageCountExcludesPadding() const noexcept;
  /// Sets the padding in front of the first element, one number for each spatial axis, at least 0.
  /// Default: 0. Used by the explicit padding modes.
  void setPrePadding(const Dims& padding) noexcept;
  /// Returns the padding in front of the first element, one number for each spatial axis, at least
  /// 0. Default: 0.
  Dims getPrePadding() const noexcept;
  /// Sets the padding behind the last element, one number for each spatial axis, at least 0.
  /// Default: 0. Used by the explicit padding modes.
  void setPostPadding(const Dims& padding) noexcept;
  /// Returns the padding behind the last element, one number for each spatial axis, at least 0.
  /// Default: 0.
  Dims getPostPadding() const noexcept;
  /// Sets how padding is found and output extents are rounded. Default: kEXPLICIT_ROUND_DOWN.
  void setPaddingMode(PaddingMode paddingMode) noexcept;
  /// Returns how padding is found and output extents are rounded. Default: kEXPLICIT_ROUND_DOWN.
  PaddingMode getPaddingMode() const noexcept;
  /// Sets the window's extents, one for each spatial axis, at least 1. Default: those of the call
  /// that added the layer.
  void setWindowSizeNd(const Dims& windowSize) noexcept;
  /// Returns the window's extents, one for each spatial axis, at least 1. Default: those of the
  /// call that added the layer.
  Dims getWindowSizeNd() const noexcept;
  /// Sets the step from one window to the next, one number for each spatial axis, at least 1.
  /// Default: 1.
  void setStrideNd(const Dims& stride) noexcept;
  /// Returns the step from one window to the next, one number for each spatial axis, at least 1.
  /// Default: 1.
  Dims getStrideNd() const noexcept;
  /// Sets the padding on both sides, one number for each spatial axis, at least 0. Default: 0. It
  /// sets both setPrePadding() and setPostPadding().
  void setPaddingNd(const Dims& padding) noexcept;
  /// Returns the padding on both sides, one number for each spatial axis, at least 0. Default: 0.
  Dims getPaddingNd() const noexcept;

 protected:
  apiv::VPoolingLayer* mImpl{nullptr};
};

/// x / (k + alpha / window * sum of squares over `window` channels) ^ beta.
class ILRNLayer : public ILayer {
 public:
  /// Sets the number of neighbouring channels that are summed, odd and at least 1. Default: that of
  /// the call that added the layer.
  void setWindowSize(int64_t windowSize) noexcept;
  /// Returns the number of neighbouring channels that are summed, odd and at least 1. Default: that
  /// of the call that added the layer.
  int64_t getWindowSize() const noexcept;
  /// Sets the factor of the sum of squares. Default: that of the call that added the layer.
  void setAlpha(float alpha) noexcept;
  /// Returns the factor of the sum of squares. Default: that of the call that added the layer.
  float getAlpha() const noexcept;
  /// Sets the exponent of the divisor. Default: that of the call that added the layer.
  void setBeta(float beta) noexcept;
  /// Returns the exponent of the divisor. Default: that of the call that added the layer.
  float getBeta() const noexcept;
  /// Sets the number that is added to the sum. Default: that of the call that added the layer.
  void setK(float k) noexcept;
  /// Returns the number that is added to the sum. Default: that of the call that added the layer.
  float getK() const noexcept;

 protected:
  apiv::VLRNLayer* mImpl{nullptr};
};

/// Number of weights of a scale layer: one, one for each channel, or one for each element.
enum class ScaleMode : int32_t {
  /// One weight for the whole tensor.
  kUNIFORM = 0,
  /// One weight for each extent of the channel axis.
  kCHANNEL = 1,
  /// One weight for each element of a sample.
  kELEMENTWISE = 2,
};
template <> constexpr int32_t EnumMax<ScaleMode>() noexcept {
  return 3;
}

/// (x * scale + shift) ^ power; absent weights (count 0) stand for a scale of 1, a shift of 0 and a
/// power of 1.
class IScaleLayer : public ILayer {
 public:
  /// Sets whether the weights are one number, one for each channel, or one for each element.
  /// Default: that of the call that added the layer.
  void setMode(ScaleMode mode) noexcept;
  /// Returns whether the weights are one number, one for each channel, or one for each element.
  /// Default: that of the call that added the layer.
  ScaleMode getMode() const noexcept;
  /// Sets the summands, as many as the mode says, or count 0 for 0. They are not copied and must
  /// live until the network is built. Default: those of the call that added the layer.
  void setShift(Weights shift) noexcept;
  /// Returns the summands, as many as the mode says, or count 0 for 0. They are not copied and must
  /// live until the network is built. Default: those of the call that added the layer.
  Weights getShift() const noexcept;
  /// Sets the factors, as many as the mode says, or count 0 for 1. They are not copied and must
  /// live until the network is built. Default: those of the call that added the layer.
  void setScale(Weights scale) noexcept;
  /// Returns the factors, as many as the mode says, or count 0 for 1. They are not copied and must
  /// live until the network is built. Default: those of the call that added the layer.
  Weights getScale() const noexcept;
  /// Sets the exponents, as many as the mode says, or count 0 for 1. They are not copied and must
  /// live until the network is built. Default: those of the call that added the layer.
  void setPower(Weights power) noexcept;
  /// Returns the exponents, as many as the mode says, or count 0 for 1. They are not copied and
  /// must live until the network is built. Default: those of the call that added the layer.
  Weights getPower() const noexcept;
  /// Returns the axis of the channels, from 0. Default: that of the call that added the layer, 1
  /// for addScale().
  int32_t getChannelAxis() const noexcept;
  /// Sets the axis of the channels, from 0. Default: that of the call that added the layer, 1 for
  /// addScale().
  void setChannelAxis(int32_t channelAxis) noexcept;

 protected:
  apiv::VScaleLayer* mImpl{nullptr};
};

/// Softmax over the axes of a bit mask. The default axis is the third from the end, or the first.
class ISoftMaxLayer : public ILayer {
 public:
  /// Sets the axes that a softmax runs over together, a bit mask with at least one bit; bit i is
  /// axis i. Default: the third axis from the end, or the first of fewer than three.
  void setAxes(uint32_t axes) noexcept;
  /// Returns the axes that a softmax runs over together, a bit mask with at least one bit; bit i is
  /// axis i. Default: the third axis from the end, or the first of fewer than three.
  uint32_t getAxes() const noexcept;

 protected:
  apiv::VSoftMaxLayer* mImpl{nullptr};
};

/// Joins tensors that differ in the extent of one axis only. The default axis is the third from the
/// end.
class IConcatenationLayer : public ILayer {
 public:
  /// Sets the axis along which the inputs are joined, from 0. Default: the third from the end, or
  /// 0.
  void setAxis(int32_t axis) noexcept;
  /// Returns the axis along which the inputs are joined, from 0. Default: the third from the end,
  /// or 0.
  int32_t getAxis() const noexcept;

 protected:
  apiv::VConcatenationLayer* mImpl{nullptr};
};

/// Transposed convolution with kernels [C, maps / groups, kernel...]; pads crop the output.
class IDeconvolutionLayer : public ILayer {
 public:
  /// Sets the number of output channels, at least 1. Default: that of the call that added the
  /// layer.
  void setNbOutputMaps(int64_t nbOutputMaps) noexcept;
  /// Returns the number of output channels, at least 1. Default: that of the call that added the
  /// layer.
  int64_t getNbOutputMaps() const noexcept;
  /// Sets the number of groups that the channels of input and output are split into, at least 1,
  /// which divides both. Default: 1.
  void setNbGroups(int64_t nbGroups) noexcept;
  /// Returns the number of groups that the channels of input and output are split into, at least 1,
  /// which divides both. Default: 1.
  int64_t getNbGroups() const noexcept;
  /// Sets the kernel's weights, in the order that the class documents. They are not copied and must
  /// live until the network is built. Count 0 where input 1 gives them. Default: those of the call
  /// that added the layer.
  void setKernelWeights(Weights weights) noexcept;
  /// Returns the kernel's weights, in the order that the class documents. They are not copied and
  /// must live until the network is built. Count 0 where input 1 gives them. Default: those of the
  /// call that added the layer.
  Weights getKernelWeights() const noexcept;
  /// Sets the bias, one number for each output channel, or count 0 for none. It is not copied and
  /// must live until the network is built. Default: that of the call that added the layer.
  void setBiasWeights(Weights weights) noexcept;
  /// Returns the bias, one number for each output channel, or count 0 for none. It is not copied
  /// and must live until the network is built. Default: that of the call that added the layer.
  Weights getBiasWeights() const noexcept;
  /// Sets the padding in front of the first element, one number for each spatial axis, at least 0.
  /// Default: 0. Used by the explicit padding modes.
  void setPrePadding(const Dims& padding) noexcept;
  /// Returns the padding in front of the first element, one number for each spatial axis, at least
  /// 0. Default: 0.
  Dims getPrePadding() const noexcept;
  /// Sets the padding behind the last element, one number for each spatial axis, at least 0.
  /// Default: 0. Used by the explicit padding modes.
  void setPostPadding(const Dims& padding) noexcept;
  /// Returns the padding behind the last element, one number for each spatial axis, at least 0.
  /// Default: 0.
  Dims getPostPadding() const noexcept;
  /// Sets how padding is found and output extents are rounded. Default: kEXPLICIT_ROUND_DOWN.
  void setPaddingMode(PaddingMode paddingMode) noexcept;
  /// Returns how padding is found and output extents are rounded. Default: kEXPLICIT_ROUND_DOWN.
  PaddingMode getPaddingMode() const noexcept;
  /// Sets the kernel's extents, one for each spatial axis, at least 1. Default: those of the call
  /// that added the layer.
  void setKernelSizeNd(const Dims& kernelSize) noexcept;
  /// Returns the kernel's extents, one for each spatial axis, at least 1. Default: those of the
  /// call that added the layer.
  Dims getKernelSizeNd() const noexcept;
  /// Sets the step from one window to the next, one number for each spatial axis, at least 1.
  /// Default: 1.
  void setStrideNd(const Dims& stride) noexcept;
  /// Returns the step from one window to the next, one number for each spatial axis, at least 1.
  /// Default: 1.
  Dims getStrideNd() const noexcept;
  /// Sets the padding on both sides, one number for each spatial axis, at least 0. Default: 0. It
  /// sets both setPrePadding() and setPostPadding().
  void setPaddingNd(const Dims& padding) noexcept;
  /// Returns the padding on both sides, one number for each spatial axis, at least 0. Default: 0.
  Dims getPaddingNd() const noexcept;
  /// Sets the step between two elements of the kernel, one number for each spatial axis, at least
  /// 1. Default: 1.
  void setDilationNd(const Dims& dilation) noexcept;
  /// Returns the step between two elements of the kernel, one number for each spatial axis, at
  /// least 1. Default: 1.
  Dims getDilationNd() const noexcept;

 protected:
  apiv::VDeconvolutionLayer* mImpl{nullptr};
};

/// Functions of two tensors. Comparisons give BOOL; AND, OR and XOR take it.
enum class ElementWiseOperation : int32_t {
  /// a + b.
  kSUM = 0,
  /// a * b.
  kPROD = 1,
  /// The larger one.
  kMAX = 2,
  /// The smaller one.
  kMIN = 3,
  /// a - b.
  kSUB = 4,
  /// a / b; integers round toward zero.
  kDIV = 5,
  /// a to the power of b.
  kPOW = 6,
  /// a / b, rounded toward negative infinity.
  kFLOOR_DIV = 7,
  /// Logical and of kBOOL.
  kAND = 8,
  /// Logical or of kBOOL.
  kOR = 9,
  /// Logical exclusive or of kBOOL.
  kXOR = 10,
  /// a == b, as kBOOL.
  kEQUAL = 11,
  /// a > b, as kBOOL.
  kGREATER = 12,
  /// a < b, as kBOOL.
  kLESS = 13,
};
template <> constexpr int32_t EnumMax<ElementWiseOperation>() noexcept {
  return 14;
}

/// f(a, b) of tensors with as many axes as each other; extents of 1 are repeated.
class IElementWiseLayer : public ILayer {
 public:
  /// Sets the function. Default: that of the call that added the layer.
  void setOperation(ElementWiseOperation op) noexcept;
  /// Returns the function. Default: that of the call that added the layer.
  ElementWiseOperation getOperation() const noexcept;

 protected:
  apiv::VElementWiseLayer* mImpl{nullptr};
};

/// DEFAULT takes slices along an axis, ELEMENT elements, ND slices by tuples of indices.
enum class GatherMode : int32_t {
  /// Slices along an axis.
  kDEFAULT = 0,
  /// Elements along an axis.
  kELEMENT = 1,
  /// Slices by tuples of indices.
  kND = 2,
};
template <> constexpr int32_t EnumMax<GatherMode>() noexcept {
  return 3;
}

/// Picks from the first input by the indices (INT32 or INT64) of the second; negative ones count
/// from the end. The first NbElementWiseDims axes are shared by both.
class IGatherLayer : public ILayer {
 public:
  /// Sets the axis that indices count along, from 0. kDEFAULT and kELEMENT use it. Default: that of
  /// the call that added the layer, or 0.
  void setGatherAxis(int32_t axis) noexcept;
  /// Returns the axis that indices count along, from 0. kDEFAULT and kELEMENT use it. Default: that
  /// of the call that added the layer, or 0.
  int32_t getGatherAxis() const noexcept;
  /// Sets how many leading axes the data and the indices share, at least 0; kELEMENT does not use
  /// it. Default: 0.
  void setNbElementWiseDims(int32_t elementWiseDims) noexcept;
  /// Returns how many leading axes the data and the indices share, at least 0; kELEMENT does not
  /// use it. Default: 0.
  int32_t getNbElementWiseDims() const noexcept;
  /// Sets how indices pick from the data. Default: that of the call that added the layer.
  void setMode(GatherMode mode) noexcept;
  /// Returns how indices pick from the data. Default: that of the call that added the layer.
  GatherMode getMode() const noexcept;

 protected:
  apiv::VGatherLayer* mImpl{nullptr};
};

/// A layer that a plugin of the second generation computes.
class IPluginV2Layer : public ILayer {
 public:
  /// Returns the plugin that computes the layer: the network's own copy, which lives as long as the
  /// network.
  IPluginV2& getPlugin() noexcept;

 protected:
  apiv::VPluginV2Layer* mImpl{nullptr};
};

/// A layer that a plugin of the third generation computes.
class IPluginV3Layer : public ILayer {
 public:
  /// Returns the plugin that computes the layer: the network's own copy, which lives as long as the
  /// network.
  IPluginV3& getPlugin() noexcept;

 protected:
  apiv::VPluginV3Layer* mImpl{nullptr};
};

/// Functions of one tensor. NOT takes BOOL; ISINF and ISNAN give it. ROUND goes to the nearest
/// even.
enum class UnaryOperation : int32_t {
  /// e to the power of x.
  kEXP = 0,
  /// Natural logarithm.
  kLOG = 1,
  /// Square root.
  kSQRT = 2,
  /// 1 / x.
  kRECIP = 3,
  /// Absolute value.
  kABS = 4,
  /// -x.
  kNEG = 5,
  /// Sine of radians.
  kSIN = 6,
  /// Cosine of radians.
  kCOS = 7,
  /// Tangent of radians.
  kTAN = 8,
  /// Hyperbolic sine.
  kSINH = 9,
  /// Hyperbolic cosine.
  kCOSH = 10,
  /// Inverse sine, in radians.
  kASIN = 11,
  /// Inverse cosine, in radians.
  kACOS = 12,
  /// Inverse tangent, in radians.
  kATAN = 13,
  /// Inverse hyperbolic sine.
  kASINH = 14,
  /// Inverse hyperbolic cosine.
  kACOSH = 15,
  /// Inverse hyperbolic tangent.
  kATANH = 16,
  /// Rounds toward positive infinity.
  kCEIL = 17,
  /// Rounds toward negative infinity.
  kFLOOR = 18,
  /// Gauss error function.
  kERF = 19,
  /// Logical not of kBOOL.
  kNOT = 20,
  /// -1, 0 or 1.
  kSIGN = 21,
  /// Rounds to the nearest integer, halves to the even one.
  kROUND = 22,
  /// Whether x is an infinity, as kBOOL.
  kISINF = 23,
  /// Whether x is a NaN, as kBOOL.
  kISNAN = 24,
};
template <> constexpr int32_t EnumMax<UnaryOperation>() noexcept {
  return 25;
}

/// y = f(x), of the input's shape.
class IUnaryLayer : public ILayer {
 public:
  /// Sets the function. Default: that of the call that added the layer.
  void setOperation(UnaryOperation op) noexcept;
  /// Returns the function. Default: that of the call that added the layer.
  UnaryOperation getOperation() const noexcept;

 protected:
  apiv::VUnaryLayer* mImpl{nullptr};
};

/// Operations of a reduction. kNONE is for collectives.
enum class ReduceOperation : int32_t {
  /// Sum.
  kSUM = 0,
  /// Product.
  kPROD = 1,
  /// Largest element.
  kMAX = 2,
  /// Smallest element.
  kMIN = 3,
  /// Mean.
  kAVG = 4,
  /// No reduction, for collectives that only move data.
  kNONE = 5,
};
template <> constexpr int32_t EnumMax<ReduceOperation>() noexcept {
  return 6;
}

/// Operations of several devices together.
enum class CollectiveOperation : int32_t {
  /// Every device gets the reduction over all of them.
  kALL_REDUCE = 0,
  /// Every device gets the tensors of all of them, joined along the first axis.
  kALL_GATHER = 1,
  /// Every device gets the tensor of the root.
  kBROADCAST = 2,
  /// The root gets the reduction over all devices.
  kREDUCE = 3,
  /// Every device gets its part of the reduction over all of them.
  kREDUCE_SCATTER = 4,
};
template <> constexpr int32_t EnumMax<CollectiveOperation>() noexcept {
  return 5;
}

/// Reduces the axes of a bit mask to extent 1, or away.
class IReduceLayer : public ILayer {
 public:
  /// Sets the reduction; kNONE is refused. Default: that of the call that added the layer.
  void setOperation(ReduceOperation op) noexcept;
  /// Returns the reduction; kNONE is refused. Default: that of the call that added the layer.
  ReduceOperation getOperation() const noexcept;
  /// Sets the axes that are reduced, a bit mask with at least one bit; bit i is axis i. Default:
  /// those of the call that added the layer.
  void setReduceAxes(uint32_t reduceAxes) noexcept;
  /// Returns the axes that are reduced, a bit mask with at least one bit; bit i is axis i. Default:
  /// those of the call that added the layer.
  uint32_t getReduceAxes() const noexcept;
  /// Sets whether reduced axes stay with extent 1. Default: that of the call that added the layer.
  void setKeepDimensions(bool keepDimensions) noexcept;
  /// Returns whether reduced axes stay with extent 1. Default: that of the call that added the
  /// layer.
  bool getKeepDimensions() const noexcept;

 protected:
  apiv::VReduceLayer* mImpl{nullptr};
};

/// Pads the last two axes by zeros; negative numbers crop.
class IPaddingLayer : public ILayer {
 public:
  /// Sets the zeros in front of the last two axes; negative numbers drop elements. Default: those
  /// of the call that added the layer.
  void setPrePaddingNd(const Dims& padding) noexcept;
  /// Returns the zeros in front of the last two axes; negative numbers drop elements. Default:
  /// those of the call that added the layer.
  Dims getPrePaddingNd() const noexcept;
  /// Sets the zeros behind the last two axes; negative numbers drop elements. Default: those of the
  /// call that added the layer.
  void setPostPaddingNd(const Dims& padding) noexcept;
  /// Returns the zeros behind the last two axes; negative numbers drop elements. Default: those of
  /// the call that added the layer.
  Dims getPostPaddingNd() const noexcept;

 protected:
  apiv::VPaddingLayer* mImpl{nullptr};
};

/// Output axis i is input axis order[i].
struct Permutation {
  int32_t order[8];
};

/// Transposition, reshape, second transposition; each may be absent. Input 1, if set, gives the
/// dimensions of the reshape.
class IShuffleLayer : public ILayer {
 public:
  /// Sets the order of axes before the reshape. Default: no change.
  void setFirstTranspose(Permutation permutation) noexcept;
  /// Returns the order of axes before the reshape. Default: no change.
  Permutation getFirstTranspose() const noexcept;
  /// Sets the dimensions of the reshape: -1, at most once, for the extent that fits, and 0 for the
  /// input's extent unless setZeroIsPlaceholder(false). Default: the input's dimensions. Input 1,
  /// an INT32 or INT64 vector, replaces them.
  void setReshapeDimensions(const Dims& dimensions) noexcept;
  /// Returns the dimensions of the reshape: -1, at most once, for the extent that fits, and 0 for
  /// the input's extent unless setZeroIsPlaceholder(false). Default: the input's dimensions.
  Dims getReshapeDimensions() const noexcept;
  /// Sets the order of axes after the reshape. Default: no change.
  void setSecondTranspose(Permutation permutation) noexcept;
  /// Returns the order of axes after the reshape. Default: no change.
  Permutation getSecondTranspose() const noexcept;
  /// Sets whether 0 in the dimensions of the reshape stands for the input's extent. Default: true.
  void setZeroIsPlaceholder(bool zeroIsPlaceholder) noexcept;
  /// Returns whether 0 in the dimensions of the reshape stands for the input's extent. Default:
  /// true.
  bool getZeroIsPlaceholder() const noexcept;

 protected:
  apiv::VShuffleLayer* mImpl{nullptr};
};

/// Values of places outside of a tensor.
enum class SampleMode : int32_t {
  /// Places outside must not be read.
  kSTRICT_BOUNDS = 0,
  /// Indices go on at the other end.
  kWRAP = 1,
  /// The nearest element.
  kCLAMP = 2,
  /// A given number, or 0.
  kFILL = 3,
  /// Indices go back and forth between the ends.
  kREFLECT = 4,
};
template <> constexpr int32_t EnumMax<SampleMode>() noexcept {
  return 5;
}

/// y[i] = x[start + i * stride] for `size` elements an axis. Inputs 1 to 3 may replace start, size
/// and stride, input 4 gives the value of kFILL, input 5 the axes (constant).
class ISliceLayer : public ILayer {
 public:
  /// Sets the first index of each axis. Input 1 replaces it. Default: that of the call that added
  /// the layer.
  void setStart(const Dims& start) noexcept;
  /// Returns the first index of each axis. Input 1 replaces it. Default: that of the call that
  /// added the layer.
  Dims getStart() const noexcept;
  /// Sets the number of elements of each axis. Input 2 replaces it. Default: that of the call that
  /// added the layer.
  void setSize(const Dims& size) noexcept;
  /// Returns the number of elements of each axis. Input 2 replaces it. Default: that of the call
  /// that added the layer.
  Dims getSize() const noexcept;
  /// Sets the step of each axis, which may be negative. Input 3 replaces it. Default: that of the
  /// call that added the layer.
  void setStride(const Dims& stride) noexcept;
  /// Returns the step of each axis, which may be negative. Input 3 replaces it. Default: that of
  /// the call that added the layer.
  Dims getStride() const noexcept;
  /// Sets how indices outside of the input are read. kFILL takes its number from input 4, or 0.
  /// Default: kSTRICT_BOUNDS.
  void setMode(SampleMode mode) noexcept;
  /// Returns how indices outside of the input are read. kFILL takes its number from input 4, or 0.
  /// Default: kSTRICT_BOUNDS.
  SampleMode getMode() const noexcept;
  /// Sets the axes that start, size and stride are for; the others are taken whole. nbDims -1 for
  /// all. Default: all. Since 10.3.
  void setAxes(const Dims& axes) noexcept;
  /// Returns the axes that start, size and stride are for; the others are taken whole. nbDims -1
  /// for all. Default: all. Since 10.3.
  Dims getAxes() const noexcept;

 protected:
  apiv::VSliceLayer* mImpl{nullptr};
};

/// The extents of its input, INT64.
class IShapeLayer : public ILayer {
 protected:
  apiv::VShapeLayer* mImpl{nullptr};
};

/// Direction of a top-k: largest or smallest.
enum class TopKOperation : int32_t {
  /// The largest elements, in descending order.
  kMAX = 0,
  /// The smallest elements, in ascending order.
  kMIN = 1,
};
template <> constexpr int32_t EnumMax<TopKOperation>() noexcept {
  return 2;
}

/// The k largest or smallest elements along one axis, sorted: output 0 values, output 1 indices
/// (INT32 unless INT64 was asked for). Input 1, if set, is k.
class ITopKLayer : public ILayer {
 public:
  /// Sets whether the largest or the smallest elements are taken. Default: that of the call that
  /// added the layer.
  void setOperation(TopKOperation op) noexcept;
  /// Returns whether the largest or the smallest elements are taken. Default: that of the call that
  /// added the layer.
  TopKOperation getOperation() const noexcept;
  /// Sets the number of elements, at least 0. Input 1, an INT32 or INT64 scalar, replaces it.
  /// Default: that of the call that added the layer.
  void setK(int32_t k) noexcept;
  /// Returns the number of elements, at least 0. Input 1, an INT32 or INT64 scalar, replaces it.
  /// Default: that of the call that added the layer.
  int32_t getK() const noexcept;
  /// Sets the axis, a bit mask of one bit. Default: that of the call that added the layer.
  void setReduceAxes(uint32_t reduceAxes) noexcept;
  /// Returns the axis, a bit mask of one bit. Default: that of the call that added the layer.
  uint32_t getReduceAxes() const noexcept;
  /// Sets the type of the indices, INT32 or INT64. Default: that of the call that added the layer,
  /// else INT32. Returns false for other types. Since 10.14.
  bool setIndicesType(DataType type) noexcept;
  /// Returns the type of the indices, INT32 or INT64. Default: that of the call that added the
  /// layer, else INT32. Since 10.14.
  DataType getIndicesType() const noexcept;

 protected:
  apiv::VTopKLayer* mImpl{nullptr};
};

/// Treatment of an operand of a product: as it is, transposed, or a vector, which lacks one matrix
/// axis.
enum class MatrixOperation : int32_t {
  /// The matrix as it is.
  kNONE = 0,
  /// The last two axes exchanged.
  kTRANSPOSE = 1,
  /// A vector, which lacks one matrix axis.
  kVECTOR = 2,
};
template <> constexpr int32_t EnumMax<MatrixOperation>() noexcept {
  return 3;
}

/// Matrix products over the last two axes; the others are batch axes, of which extents of 1 are
/// repeated.
class IMatrixMultiplyLayer : public ILayer {
 public:
  /// Sets the way that input `index`, 0 or 1, enters the product. An error for other indices.
  void setOperation(int32_t index, MatrixOperation op) noexcept;
  /// Returns the way that input `index`, 0 or 1, enters the product.
  MatrixOperation getOperation(int32_t index) const noexcept;

 protected:
  apiv::VMatrixMultiplyLayer* mImpl{nullptr};
};

/// Coordinates of the elements that are not zero: [axes, n], n known after the run.
class INonZeroLayer : public ILayer {
 public:
  /// Sets the type of the indices, INT32 or INT64. Default: that of the call that added the layer,
  /// else INT32. Returns false for other types. Since 10.14.
  bool setIndicesType(DataType type) noexcept;
  /// Returns the type of the indices, INT32 or INT64. Default: that of the call that added the
  /// layer, else INT32. Since 10.14.
  DataType getIndicesType() const noexcept;

 protected:
  apiv::VNonZeroLayer* mImpl{nullptr};
};

/// Softmax of the first bounds[i] elements of each row; the others become zero.
class IRaggedSoftMaxLayer : public ILayer {
 protected:
  apiv::VRaggedSoftMaxLayer* mImpl{nullptr};
};

/// Its input, in another type where an output type is set.
class IIdentityLayer : public ILayer {
 protected:
  apiv::VIdentityLayer* mImpl{nullptr};
};

/// Conversion to another type. Real to integer truncates.
class ICastLayer : public ILayer {
 public:
  /// Sets the type of the output. Default: that of the call that added the layer.
  void setToType(DataType toType) noexcept;
  /// Returns the type of the output. Default: that of the call that added the layer.
  DataType getToType() const noexcept;

 protected:
  apiv::VCastLayer* mImpl{nullptr};
};

/// A tensor of weights, which must live until the network is built.
class IConstantLayer : public ILayer {
 public:
  /// Sets the values, row-major, as many as the dimensions say. They are not copied and must live
  /// until the network is built. Default: those of the call that added the layer.
  void setWeights(Weights weights) noexcept;
  /// Returns the values, row-major, as many as the dimensions say. They are not copied and must
  /// live until the network is built. Default: those of the call that added the layer.
  Weights getWeights() const noexcept;
  /// Sets the dimensions, without -1. Default: those of the call that added the layer.
  void setDimensions(const Dims& dimensions) noexcept;
  /// Returns the dimensions, without -1. Default: those of the call that added the layer.
  Dims getDimensions() const noexcept;

 protected:
  apiv::VConstantLayer* mImpl{nullptr};
};

/// x where x >= 0, else x * slope; the slope's extents of 1 are repeated.
class IParametricReLULayer : public ILayer {
 protected:
  apiv::VParametricReLULayer* mImpl{nullptr};
};

/// How samples between elements are computed.
enum class InterpolationMode : int32_t {
  /// The nearest element.
  kNEAREST = 0,
  /// Linear along each of the resized axes.
  kLINEAR = 1,
  /// Cubic convolution along the last two axes.
  kCUBIC = 2,
};
template <> constexpr int32_t EnumMax<InterpolationMode>() noexcept {
  return 3;
}

/// Where an output element lies in the input.
enum class ResizeCoordinateTransformation : int32_t {
  /// Centres of the outer elements meet.
  kALIGN_CORNERS = 0,
  /// Output index over scale.
  kASYMMETRIC = 1,
  /// Centres of elements at half numbers.
  kHALF_PIXEL = 2,
};
template <> constexpr int32_t EnumMax<ResizeCoordinateTransformation>() noexcept {
  return 3;
}

/// Place that kHALF_PIXEL reads where an axis has one output element: by the formula, or the first
/// input element.
enum class ResizeSelector : int32_t {
  /// The coordinate transformation's formula.
  kFORMULA = 0,
  /// The first input element.
  kUPPER = 1,
};
template <> constexpr int32_t EnumMax<ResizeSelector>() noexcept {
  return 2;
}

/// Which element kNEAREST takes.
enum class ResizeRoundMode : int32_t {
  /// To the nearest, halves up.
  kHALF_UP = 0,
  /// To the nearest, halves down.
  kHALF_DOWN = 1,
  /// Down.
  kFLOOR = 2,
  /// Up.
  kCEIL = 3,
};
template <> constexpr int32_t EnumMax<ResizeRoundMode>() noexcept {
  return 4;
}

/// Interpolation to output dimensions, given as such or by input 1, or by scales of all axes.
class IResizeLayer : public ILayer {
 public:
  /// Sets the dimensions of the output. Input 1, an INT32 or INT64 vector, replaces them. Default:
  /// none.
  void setOutputDimensions(const Dims& dimensions) noexcept;
  /// Returns the dimensions of the output. Input 1, an INT32 or INT64 vector, replaces them.
  /// Default: none.
  Dims getOutputDimensions() const noexcept;
  /// Sets the factor from the input's to the output's extent for each axis, `nbScales` positive
  /// numbers, which are copied; they replace output dimensions.
  void setScales(const float* scales, int32_t nbScales) noexcept;
  /// Writes the scales to `scales` where it has room (`size` of at least their number). Returns
  /// their number; -1 where none are set.
  int32_t getScales(int32_t size, float* scales) const noexcept;
  /// Sets the way that values between elements are computed. Default: kNEAREST.
  void setResizeMode(InterpolationMode interpolationMode) noexcept;
  /// Returns the way that values between elements are computed. Default: kNEAREST.
  InterpolationMode getResizeMode() const noexcept;
  /// Sets the way that an output index becomes a place in the input. Default: kASYMMETRIC.
  void setCoordinateTransformation(ResizeCoordinateTransformation coordTransform) noexcept;
  /// Returns the way that an output index becomes a place in the input. Default: kASYMMETRIC.
  ResizeCoordinateTransformation getCoordinateTransformation() const noexcept;
  /// Sets the place that an axis with one output element reads. Default: kFORMULA.
  void setSelectorForSinglePixel(ResizeSelector selector) noexcept;
  /// Returns the place that an axis with one output element reads. Default: kFORMULA.
  ResizeSelector getSelectorForSinglePixel() const noexcept;
  /// Sets the rounding of places to elements in kNEAREST. Default: kFLOOR.
  void setNearestRounding(ResizeRoundMode value) noexcept;
  /// Returns the rounding of places to elements in kNEAREST. Default: kFLOOR.
  ResizeRoundMode getNearestRounding() const noexcept;
  /// Sets the coefficient of kCUBIC. Default: -0.75.
  void setCubicCoeff(float A) noexcept;
  /// Returns the coefficient of kCUBIC. Default: -0.75.
  float getCubicCoeff() const noexcept;
  /// Sets whether elements outside of the input get the weight 0 and the others are scaled to a sum
  /// of 1. Default: false.
  void setExcludeOutside(bool excludeFlag) noexcept;
  /// Returns whether elements outside of the input get the weight 0 and the others are scaled to a
  /// sum of 1. Default: false.
  bool getExcludeOutside() const noexcept;

 protected:
  apiv::VResizeLayer* mImpl{nullptr};
};

/// Iterations of a value that come out of a loop: the last, or all, joined along an axis.
enum class LoopOutput : int32_t {
  /// The value of the last iteration.
  kLAST_VALUE = 0,
  /// The values of all iterations, the first one first.
  kCONCATENATE = 1,
  /// The values of all iterations, the last one first.
  kREVERSE = 2,
};
template <> constexpr int32_t EnumMax<LoopOutput>() noexcept {
  return 3;
}

/// COUNT: a number of iterations. WHILE: a BOOL that is looked at before each one.
enum class TripLimit : int32_t {
  /// A number of iterations.
  kCOUNT = 0,
  /// A condition that is read before each iteration.
  kWHILE = 1,
};
template <> constexpr int32_t EnumMax<TripLimit>() noexcept {
  return 2;
}

/// A layer at the boundary of a loop.
class ILoopBoundaryLayer : public ILayer {
 public:
  /// Returns the loop that the layer belongs to.
  ILoop* getLoop() const noexcept;

 protected:
  apiv::VLoopBoundaryLayer* mBoundary{nullptr};
};

/// A layer at the boundary of a conditional.
class IIfConditionalBoundaryLayer : public ILayer {
 public:
  /// Returns the conditional that the layer belongs to.
  IIfConditional* getConditional() const noexcept;

 protected:
  apiv::VConditionalBoundaryLayer* mBoundary{nullptr};
};

/// The condition: BOOL without axes.
class IConditionLayer : public IIfConditionalBoundaryLayer {
 protected:
  apiv::VConditionLayer* mImpl{nullptr};
};

/// The value of the branch that was taken. Both branches give one type and number of axes.
class IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer {
 protected:
  apiv::VConditionalOutputLayer* mImpl{nullptr};
};

/// A value that the branches read: layers that depend on it are computed in the branch that is
/// taken only.
class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer {
 protected:
  apiv::VConditionalInputLayer* mImpl{nullptr};
};

/// Two branches and a condition. Values reach the branches through addInput and leave by addOutput.
class IIfConditional : public INoCopy {
 public:
  /// Sets the condition, a BOOL scalar. A conditional has one; a second is an error and gives null.
  IConditionLayer* setCondition(ITensor& condition) noexcept;
  /// Adds an output from the values of both branches, which must have equal types and numbers of
  /// axes. Null, with an error logged, for tensors of other networks.
  IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput,
                                       ITensor& falseSubgraphOutput) noexcept;
  /// Adds an input: layers of a branch read its output in place of the tensor, and are then
  /// computed only if the branch is taken.
  IIfConditionalInputLayer* addInput(ITensor& input) noexcept;
  /// Sets the name in messages, null for ""; it is copied. Default: "".
  void setName(const char* name) noexcept;
  /// Returns the name in messages, null for ""; it is copied. Default: "".
  const char* getName() const noexcept;

 protected:
  apiv::VIfConditional* mImpl{nullptr};
};

/// A value that an iteration hands to the next: input 0 is the first one, input 1 (setInput) the
/// next.
class IRecurrenceLayer : public ILoopBoundaryLayer {
 protected:
  apiv::VRecurrenceLayer* mImpl{nullptr};
};

/// A value of a loop outside of it. kLAST_VALUE takes a recurrence; the others need input 1, the
/// number of iterations to join.
class ILoopOutputLayer : public ILoopBoundaryLayer {
 public:
  /// Returns which of the value's iterations come out.
  LoopOutput getLoopOutput() const noexcept;
  /// Sets the axis along which iterations are joined, from 0; kLAST_VALUE does not use it. Default:
  /// that of the call that added the layer.
  void setAxis(int32_t axis) noexcept;
  /// Returns the axis along which iterations are joined, from 0; kLAST_VALUE does not use it.
  /// Default: that of the call that added the layer.
  int32_t getAxis() const noexcept;

 protected:
  apiv::VLoopOutputLayer* mImpl{nullptr};
};

/// Ends a loop. A loop has one or both kinds.
class ITripLimitLayer : public ILoopBoundaryLayer {
 public:
  /// Returns whether the loop ends by a count or by a condition.
  TripLimit getTripLimit() const noexcept;

 protected:
  apiv::VTripLimitLayer* mImpl{nullptr};
};

/// The slice of a tensor that belongs to the iteration, along an axis, from either end.
class IIteratorLayer : public ILoopBoundaryLayer {
 public:
  /// Sets the axis that iterations take slices of, from 0. Default: that of the call that added the
  /// layer.
  void setAxis(int32_t axis) noexcept;
  /// Returns the axis that iterations take slices of, from 0. Default: that of the call that added
  /// the layer.
  int32_t getAxis() const noexcept;
  /// Sets whether slices are taken from the end. Default: that of the call that added the layer.
  void setReverse(bool reverse) noexcept;
  /// Returns whether slices are taken from the end. Default: that of the call that added the layer.
  bool getReverse() const noexcept;

 protected:
  apiv::VIteratorLayer* mImpl{nullptr};
};

/// Layers that are computed again and again: all that depend on its recurrences and iterators.
class ILoop : public INoCopy {
 public:
  /// Adds a value that iterations hand on. Its output is `initialValue` in the first iteration, and
  /// later the tensor that setInput(1) gives.
  IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept;
  /// Adds a limit: an INT32 or INT64 scalar of iterations, or a BOOL scalar that is read before
  /// each. A loop has at most one of each.
  ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept;
  /// Adds a layer whose output is, in each iteration, the next slice of a tensor of outside along
  /// an axis.
  IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0, bool reverse = false) noexcept;
  /// Adds an output of the loop. kLAST_VALUE takes a recurrence's output; kCONCATENATE and kREVERSE
  /// need the number of iterations as input 1.
  ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind,
                                  int32_t axis = 0) noexcept;
  /// Sets the name in messages, null for ""; it is copied. Default: "".
  void setName(const char* name) noexcept;
  /// Returns the name in messages, null for ""; it is copied. Default: "".
  const char* getName() const noexcept;

 protected:
  apiv::VLoop* mImpl{nullptr};
};

/// The second input where the first (BOOL) is true, else the third; extents of 1 are repeated.
class ISelectLayer : public ILayer {
 protected:
  apiv::VSelectLayer* mImpl{nullptr};
};

/// Fails the run with a message where its BOOL input is not all true. Has no outputs.
class IAssertionLayer : public ILayer {
 public:
  /// Sets the text of the error that the run fails with; it is copied. Default: that of the call
  /// that added the layer.
  void setMessage(const char* message) noexcept;
  /// Returns the text of the error that the run fails with; it is copied. Default: that of the call
  /// that added the layer.
  const char* getMessage() const noexcept;

 protected:
  apiv::VAssertionLayer* mImpl{nullptr};
};

/// LINSPACE: alpha + beta * index. RANDOM_UNIFORM: between alpha and beta. RANDOM_NORMAL: mean
/// alpha, standard deviation beta.
enum class FillOperation : int32_t {
  /// Numbers at even distances: alpha is the first one, beta the step along each axis.
  kLINSPACE = 0,
  /// Random numbers, uniform from alpha to beta.
  kRANDOM_UNIFORM = 1,
  /// Random numbers of the normal distribution with mean alpha and standard deviation beta.
  kRANDOM_NORMAL = 2,
};
template <> constexpr int32_t EnumMax<FillOperation>() noexcept {
  return 3;
}

/// A tensor of numbers by rule. Inputs 0 to 2 may replace dimensions, alpha and beta; a linear
/// sequence of several axes takes one beta for each.
class IFillLayer : public ILayer {
 public:
  /// Sets the dimensions. Input 0 replaces them. Default: those of the call that added the layer.
  void setDimensions(const Dims& dimensions) noexcept;
  /// Returns the dimensions. Input 0 replaces them. Default: those of the call that added the
  /// layer.
  Dims getDimensions() const noexcept;
  /// Sets the rule that the numbers follow. Default: that of the call that added the layer.
  void setOperation(FillOperation op) noexcept;
  /// Returns the rule that the numbers follow. Default: that of the call that added the layer.
  FillOperation getOperation() const noexcept;
  /// Sets the first number, the lower bound or the mean. Input 1 replaces it. Default: 0.
  void setAlpha(double alpha) noexcept;
  /// Returns the first number, the lower bound or the mean. Input 1 replaces it. Default: 0.
  double getAlpha() const noexcept;
  /// Sets the step, the upper bound or the standard deviation. Input 2 replaces it. Default: 1.
  void setBeta(double beta) noexcept;
  /// Returns the step, the upper bound or the standard deviation. Input 2 replaces it. Default: 1.
  double getBeta() const noexcept;
  /// Sets the first number or the lower bound as an integer, for outputs in INT32 or INT64.
  /// Default: 0.
  void setAlphaInt64(int64_t alpha) noexcept;
  /// Returns the first number or the lower bound as an integer, for outputs in INT32 or INT64.
  /// Default: 0.
  int64_t getAlphaInt64() const noexcept;
  /// Sets the step or the upper bound as an integer, for outputs in INT32 or INT64. Default: 1.
  void setBetaInt64(int64_t beta) noexcept;
  /// Returns the step or the upper bound as an integer, for outputs in INT32 or INT64. Default: 1.
  int64_t getBetaInt64() const noexcept;
  /// Returns whether the integer setters were called last.
  bool isAlphaBetaInt64() const noexcept;
  /// Sets the type of the output. Default: that of the call that added the layer, else FLOAT.
  void setToType(DataType toType) noexcept;
  /// Returns the type of the output. Default: that of the call that added the layer, else FLOAT.
  DataType getToType() const noexcept;

 protected:
  apiv::VFillLayer* mImpl{nullptr};
};

/// round(x / scale), saturated: INT8, FP8, INT4 or FP4. The scale is one number, one for each slice
/// of the axis, or one for each block where it has as many axes as x.
class IQuantizeLayer : public ILayer {
 public:
  /// Returns the axis that scales belong to, from 0, where there is one for each of its slices; -1
  /// for none. Default: -1.
  int32_t getAxis() const noexcept;
  /// Sets the axis that scales belong to, from 0, where there is one for each of its slices; -1 for
  /// none. Default: -1.
  void setAxis(int32_t axis) noexcept;
  /// Sets the extents of the blocks that share a scale, one for each axis. Default: none. Returns
  /// false for more than 8. Since 10.15.
  bool setBlockShape(const Dims& blockShape) noexcept;
  /// Returns the extents of the blocks that share a scale, one for each axis. Default: none. Since
  /// 10.15.
  Dims getBlockShape() const noexcept;
  /// Sets the type of the output: INT8, FP8, INT4 or FP4. Default: that of the call that added the
  /// layer, else INT8.
  void setToType(DataType toType) noexcept;
  /// Returns the type of the output: INT8, FP8, INT4 or FP4. Default: that of the call that added
  /// the layer, else INT8.
  DataType getToType() const noexcept;

 protected:
  apiv::VQuantizeLayer* mImpl{nullptr};
};

/// x * scale, with scales as in IQuantizeLayer.
class IDequantizeLayer : public ILayer {
 public:
  /// Returns the axis that scales belong to, from 0, where there is one for each of its slices; -1
  /// for none. Default: -1.
  int32_t getAxis() const noexcept;
  /// Sets the axis that scales belong to, from 0, where there is one for each of its slices; -1 for
  /// none. Default: -1.
  void setAxis(int32_t axis) noexcept;
  /// Sets the extents of the blocks that share a scale, one for each axis. Default: none. Returns
  /// false for more than 8. Since 10.15.
  bool setBlockShape(const Dims& blockShape) noexcept;
  /// Returns the extents of the blocks that share a scale, one for each axis. Default: none. Since
  /// 10.15.
  Dims getBlockShape() const noexcept;
  /// Sets the type of the output: FLOAT, HALF or BF16. Default: that of the call that added the
  /// layer, else FLOAT.
  void setToType(DataType toType) noexcept;
  /// Returns the type of the output: FLOAT, HALF or BF16. Default: that of the call that added the
  /// layer, else FLOAT.
  DataType getToType() const noexcept;

 protected:
  apiv::VDequantizeLayer* mImpl{nullptr};
};

/// Quantization in blocks with scales from the data: output 0 the numbers, output 1 the scales.
/// Input 1, if set, scales the scales. Since 10.8.
class IDynamicQuantizeLayer : public ILayer {
 public:
  /// Sets the type of the numbers. Default: that of the call that added the layer.
  void setToType(DataType toType) noexcept;
  /// Returns the type of the numbers. Default: that of the call that added the layer.
  DataType getToType() const noexcept;
  /// Sets the type of the scales. Default: that of the call that added the layer.
  void setScaleType(DataType scaleType) noexcept;
  /// Returns the type of the scales. Default: that of the call that added the layer.
  DataType getScaleType() const noexcept;
  /// Sets the axis that blocks lie along. Use setBlockShape(). Default: that of the call that added
  /// the layer.
  TRT_DEPRECATED void setAxis(int32_t axis) noexcept;
  /// Returns the axis that blocks lie along. Use setBlockShape(). Default: that of the call that
  /// added the layer.
  TRT_DEPRECATED int32_t getAxis() const noexcept;
  /// Sets the extent of a block along the axis, at least 1. Use setBlockShape(). Default: that of
  /// the call that added the layer.
  TRT_DEPRECATED void setBlockSize(int32_t size) noexcept;
  /// Returns the extent of a block along the axis, at least 1. Use setBlockShape(). Default: that
  /// of the call that added the layer.
  TRT_DEPRECATED int32_t getBlockSize() const noexcept;
  /// Sets the extents of the blocks that share a scale, one for each axis. Default: none. Returns
  /// false for more than 8. Since 10.15.
  void setBlockShape(const Dims& blockShape) noexcept;
  /// Returns the extents of the blocks that share a scale, one for each axis. Default: none. Since
  /// 10.15.
  Dims getBlockShape() const noexcept;

 protected:
  apiv::VDynamicQuantizeLayer* mImpl{nullptr};
};

/// Einstein summation, "ij,jk->ik".
class IEinsumLayer : public ILayer {
 public:
  /// Sets the equation: subscripts of the inputs separated by commas, then "->" and the output's;
  /// it is copied. Default: that of the call that added the layer. Returns false for null and "".
  bool setEquation(const char* equation) noexcept;
  /// Returns the equation: subscripts of the inputs separated by commas, then "->" and the
  /// output's; it is copied. Default: that of the call that added the layer.
  const char* getEquation() const noexcept;

 protected:
  apiv::VEinsumLayer* mImpl{nullptr};
};

/// ELEMENT replaces elements along an axis, ND slices by tuples of indices.
enum class ScatterMode : int32_t {
  /// Elements along an axis.
  kELEMENT = 0,
  /// Slices by tuples of indices.
  kND = 1,
};
template <> constexpr int32_t EnumMax<ScatterMode>() noexcept {
  return 2;
}

/// The first input with the places that the indices name replaced by the updates.
class IScatterLayer : public ILayer {
 public:
  /// Sets how indices name places in the data. Default: that of the call that added the layer.
  void setMode(ScatterMode mode) noexcept;
  /// Returns how indices name places in the data. Default: that of the call that added the layer.
  ScatterMode getMode() const noexcept;
  /// Sets the axis that indices of kELEMENT count along, from 0. Default: 0.
  void setAxis(int32_t axis) noexcept;
  /// Returns the axis that indices of kELEMENT count along, from 0. Default: 0.
  int32_t getAxis() const noexcept;

 protected:
  apiv::VScatterLayer* mImpl{nullptr};
};

/// values[1] at the index, values[0] elsewhere, along a new axis of extent `depth`.
class IOneHotLayer : public ILayer {
 public:
  /// Sets the place of the new axis; -1 for the last. Default: that of the call that added the
  /// layer.
  void setAxis(int32_t axis) noexcept;
  /// Returns the place of the new axis; -1 for the last. Default: that of the call that added the
  /// layer.
  int32_t getAxis() const noexcept;

 protected:
  apiv::VOneHotLayer* mImpl{nullptr};
};

/// Samples an image at the points of a grid, whose coordinates reach from -1 to 1.
class IGridSampleLayer : public ILayer {
 public:
  /// Sets the way that values between elements are computed. Default: kLINEAR.
  void setInterpolationMode(InterpolationMode mode) noexcept;
  /// Returns the way that values between elements are computed. Default: kLINEAR.
  InterpolationMode getInterpolationMode() const noexcept;
  /// Sets whether -1 and 1 are the centres of the outer elements, rather than their edges. Default:
  /// false.
  void setAlignCorners(bool alignCorners) noexcept;
  /// Returns whether -1 and 1 are the centres of the outer elements, rather than their edges.
  /// Default: false.
  bool getAlignCorners() const noexcept;
  /// Sets how places outside of the image are read: kCLAMP, kFILL (zeros) or kREFLECT. Default:
  /// kFILL. Returns false for other modes.
  bool setSampleMode(SampleMode mode) noexcept;
  /// Returns how places outside of the image are read: kCLAMP, kFILL (zeros) or kREFLECT. Default:
  /// kFILL.
  SampleMode getSampleMode() const noexcept;

 protected:
  apiv::VGridSampleLayer* mImpl{nullptr};
};

/// (x1, y1, x2, y2) or (x centre, y centre, width, height).
enum class BoundingBoxFormat : int32_t {
  /// (x1, y1, x2, y2), two opposite corners.
  kCORNER_PAIRS = 0,
  /// (x, y, width, height), with the center.
  kCENTER_SIZES = 1,
};
template <> constexpr int32_t EnumMax<BoundingBoxFormat>() noexcept {
  return 2;
}

/// Boxes [batch, n, 4] and scores [batch, n, classes] to rows of batch, class and box, and their
/// number (INT32). Inputs 2 to 4: most boxes a class, IoU threshold, score threshold.
class INMSLayer : public ILayer {
 public:
  /// Sets the meaning of a box's four numbers. Default: kCORNER_PAIRS.
  void setBoundingBoxFormat(BoundingBoxFormat fmt) noexcept;
  /// Returns the meaning of a box's four numbers. Default: kCORNER_PAIRS.
  BoundingBoxFormat getBoundingBoxFormat() const noexcept;
  /// Sets how many boxes of the best scores are looked at for each batch and class. It is kept and
  /// not read: all are looked at. Default: 2000.
  void setTopKBoxLimit(int32_t limit) noexcept;
  /// Returns how many boxes of the best scores are looked at for each batch and class. It is kept
  /// and not read: all are looked at. Default: 2000.
  int32_t getTopKBoxLimit() const noexcept;
  /// Sets the type of the indices, INT32 or INT64. Default: that of the call that added the layer,
  /// else INT32. Returns false for other types. Since 10.14.
  bool setIndicesType(DataType type) noexcept;
  /// Returns the type of the indices, INT32 or INT64. Default: that of the call that added the
  /// layer, else INT32. Since 10.14.
  DataType getIndicesType() const noexcept;

 protected:
  apiv::VNMSLayer* mImpl{nullptr};
};

/// Reverses the first lengths[i] steps of each sequence. Batch axis 1, sequence axis 0 unless set.
class IReverseSequenceLayer : public ILayer {
 public:
  /// Sets the axis of the sequences, from 0. Default: 1.
  void setBatchAxis(int32_t batchAxis) noexcept;
  /// Returns the axis of the sequences, from 0. Default: 1.
  int32_t getBatchAxis() const noexcept;
  /// Sets the axis of the steps, from 0. Default: 0.
  void setSequenceAxis(int32_t sequenceAxis) noexcept;
  /// Returns the axis of the steps, from 0. Default: 0.
  int32_t getSequenceAxis() const noexcept;

 protected:
  apiv::VReverseSequenceLayer* mImpl{nullptr};
};

/// (x - mean) / sqrt(variance + epsilon) * scale + bias over the axes of a mask, and over the
/// channels of a group. Scale and bias have x's number of axes; with groups the second version
/// takes them a channel.
class INormalizationLayer : public ILayer {
 public:
  /// Sets the number that is added to the variance, at least 0. Default: 1e-5.
  void setEpsilon(float eps) noexcept;
  /// Returns the number that is added to the variance, at least 0. Default: 1e-5.
  float getEpsilon() const noexcept;
  /// Sets the axes that mean and variance are taken over, a bit mask with at least one bit; bit i
  /// is axis i. Default: those of the call that added the layer.
  void setAxes(uint32_t axesMask) noexcept;
  /// Returns the axes that mean and variance are taken over, a bit mask with at least one bit; bit
  /// i is axis i. Default: those of the call that added the layer.
  uint32_t getAxes() const noexcept;
  /// Sets the number of groups that the channels are split into, at least 1, which divides them.
  /// Default: 1.
  void setNbGroups(int64_t nbGroups) noexcept;
  /// Returns the number of groups that the channels are split into, at least 1, which divides them.
  /// Default: 1.
  int64_t getNbGroups() const noexcept;
  /// Sets the type that mean and variance are computed in: FLOAT, or HALF. Default: FLOAT. They are
  /// computed in FLOAT in any case.
  TRT_DEPRECATED void setComputePrecision(DataType type) noexcept;
  /// Returns the type that mean and variance are computed in: FLOAT, or HALF. Default: FLOAT.
  TRT_DEPRECATED DataType getComputePrecision() const noexcept;
  /// Returns whether the layer was added by addNormalizationV2(). Since 10.15.
  bool isV2() const noexcept;

 protected:
  apiv::VNormalizationLayer* mImpl{nullptr};
};

/// Drops axes of extent 1, named by input 1. Since 10.7.
class ISqueezeLayer : public ILayer {
 protected:
  apiv::VSqueezeLayer* mImpl{nullptr};
};

/// Inserts axes of extent 1, named by input 1. Since 10.7.
class IUnsqueezeLayer : public ILayer {
 protected:
  apiv::VUnsqueezeLayer* mImpl{nullptr};
};

/// Operations of a running sum.
enum class CumulativeOperation : int32_t {
  /// Running sum.
  kSUM = 0,
};
template <> constexpr int32_t EnumMax<CumulativeOperation>() noexcept {
  return 1;
}

/// Running sum along the axis that input 1 gives (constant). Since 10.8.
class ICumulativeLayer : public ILayer {
 public:
  /// Sets the operation; kSUM is the only one. Default: kSUM. Returns false for others.
  bool setOperation(CumulativeOperation op) noexcept;
  /// Returns the operation; kSUM is the only one. Default: kSUM.
  CumulativeOperation getOperation() const noexcept;
  /// Sets whether an element's own value is left out of its sum. Default: that of the call that
  /// added the layer.
  void setExclusive(bool exclusive) noexcept;
  /// Returns whether an element's own value is left out of its sum. Default: that of the call that
  /// added the layer.
  bool getExclusive() const noexcept;
  /// Sets whether sums start at the end. Default: that of the call that added the layer.
  void setReverse(bool reverse) noexcept;
  /// Returns whether sums start at the end. Default: that of the call that added the layer.
  bool getReverse() const noexcept;

 protected:
  apiv::VCumulativeLayer* mImpl{nullptr};
};

/// Functions of the products of queries and keys.
enum class AttentionNormalizationOp : int32_t {
  /// Scores are used as they are.
  kNONE = 0,
  /// Softmax over the keys.
  kSOFTMAX = 1,
};
template <> constexpr int32_t EnumMax<AttentionNormalizationOp>() noexcept {
  return 2;
}

/// A layer of an attention. Since 10.14.
class IAttentionBoundaryLayer : public ILayer {
 public:
  /// Returns the attention that the layer belongs to.
  IAttention* getAttention() const noexcept;

 protected:
  apiv::VAttentionBoundaryLayer* mBoundary{nullptr};
};

/// An input of an attention. Since 10.14.
class IAttentionInputLayer : public IAttentionBoundaryLayer {
 protected:
  apiv::VAttentionInputLayer* mImpl{nullptr};
};

/// The output of an attention. Since 10.14.
class IAttentionOutputLayer : public IAttentionBoundaryLayer {
 protected:
  apiv::VAttentionOutputLayer* mImpl{nullptr};
};

/// softmax(q k^T + mask) v over [batch, heads, sequence, size]; fewer key heads are shared.
/// Products are not scaled: scale the query. A BOOL mask keeps the products where it is true;
/// others are added. Since 10.14.
class IAttention : public INoCopy {
 public:
  /// Sets the function of the products of queries and keys. Default: that of the call that added
  /// it. Returns false for values that are no operation.
  bool setNormalizationOperation(AttentionNormalizationOp op) noexcept;
  /// Returns the function of the products of queries and keys. Default: that of the call that added
  /// it.
  AttentionNormalizationOp getNormalizationOperation() const noexcept;
  /// Sets the mask, which broadcasts to [batch, heads, queries, keys]: BOOL keeps the positions
  /// that are true, other types are added to the products. Returns false for tensors of other
  /// networks.
  bool setMask(ITensor& mask) noexcept;
  /// Returns the mask, or null where there is none.
  ITensor* getMask() noexcept;
  /// Sets whether a query sees keys up to its own index only. Default: that of the call that added
  /// it.
  bool setCausal(bool isCausal) noexcept;
  /// Returns whether a query sees keys up to its own index only. Default: that of the call that
  /// added it.
  bool getCausal() const noexcept;
  /// Sets whether the attention may be computed by several kernels. Where it is false and no kernel
  /// computes the whole, which holds without a softmax and with quantized probabilities, builds
  /// warn. Default: false.
  bool setDecomposable(bool decomposable) noexcept;
  /// Returns whether the attention may be computed by several kernels. Where it is false and no
  /// kernel computes the whole, which holds without a softmax and with quantized probabilities,
  /// builds warn. Default: false.
  bool getDecomposable() const noexcept;
  /// Replaces query (0), key (1) or value (2), all [batch, heads, sequence, size]. Returns false
  /// for other indices and for tensors of other networks.
  bool setInput(int32_t index, ITensor& input) noexcept;
  /// Returns the number of inputs.
  int32_t getNbInputs() const noexcept;
  /// Returns an input, or null where `index` is not from 0 to getNbInputs() - 1 or an optional one
  /// is not set.
  ITensor* getInput(int32_t index) const noexcept;
  /// Returns the number of outputs.
  int32_t getNbOutputs() const noexcept;
  /// Returns an output, or null where `index` is not from 0 to getNbOutputs() - 1.
  ITensor* getOutput(int32_t index) const noexcept;
  /// Sets the name in messages; it is copied. Default: the kind and a number, as for layers.
  /// Returns false for null.
  bool setName(const char* name) noexcept;
  /// Returns the name in messages; it is copied. Default: the kind and a number, as for layers.
  const char* getName() const noexcept;
  /// Sets the scale that the probabilities are quantized with before they are multiplied by the
  /// value, or null for none. Default: null. Returns false for tensors of other networks.
  bool setNormalizationQuantizeScale(ITensor& tensor) noexcept;
  /// Returns the scale that the probabilities are quantized with before they are multiplied by the
  /// value, or null for none. Default: null.
  ITensor* getNormalizationQuantizeScale() const noexcept;
  /// Sets the type that the probabilities are quantized to, INT8 or FP8. Default: INT8. Returns
  /// false for other types.
  bool setNormalizationQuantizeToType(DataType type) noexcept;
  /// Returns the type that the probabilities are quantized to, INT8 or FP8. Default: INT8.
  DataType getNormalizationQuantizeToType() const noexcept;
  /// Sets a text that comes back from the inspector; it is copied. Default: "". Null is an error.
  /// Since 10.15.
  bool setMetadata(const char* metadata) noexcept;
  /// Returns a text that comes back from the inspector; it is copied. Default: "". Since 10.15.
  const char* getMetadata() const noexcept;
  /// Sets the number of devices that the attention runs on. Default: 1. Each has its part of the
  /// sequence, in the order of ranks: its queries see the keys and values of all, which are
  /// gathered (IExecutionContext::setCommunicator). Builds refuse causal attention on several.
  /// Since 10.16.
  bool setNbRanks(int32_t nbRanks) noexcept;
  /// Returns the number of devices that the attention runs on. Default: 1. Since 10.16.
  int32_t getNbRanks() const noexcept;

 protected:
  apiv::VAttention* mImpl{nullptr};
};

/// Turns pairs of elements of [batch, heads, sequence, size] by the angles of cosine and sine
/// caches. Since 10.15.
class IRotaryEmbeddingLayer : public ILayer {
 public:
  /// Sets whether a pair is two neighbours, rather than one element of either half. Default: that
  /// of the call that added the layer.
  void setInterleaved(bool interleaved) noexcept;
  /// Returns whether a pair is two neighbours, rather than one element of either half. Default:
  /// that of the call that added the layer.
  bool getInterleaved() const noexcept;
  /// Sets how many leading elements are rotated, an even number; 0 for all. Default: that of the
  /// call that added the layer. Returns false for odd and negative numbers.
  bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept;
  /// Returns how many leading elements are rotated, an even number; 0 for all. Default: that of the
  /// call that added the layer.
  int32_t getRotaryEmbeddingDim() const noexcept;

 protected:
  apiv::VRotaryEmbeddingLayer* mImpl{nullptr};
};

/// Where updates go in a cache.
enum class KVCacheMode : int32_t {
  /// At the write indices, one after the other along the sequence axis.
  kLINEAR = 0,
};
template <> constexpr int32_t EnumMax<KVCacheMode>() noexcept {
  return 1;
}

/// The cache [batch, heads, capacity, size] with the update written from each batch's index on.
/// Since 10.15.
class IKVCacheUpdateLayer : public ILayer {
 public:
  /// Sets where updates go in the cache. Default: that of the call that added the layer. Returns
  /// false for values that are no mode.
  bool setCacheMode(KVCacheMode cacheMode) noexcept;
  /// Returns where updates go in the cache. Default: that of the call that added the layer.
  KVCacheMode getCacheMode() const noexcept;

 protected:
  apiv::VKVCacheUpdateLayer* mImpl{nullptr};
};

/// Activation of the gate.
enum class MoEActType : int32_t {
  /// No activation.
  kNONE = 0,
  /// x * sigmoid(x).
  kSILU = 1,
};
template <> constexpr int32_t EnumMax<MoEActType>() noexcept {
  return 2;
}

/// Mixture of experts: down(act(gate(x)) * up(x)) of the chosen experts, weighted by their scores.
/// Weights are [experts, hidden, inner] and [experts, inner, hidden]. Since 10.16.
class IMoELayer : public ILayer {
 public:
  /// Sets the weights of all experts, gate and up [experts, hidden, inner] and down [experts,
  /// inner, hidden], and the activation of the gate.
  void setGatedWeights(ITensor& fcGateWeights, ITensor& fcUpWeights, ITensor& fcDownWeights,
                       MoEActType activationType) noexcept;
  /// Sets the biases of all experts, gate and up [experts, inner] and down [experts, hidden].
  void setGatedBiases(ITensor& fcGateBiases, ITensor& fcUpBiases, ITensor& fcDownBiases) noexcept;
  /// Sets the activation of the gate. Default: kSILU.
  void setActivationType(MoEActType activationType) noexcept;
  /// Returns the activation of the gate. Default: kSILU.
  MoEActType getActivationType() const noexcept;
  /// Would quantize the activations before the last product with a given scale. Builds refuse it:
  /// quantize outside of the layer.
  void setQuantizationStatic(ITensor& fcDownActivationScale, DataType dataType) noexcept;
  /// Would quantize the activations before the last product with scales from the data. Builds
  /// refuse it: quantize outside of the layer.
  void setQuantizationDynamicDblQ(ITensor& fcDownActivationDblQScale, DataType dataType,
                                  const Dims& blockShape, DataType dynQOutputScaleType) noexcept;
  /// Sets the type that activations would be quantized to. Builds refuse quantized experts.
  /// Default: FLOAT.
  void setQuantizationToType(DataType type) noexcept;
  /// Returns the type that activations would be quantized to. Builds refuse quantized experts.
  /// Default: FLOAT.
  DataType getQuantizationToType() const noexcept;
  /// Sets the extents of the blocks that would share a scale. Builds refuse quantized experts.
  /// Default: none.
  void setQuantizationBlockShape(const Dims& blockShape) noexcept;
  /// Returns the extents of the blocks that would share a scale. Builds refuse quantized experts.
  /// Default: none.
  Dims getQuantizationBlockShape() const noexcept;
  /// Sets the type of scales from the data. Builds refuse quantized experts. Default: FLOAT.
  void setDynQOutputScaleType(DataType type) noexcept;
  /// Returns the type of scales from the data. Builds refuse quantized experts. Default: FLOAT.
  DataType getDynQOutputScaleType() const noexcept;
  /// Sets the three parameters of the gate's activation at once.
  void setSwigluParams(float limit, float alpha, float beta) noexcept;
  /// Sets the bound that gate and up values are clipped to, above 0. Default: infinity.
  void setSwigluParamLimit(float limit) noexcept;
  /// Returns the bound that gate and up values are clipped to, above 0. Default: infinity.
  float getSwigluParamLimit() const noexcept;
  /// Sets the factor inside of the gate's sigmoid. Default: 1.
  void setSwigluParamAlpha(float alpha) noexcept;
  /// Returns the factor inside of the gate's sigmoid. Default: 1.
  float getSwigluParamAlpha() const noexcept;
  /// Sets the number that is added to up values. Default: 0.
  void setSwigluParamBeta(float beta) noexcept;
  /// Returns the number that is added to up values. Default: 0.
  float getSwigluParamBeta() const noexcept;
  /// Replaces the hidden states (0), the chosen experts (1) or their scores (2). An error for
  /// tensors of other networks.
  void setInput(int32_t index, ITensor& tensor) noexcept;

 protected:
  apiv::VMoELayer* mImpl{nullptr};
};

/// A collective operation among the devices of the context's communicator
/// (IExecutionContext::setCommunicator), by NCCL. Without one there is one rank, and it gives its
/// input. Each rank runs the plan in a context of its own. Since 10.16.
class IDistCollectiveLayer : public ILayer {
 protected:
  apiv::VDistCollectiveLayer* mImpl{nullptr};
};

/// A network under construction: inputs, layers, outputs. Objects that it returns live as long as
/// it does. A call that adds a layer returns it, or null with an error logged. Not thread-safe.
class INetworkDefinition : public INoCopy {
 public:
  /// Adds an input with a name that is not taken, a type and dimensions of at most 8 axes, -1 for
  /// extents that profiles decide. Null, with an error logged, where one of these is wrong. Without
  /// strong typing a 16-bit type is that of the application's memory, and layers compute in 32 bits
  /// unless the configuration allows fewer.
  ITensor* addInput(const char* name, DataType type, const Dims& dimensions) noexcept;
  /// Makes a tensor an output of the engine, by its name. An error for inputs of the network: add
  /// an identity layer.
  void markOutput(ITensor& tensor) noexcept;
  /// Lets debug listeners see a layer's output, or an input. Such an output is computed even where
  /// fusion would leave it out. Returns false for tensors of other networks.
  bool markDebug(ITensor& tensor) noexcept;
  /// Undoes markDebug(). Returns false where the tensor was not marked.
  bool unmarkDebug(ITensor& tensor) noexcept;
  /// Returns whether a tensor is marked by markDebug().
  bool isDebugTensor(const ITensor& tensor) const noexcept;
  /// Lets contexts show the tensors that fusion leaves (setUnfusedTensorsDebugState()). Returns
  /// true. Since 10.12.
  bool markUnfusedTensorsAsDebugTensors() noexcept;
  /// Withdraws the mark. Returns true. Since 10.12.
  bool unmarkUnfusedTensorsAsDebugTensors() noexcept;
  /// Adds y = f(x), of the input's type and dimensions. Alpha and beta are set on the layer.
  IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept;
  /// Adds a local response normalization across channels of [N, C, spatial...], over an odd window
  /// of channels.
  ILRNLayer* addLRN(ITensor& input, int64_t window, float alpha, float beta, float k) noexcept;
  /// Adds (x * scale + shift) ^ power with channels on axis 1. Weights of count 0 stand for 0, 1
  /// and 1; they are not copied and must live until the network is built.
  IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                        Weights power) noexcept;
  /// Adds a softmax over one axis, or over several together (setAxes()).
  ISoftMaxLayer* addSoftMax(ITensor& input) noexcept;
  /// Adds a layer that joins `nbInputs` tensors, at least 1, of equal type and of dimensions that
  /// differ along one axis only (setAxis()).
  IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept;
  /// Adds a function of two tensors with equal numbers of axes; extents of 1 broadcast. Comparisons
  /// give BOOL.
  IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2,
                                    ElementWiseOperation op) noexcept;
  /// Adds a function of each element, of the input's dimensions.
  IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation) noexcept;
  /// Adds a transposition, a reshape and a second transposition, each of which changes nothing
  /// until it is set.
  IShuffleLayer* addShuffle(ITensor& input) noexcept;
  /// Adds a one-hot encoding: `values` is [off, on], `depth` an INT32 or INT64 scalar that is
  /// constant, or computed from shapes, and `axis` the place of the new axis, -1 for the last.
  IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth, int32_t axis) noexcept;
  /// Returns the number of layers.
  int32_t getNbLayers() const noexcept;
  /// Returns a layer by its index in the order of addition, or null beyond the last.
  ILayer* getLayer(int32_t index) const noexcept;
  /// Returns the number of inputs.
  int32_t getNbInputs() const noexcept;
  /// Returns an input by its index in the order of addition, or null beyond the last.
  ITensor* getInput(int32_t index) const noexcept;
  /// Returns the number of outputs.
  int32_t getNbOutputs() const noexcept;
  /// Returns an output by its index in the order of marking, or null beyond the last.
  ITensor* getOutput(int32_t index) const noexcept;
  /// Adds a reduction over the axes of a bit mask (bit i is axis i), which stay with extent 1 where
  /// `keepDimensions`.
  IReduceLayer* addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                          bool keepDimensions) noexcept;
  /// Adds the `k` largest or smallest elements along one axis, sorted: output 0 the values, output
  /// 1 their indices in INT32. Use the overload with a type of indices.
  TRT_DEPRECATED ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k,
                                     uint32_t reduceAxes) noexcept;
  /// Adds the `k` largest or smallest elements along one axis, sorted: output 0 the values, output
  /// 1 their indices in INT32 or INT64. Since 10.14.
  ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes,
                      DataType indicesType) noexcept;
  /// Adds a layer that takes slices of `data` along an axis by indices of INT32 or INT64; negative
  /// ones count from the end. The axis is replaced by the dimensions of `indices`.
  IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept;
  /// Adds a layer that takes slices, elements or slices by tuples from `data`, by indices of INT32
  /// or INT64.
  IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept;
  /// Adds a softmax of the first bounds[i] elements of each row; the others become 0.
  IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept;
  /// Adds a matrix product over the last two axes of tensors with equal numbers of axes; leading
  /// extents of 1 broadcast. kVECTOR takes an operand without one of the two.
  IMatrixMultiplyLayer* addMatrixMultiply(ITensor& input0, MatrixOperation op0, ITensor& input1,
                                          MatrixOperation op1) noexcept;
  /// Adds the coordinates of the elements that are not 0, [axes, n] in INT32, n being a
  /// data-dependent extent. Use the overload with a type of indices.
  TRT_DEPRECATED INonZeroLayer* addNonZero(ITensor& input) noexcept;
  /// Adds the coordinates of the elements that are not 0, [axes, n] in INT32 or INT64, n being a
  /// data-dependent extent. Since 10.14.
  INonZeroLayer* addNonZero(ITensor& input, DataType indicesType) noexcept;
  /// Adds a tensor of weights, as many as the dimensions say. They are not copied and must live
  /// until the network is built.
  IConstantLayer* addConstant(const Dims& dimensions, Weights weights) noexcept;
  /// Adds a layer that gives its input, converted where setOutputType() says so.
  IIdentityLayer* addIdentity(ITensor& input) noexcept;
  /// Adds a conversion to another type. From floating point to integers it truncates; to BOOL it
  /// compares with 0.
  ICastLayer* addCast(ITensor& input, DataType toType) noexcept;
  /// Removes an input that no layer reads, and the marks of a tensor. An error where a layer reads
  /// it.
  void removeTensor(ITensor& tensor) noexcept;
  /// Undoes markOutput().
  void unmarkOutput(ITensor& tensor) noexcept;
  /// Adds a layer that a plugin of the second generation computes: an IPluginV2Ext or a class below
  /// it. The plugin is cloned. Use addPluginV3().
  TRT_DEPRECATED IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                                             IPluginV2& plugin) noexcept;
  /// Adds a layer that a plugin computes, from `nbInputs` inputs and `nbShapeInputs` INT32 or INT64
  /// scalars that may decide its shapes. The plugin is cloned. Null, with an error logged, where
  /// the plugin lacks a capability.
  IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
                              int32_t nbShapeInputs, IPluginV3& plugin) noexcept;
  /// Adds y[i] = x[start + i * stride], `size` elements along each axis. Strides may be negative.
  ISliceLayer* addSlice(ITensor& input, const Dims& start, const Dims& size,
                        const Dims& stride) noexcept;
  /// Sets the name, null for ""; it is copied. Default: "".
  void setName(const char* name) noexcept;
  /// Returns the name, null for ""; it is copied. Default: "".
  const char* getName() const noexcept;
  /// Adds the dimensions of a tensor as an INT64 vector.
  IShapeLayer* addShape(ITensor& input) noexcept;
  /// Returns false: batches are explicit.
  TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept;
  /// Returns the flags of the call that made the network, a bit mask of
  /// NetworkDefinitionCreationFlag.
  NetworkDefinitionCreationFlags getFlags() const noexcept;
  /// Returns whether a flag is on.
  bool getFlag(NetworkDefinitionCreationFlag networkDefinitionCreationFlag) const noexcept;
  /// Makes a tensor an output like markOutput(); shape tensors are bound in host memory. Returns
  /// true.
  bool markOutputForShapes(ITensor& tensor) noexcept;
  /// Undoes markOutputForShapes(). Returns true.
  bool unmarkOutputForShapes(ITensor& tensor) noexcept;
  /// Adds x where x >= 0, else x * slope; the slope's extents of 1 broadcast.
  IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept;
  /// Adds a convolution of [N, C, spatial...] over 1 to 3 spatial axes, with kernels [maps, C /
  /// groups, kernel...]. Weights are not copied and must live until the network is built; kernels
  /// of count 0 come from input 1.
  IConvolutionLayer* addConvolutionNd(ITensor& input, int64_t nbOutputMaps, const Dims& kernelSize,
                                      Weights kernelWeights, Weights biasWeights) noexcept;
  /// Adds a pooling of [N, C, spatial...] over windows of 1 to 3 spatial axes, with stride 1 until
  /// it is set.
  IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type, const Dims& windowSize) noexcept;
  /// Adds a transposed convolution of [N, C, spatial...] over 1 to 3 spatial axes, with kernels [C,
  /// maps / groups, kernel...]. Weights are not copied and must live until the network is built;
  /// kernels of count 0 come from input 1.
  IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps, Dims kernelSize,
                                          Weights kernelWeights, Weights biasWeights) noexcept;
  /// Adds (x * scale + shift) ^ power with channels on `channelAxis`. Weights of count 0 stand for
  /// 0, 1 and 1; they are not copied and must live until the network is built.
  IScaleLayer* addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                          Weights power, int32_t channelAxis) noexcept;
  /// Adds an interpolation to dimensions or by scales that are set on the layer.
  IResizeLayer* addResize(ITensor& input) noexcept;
  /// Adds a loop. Layers belong to it where they depend on its recurrences and iterators.
  ILoop* addLoop() noexcept;
  /// Adds a conditional, whose condition, inputs and outputs are set on it.
  IIfConditional* addIfConditional() noexcept;
  /// Adds a layer that takes each element from the second tensor where the first (BOOL) is true,
  /// else from the third; extents of 1 broadcast.
  ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput) noexcept;
  /// Adds a check that fails the run with the message, which is copied, where a BOOL tensor is not
  /// all true. It has no output.
  IAssertionLayer* addAssertion(ITensor& condition, const char* message) noexcept;
  /// Adds a tensor of FLOAT numbers by rule. Use the overload with a type.
  TRT_DEPRECATED IFillLayer* addFill(const Dims& dimensions, FillOperation op) noexcept;
  /// Adds a tensor of numbers by rule, of FLOAT, HALF, BF16, INT32 or INT64.
  IFillLayer* addFill(const Dims& dimensions, FillOperation op, DataType outputType) noexcept;
  /// Adds zeros around the last two axes; negative numbers drop elements.
  IPaddingLayer* addPaddingNd(ITensor& input, const Dims& prePadding,
                              const Dims& postPadding) noexcept;
  /// Names weights, found by the address of their values, for IRefitter; else the name is
  /// "layer.role". The name is copied; null takes it away. Returns false where there are no
  /// weights.
  bool setWeightsName(Weights weights, const char* name) noexcept;
  /// Sets the recorder that errors of this object and of the objects made from it are reported to,
  /// beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null. The library counts its reference with incRefCount() and decRefCount().
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  /// Returns the recorder that errors of this object and of the objects made from it are reported
  /// to, beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null.
  IErrorRecorder* getErrorRecorder() const noexcept;
  /// Adds x * scale in FLOAT. Use the overload with a type.
  TRT_DEPRECATED IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept;
  /// Adds x * scale in FLOAT, HALF or BF16. The scale is a scalar, one number for each slice of an
  /// axis, or one for each block where it has as many axes as x.
  IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale, DataType outputType) noexcept;
  /// Adds `data` with the elements or slices that the indices name replaced by `updates`. Where
  /// indices repeat, one of the updates remains.
  IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                            ScatterMode mode) noexcept;
  /// Adds round(x / scale) saturated to INT8. Use the overload with a type.
  TRT_DEPRECATED IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept;
  /// Adds round(x / scale) saturated to INT8, FP8, INT4 or FP4. The scale is a positive scalar, one
  /// number for each slice of an axis, or one for each block where it has as many axes as x.
  IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale, DataType outputType) noexcept;
  /// Adds a quantization in blocks along one axis, with scales from the data. Use
  /// addDynamicQuantizeV2(). Since 10.8.
  TRT_DEPRECATED IDynamicQuantizeLayer* addDynamicQuantize(ITensor& input, int32_t axis,
                                                           int32_t blockSize, DataType outputType,
                                                           DataType scaleType) noexcept;
  /// Adds a quantization in blocks with scales from the data: output 0 the numbers, output 1 the
  /// scales. Input 1, if set, scales the scales. Since 10.15.
  IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor& input, const Dims& blockShape,
                                              DataType outputType, DataType scaleType) noexcept;
  /// Adds an Einstein summation of `nbInputs` tensors, at least 1, such as "ij,jk->ik".
  IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs, const char* equation) noexcept;
  /// Adds a sampling of an image [N, C, H, W] at the points of a grid [N, h, w, 2], whose
  /// coordinates reach from -1 to 1.
  IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept;
  /// Adds a non-maximum suppression of boxes [batch, n, 4] by scores [batch, n, classes]: output 0
  /// rows of batch, class and box in INT32, output 1 their number. Use the overload with a type of
  /// indices.
  TRT_DEPRECATED INMSLayer* addNMS(ITensor& boxes, ITensor& scores,
                                   ITensor& maxOutputBoxesPerClass) noexcept;
  /// Adds a non-maximum suppression of boxes [batch, n, 4] by scores [batch, n, classes]: output 0
  /// rows of batch, class and box in INT32 or INT64, output 1 their number. Inputs 3 and 4 set the
  /// IoU and the score threshold. Since 10.14.
  INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                    DataType indicesType) noexcept;
  /// Adds a layer that reverses the first sequenceLens[i] steps of each sequence and leaves the
  /// rest.
  IReverseSequenceLayer* addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept;
  /// Adds (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance over the
  /// axes of a bit mask. Scale and bias have as many axes as x. Use addNormalizationV2().
  TRT_DEPRECATED INormalizationLayer* addNormalization(ITensor& input, ITensor& scale,
                                                       ITensor& bias, uint32_t axesMask) noexcept;
  /// Adds a running sum along the axis that a constant INT32 or INT64 scalar gives. Since 10.8.
  ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis, CumulativeOperation operation,
                                  bool exclusive, bool reverse) noexcept;
  /// Adds softmax(query key^T + mask) value over [batch, heads, sequence, size]. The products are
  /// not scaled: scale the query. Fewer heads of key and value are shared. Since 10.14.
  IAttention* addAttention(ITensor& query, ITensor& key, ITensor& value,
                           AttentionNormalizationOp normOp, bool causal) noexcept;
  /// Adds a rotation of pairs of elements of [batch, heads, sequence, size] by the angles of a
  /// cosine and a sine cache. `rotaryEmbeddingDim` is even, 0 for all elements. Input 3, if set,
  /// gives positions. Since 10.15.
  IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor& input, ITensor& cosCache, ITensor& sinCache,
                                            bool interleaved, int32_t rotaryEmbeddingDim) noexcept;
  /// Adds a cache [batch, heads, capacity, size] with the update written from writeIndices[batch]
  /// on. Since 10.15.
  IKVCacheUpdateLayer* addKVCacheUpdate(ITensor& cache, ITensor& update, ITensor& writeIndices,
                                        KVCacheMode cacheMode) noexcept;
  /// Adds a mixture of experts over hidden states [..., hidden], with the chosen experts and their
  /// scores [..., k]. The experts' weights are set on the layer. Since 10.16.
  IMoELayer* addMoE(ITensor& hiddenStates, ITensor& selectedExpertsForTokens,
                    ITensor& scoresForSelectedExperts) noexcept;
  /// Adds a collective operation among all ranks, or those of a group in its order.
  /// ILayer::setNbRanks() says how many all are, which extents of gathered and scattered results
  /// need. Null, with an error logged, for a reduction without an operation, ranks that come twice,
  /// or a root that is none of them. Since 10.16.
  IDistCollectiveLayer* addDistCollective(ITensor& input, CollectiveOperation distCollectiveOp,
                                          ReduceOperation reduceOp, int64_t root, int64_t* groups,
                                          int64_t groupSize) noexcept;
  /// Returns the builder that made the network.
  virtual inline IBuilder& getBuilder() const noexcept;
  /// Lets weights, by their name, be refitted in builds with kREFIT_INDIVIDUAL. The name is copied.
  /// Returns false, and logs why, where the network has no such weights. Since 10.2.
  bool markWeightsRefittable(const char* name) noexcept;
  /// Undoes markWeightsRefittable(). Returns false where the network has no such weights. Since
  /// 10.2.
  bool unmarkWeightsRefittable(const char* name) noexcept;
  /// Returns whether markWeightsRefittable() named the weights. Since 10.2.
  bool areWeightsMarkedRefittable(const char* name) const noexcept;
  /// Adds a layer that drops the axes of extent 1 that `axes`, a constant INT32 or INT64 vector,
  /// names. Since 10.7.
  ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept;
  /// Adds a layer that inserts axes of extent 1 where `axes`, a constant INT32 or INT64 vector,
  /// names them in the output. Since 10.7.
  IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept;
  /// Adds (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance over the
  /// axes of a bit mask. Scale and bias have as many axes as x; with groups they have one number a
  /// channel. Since 10.15.
  INormalizationLayer* addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                          uint32_t axesMask) noexcept;

 protected:
  apiv::VNetworkDefinition* mImpl{nullptr};
};

/// How calibrators derive ranges.
enum class CalibrationAlgoType : int32_t {
  /// Percentile of a histogram, with the quantile and the cutoff of the calibrator.
  kLEGACY_CALIBRATION TRT_DEPRECATED_ENUM = 0,
  /// Least Kullback-Leibler divergence, before layers are fused.
  kENTROPY_CALIBRATION TRT_DEPRECATED_ENUM = 1,
  /// Least Kullback-Leibler divergence.
  kENTROPY_CALIBRATION_2 TRT_DEPRECATED_ENUM = 2,
  /// The largest absolute value that was seen.
  kMINMAX_CALIBRATION TRT_DEPRECATED_ENUM = 3,
};
template <> constexpr int32_t EnumMax<CalibrationAlgoType>() noexcept {
  return 4;
}

/// Gives batches for choosing the ranges of INT8. Base of the calibrator classes.
class IInt8Calibrator : public IVersionedInterface {
 public:
  /// Returns the number of samples in a batch, at least 1.
  TRT_DEPRECATED virtual int32_t getBatchSize() const noexcept = 0;
  /// Writes the addresses of the next batch, device memory on a GPU, for the inputs `names`.
  /// Returns false when there is no further batch.
  virtual bool getBatch(void* bindings[], const char* names[], int32_t nbBindings) noexcept = 0;
  /// Returns the bytes of an earlier calibration and their number in `length`, or null to calibrate
  /// anew. They must live until the build ends.
  virtual const void* readCalibrationCache(std::size_t& length) noexcept = 0;
  /// Takes the bytes of a calibration, for readCalibrationCache() of a later build. They are valid
  /// during the call only.
  virtual void writeCalibrationCache(const void* ptr, std::size_t length) noexcept = 0;
  /// Returns the way that ranges are derived; each class below overrides it.
  virtual CalibrationAlgoType getAlgorithm() noexcept = 0;
  ~IInt8Calibrator() noexcept override = default;

 protected:
  IInt8Calibrator() = default;
  IInt8Calibrator(const IInt8Calibrator&) = default;
  IInt8Calibrator& operator=(const IInt8Calibrator&) = default;
  IInt8Calibrator(IInt8Calibrator&&) = default;
  IInt8Calibrator& operator=(IInt8Calibrator&&) = default;
};

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// A calibrator that keeps the most information, by Kullback-Leibler divergence.
class IInt8EntropyCalibrator : public IInt8Calibrator {
 public:
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IInt8EntropyCalibrator", 1, 0};
  }
  /// Returns the way that ranges are derived, which the class stands for.
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kENTROPY_CALIBRATION;
  }
  ~IInt8EntropyCalibrator() noexcept override = default;

 protected:
  IInt8EntropyCalibrator() = default;
  IInt8EntropyCalibrator(const IInt8EntropyCalibrator&) = default;
  IInt8EntropyCalibrator& operator=(const IInt8EntropyCalibrator&) = default;
  IInt8EntropyCalibrator(IInt8EntropyCalibrator&&) = default;
  IInt8EntropyCalibrator& operator=(IInt8EntropyCalibrator&&) = default;
};

/// A calibrator that keeps the most information, for each tensor as a whole.
class IInt8EntropyCalibrator2 : public IInt8Calibrator {
 public:
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IInt8EntropyCalibrator2", 1, 0};
  }
  /// Returns the way that ranges are derived, which the class stands for.
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kENTROPY_CALIBRATION_2;
  }
  ~IInt8EntropyCalibrator2() noexcept override = default;

 protected:
  IInt8EntropyCalibrator2() = default;
  IInt8EntropyCalibrator2(const IInt8EntropyCalibrator2&) = default;
  IInt8EntropyCalibrator2& operator=(const IInt8EntropyCalibrator2&) = default;
  IInt8EntropyCalibrator2(IInt8EntropyCalibrator2&&) = default;
  IInt8EntropyCalibrator2& operator=(IInt8EntropyCalibrator2&&) = default;
};

/// A calibrator that takes the least and the largest value.
class IInt8MinMaxCalibrator : public IInt8Calibrator {
 public:
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IInt8MinMaxCalibrator", 1, 0};
  }
  /// Returns the way that ranges are derived, which the class stands for.
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kMINMAX_CALIBRATION;
  }
  ~IInt8MinMaxCalibrator() noexcept override = default;

 protected:
  IInt8MinMaxCalibrator() = default;
  IInt8MinMaxCalibrator(const IInt8MinMaxCalibrator&) = default;
  IInt8MinMaxCalibrator& operator=(const IInt8MinMaxCalibrator&) = default;
  IInt8MinMaxCalibrator(IInt8MinMaxCalibrator&&) = default;
  IInt8MinMaxCalibrator& operator=(IInt8MinMaxCalibrator&&) = default;
};

/// A calibrator that takes a quantile of the values.
class IInt8LegacyCalibrator : public IInt8Calibrator {
 public:
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IInt8LegacyCalibrator", 1, 0};
  }
  /// Returns the way that ranges are derived, which the class stands for.
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kLEGACY_CALIBRATION;
  }
  /// Returns the share of values, from 0 to 1, that the range must hold.
  virtual double getQuantile() const noexcept = 0;
  /// Returns the share, from 0 to 1, of the largest value at which the search for a range ends.
  virtual double getRegressionCutoff() const noexcept = 0;
  /// Returns the bytes of earlier histograms and their number in `length`, or null.
  virtual const void* readHistogramCache(std::size_t& length) noexcept = 0;
  /// Takes the bytes of histograms, for readHistogramCache() of a later build.
  virtual void writeHistogramCache(const void* ptr, std::size_t length) noexcept = 0;
  ~IInt8LegacyCalibrator() noexcept override = default;

 protected:
  IInt8LegacyCalibrator() = default;
  IInt8LegacyCalibrator(const IInt8LegacyCalibrator&) = default;
  IInt8LegacyCalibrator& operator=(const IInt8LegacyCalibrator&) = default;
  IInt8LegacyCalibrator(IInt8LegacyCalibrator&&) = default;
  IInt8LegacyCalibrator& operator=(IInt8LegacyCalibrator&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

/// An operand of an algorithm.
class IAlgorithmIOInfo : public INoCopy {
 public:
  /// Returns the type of the operand.
  DataType getDataType() const noexcept;
  /// Returns the operand's strides in elements.
  Dims getStrides() const noexcept;
  /// Returns the axis that is vectorized, or -1; here always -1.
  int64_t getVectorizedDim() const noexcept;
  /// Returns the number of values in a vector; here always 1.
  int64_t getComponentsPerElement() const noexcept;

 protected:
  apiv::VAlgorithmIOInfo* mImpl{nullptr};
};

/// Which implementation an algorithm is.
class IAlgorithmVariant : public INoCopy {
 public:
  /// Returns the number of the implementation, the same in each process and build.
  int64_t getImplementation() const noexcept;
  /// Returns the number of the tactic within the implementation: of its configuration, the same in
  /// each process and build, or 0 where it has none.
  int64_t getTactic() const noexcept;

 protected:
  apiv::VAlgorithmVariant* mImpl{nullptr};
};

/// The layer that algorithms are for.
class IAlgorithmContext : public INoCopy {
 public:
  /// Returns the name of the layer, as the engine inspector has it.
  const char* getName() const noexcept;
  /// Returns the least, the best or the largest dimensions of an operand in the first profile,
  /// inputs first; -1 for extents that data decides, and no dimensions (nbDims -1) beyond the last
  /// operand.
  Dims getDimensions(int32_t index, OptProfileSelector select) const noexcept;
  /// Returns the number of inputs of the layer, without constants.
  int32_t getNbInputs() const noexcept;
  /// Returns the number of outputs of the layer.
  int32_t getNbOutputs() const noexcept;

 protected:
  apiv::VAlgorithmContext* mImpl{nullptr};
};

/// One way to compute a layer.
class IAlgorithm : public INoCopy {
 public:
  /// Returns the implementation and tactic.
  const IAlgorithmVariant& getAlgorithmVariant() const noexcept;
  /// Returns the measured time in milliseconds; 0 where nothing was measured, since it is the only
  /// choice or the build measures nothing.
  float getTimingMSec() const noexcept;
  /// Returns the scratch memory in bytes.
  std::size_t getWorkspaceSize() const noexcept;
  /// Returns the description of an operand, inputs first, or null beyond the last.
  const IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(int32_t index) const noexcept;

 protected:
  apiv::VAlgorithm* mImpl{nullptr};
};

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Chooses the kernels of layers. Builds ask for each layer once its candidates are measured, in
/// the order in which layers run, on the thread of the build. The layer has the chosen kernel under
/// all shapes. Layers whose shapes data decides are not asked for.
class IAlgorithmSelector : public IVersionedInterface {
 public:
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IAlgorithmSelector", 1, 0};
  }
  /// Writes the indices of the algorithms to choose among for a layer into `selection`, which has
  /// room for `nbChoices`, and returns their number. `choices` begins with the library's own
  /// choice, then the fastest come first; of several indices the lowest is taken. 0 leaves the
  /// choice to the library, unless kREJECT_EMPTY_ALGORITHMS is set. A negative or too large number
  /// ends the build. The objects live until the call returns. A build whose self-check finds a
  /// wrong kernel asks again for all layers.
  virtual int32_t selectAlgorithms(const IAlgorithmContext& context,
                                   const IAlgorithm* const* choices, int32_t nbChoices,
                                   int32_t* selection) noexcept = 0;
  /// Takes the algorithms that the layers have, once a build, behind all calls of
  /// selectAlgorithms(). The objects live until the call returns.
  virtual void reportAlgorithms(const IAlgorithmContext* const* algoContexts,
                                const IAlgorithm* const* algoChoices,
                                int32_t nbAlgorithms) noexcept = 0;
  ~IAlgorithmSelector() noexcept override = default;

 protected:
  IAlgorithmSelector() = default;
  IAlgorithmSelector(const IAlgorithmSelector&) = default;
  IAlgorithmSelector& operator=(const IAlgorithmSelector&) = default;
  IAlgorithmSelector(IAlgorithmSelector&&) = default;
  IAlgorithmSelector& operator=(IAlgorithmSelector&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

/// Settings of calibration.
enum class QuantizationFlag : int32_t {
  /// Ranges are measured on the network as it was given.
  kCALIBRATE_BEFORE_FUSION TRT_DEPRECATED_ENUM = 0,
};
template <> constexpr int32_t EnumMax<QuantizationFlag>() noexcept {
  return 1;
}

/// Where plans run.
enum class RuntimePlatform : int32_t {
  /// The operating system and processor of the build.
  kSAME_AS_BUILD = 0,
  /// Windows on x86-64; builds refuse it.
  kWINDOWS_AMD64 = 1,
};
template <> constexpr int32_t EnumMax<RuntimePlatform>() noexcept {
  return 2;
}

/// Switches of IBuilderConfig. A flag that cannot be honoured is refused or warned of, with its
/// reason.
enum class BuilderFlag : int32_t {
  /// Layers may compute in FP16 (on the CPU in BF16).
  kFP16 TRT_DEPRECATED_ENUM = 0,
  /// Layers may compute in 8-bit integers, by ranges or as the network quantizes.
  kINT8 TRT_DEPRECATED_ENUM = 1,
  /// No effect, and builds warn of it: builds wait for each kernel that they time in any case.
  kDEBUG = 2,
  /// No effect, and builds warn of it: there is no DLA.
  kGPU_FALLBACK = 3,
  /// The engine can be refitted.
  kREFIT = 4,
  /// Times are measured, whatever the timing cache has.
  kDISABLE_TIMING_CACHE = 5,
  /// Products of FP32 may use TF32 on GPUs.
  kTF32 = 6,
  /// Kernels may use that 2 of 4 consecutive weights are zero.
  kSPARSE_WEIGHTS = 7,
  /// Builds fail with it: there is no safety runtime.
  kSAFETY_SCOPE TRT_DEPRECATED_ENUM = 8,
  /// Precisions of layers bind.
  kOBEY_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 9,
  /// Precisions of layers bind.
  kPREFER_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 10,
  /// No reformat stands between the application's tensors and the layers.
  kDIRECT_IO TRT_DEPRECATED_ENUM = 11,
  /// A build fails where an algorithm selector chooses nothing.
  kREJECT_EMPTY_ALGORITHMS TRT_DEPRECATED_ENUM = 12,
  /// The plan holds weights as the model has them, not as this version's kernels keep them: later
  /// versions of the library load it. Loading takes longer on a CPU; plans for GPUs are so anyway.
  kVERSION_COMPATIBLE = 13,
  /// No effect, and builds warn of it: plans hold no runtime.
  kEXCLUDE_LEAN_RUNTIME = 14,
  /// Layers may compute in FP8.
  kFP8 TRT_DEPRECATED_ENUM = 15,
  /// A time that the timing cache lacks ends the build.
  kERROR_ON_TIMING_CACHE_MISS = 16,
  /// Layers may compute in BF16.
  kBF16 TRT_DEPRECATED_ENUM = 17,
  /// Compiled kernels are not kept in timing caches.
  kDISABLE_COMPILATION_CACHE = 18,
  /// The plan lacks the weights that can be refitted.
  kSTRIP_PLAN = 19,
  /// The old name of kSTRIP_PLAN.
  kWEIGHTLESS TRT_DEPRECATED_ENUM = 19,
  /// The engine can be refitted with the weights that it was built with.
  kREFIT_IDENTICAL = 20,
  /// Weights may stay in host memory and come to the device as they are needed.
  kWEIGHT_STREAMING = 21,
  /// Weights may have 4 bits.
  kINT4 TRT_DEPRECATED_ENUM = 22,
  /// Weights that the network marks can be refitted.
  kREFIT_INDIVIDUAL = 23,
  /// NaNs pass through every operation.
  kSTRICT_NANS = 24,
  /// The build logs the memory that it took.
  kMONITOR_MEMORY = 25,
  /// Layers may compute in FP4.
  kFP4 TRT_DEPRECATED_ENUM = 26,
  /// The timing cache has an entry for each layer, which can be edited.
  kEDITABLE_TIMING_CACHE = 27,
  /// A sample's results do not depend on the other samples of its batch.
  kDISTRIBUTIVE_INDEPENDENCE = 28,
};
template <> constexpr int32_t EnumMax<BuilderFlag>() noexcept {
  return 30;
}

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Identifies a measured layer. Since 10.8.
struct TimingCacheKey {
  uint8_t data[16];
};

/// A measurement of a layer: its tactic and the time in milliseconds. Since 10.8.
struct TimingCacheValue {
  static constexpr uint64_t kINVALID_TACTIC_HASH{UINT64_MAX};
  uint64_t tacticHash;
  float timingMSec;
};

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

/// Measured times of kernels, to make builds faster and repeatable.
class ITimingCache : public INoCopy {
 public:
  /// Returns the cache's bytes, to be freed with delete; a file of them speeds up later builds on
  /// the same device.
  IHostMemory* serialize() const noexcept;
  /// Adds the entries of another cache; entries of this one stay. `ignoreMismatch` is not read:
  /// entries carry their device. Returns false for a cache of another library.
  bool combine(const ITimingCache& inputCache, bool ignoreMismatch) noexcept;
  /// Drops all entries. Returns true.
  bool reset() noexcept;
  /// Writes the keys of layers, at most `capacity`; the buffer may be null. Returns how many there
  /// are. Builds with kEDITABLE_TIMING_CACHE add them. Since 10.8.
  int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept;
  /// Returns the tactic and time of a layer; kINVALID_TACTIC_HASH where the cache has none. Since
  /// 10.8.
  TimingCacheValue query(const TimingCacheKey& key) const noexcept;
  /// Makes later builds take a tactic for a layer. Returns false, with an error logged, where the
  /// cache lacks the layer or the layer lacks the tactic; the log of a build with
  /// kEDITABLE_TIMING_CACHE lists both. Since 10.8.
  bool update(const TimingCacheKey& key, const TimingCacheValue& value) noexcept;

 protected:
  apiv::VTimingCache* mImpl{nullptr};
};

/// Pools whose size can be limited. kWORKSPACE bounds the scratch memory of a layer, in bytes.
enum class MemoryPoolType : int32_t {
  /// Scratch memory of each layer.
  kWORKSPACE = 0,
  /// Fast memory inside a DLA.
  kDLA_MANAGED_SRAM = 1,
  /// Host memory that a DLA shares with the CPU, for tensors inside its part.
  kDLA_LOCAL_DRAM = 2,
  /// Host memory of a DLA, for weights and execution data.
  kDLA_GLOBAL_DRAM = 3,
  /// Device memory that a kernel may take while it is timed.
  kTACTIC_DRAM = 4,
  /// Shared memory of kernels on GPUs.
  kTACTIC_SHARED_MEMORY = 5,
};
template <> constexpr int32_t EnumMax<MemoryPoolType>() noexcept {
  return 6;
}

/// Features that can be tried early.
enum class PreviewFeature : int32_t {
  /// Contexts of several profiles may share one profile; always so.
  kPROFILE_SHARING_0806 TRT_DEPRECATED_ENUM = 0,
  /// Plugins may write an output into the memory of an input.
  kALIASED_PLUGIN_IO_10_03 = 1,
  /// updateDeviceMemorySizeForShapes() may reduce the memory of activations.
  kRUNTIME_ACTIVATION_RESIZE_10_10 = 2,
  /// Engines with collectives may run on several devices.
  kMULTIDEVICE_RUNTIME_10_16 = 3,
};
template <> constexpr int32_t EnumMax<PreviewFeature>() noexcept {
  return 4;
}

/// Devices other than the build's that a plan should run on.
enum class HardwareCompatibilityLevel : int32_t {
  /// The build's device.
  kNONE = 0,
  /// All GPUs of compute capability 8.0 and later. Kernels run on each of them and use at most 99
  /// KiB of shared memory a block; cuDNN and cuBLASLt are left out.
  kAMPERE_PLUS = 1,
  /// GPUs of the build's compute capability.
  kSAME_COMPUTE_CAPABILITY = 2,
};
template <> constexpr int32_t EnumMax<HardwareCompatibilityLevel>() noexcept {
  return 3;
}

/// How hard tilings across layers are searched: batches of images may run in turns of some samples,
/// several layers one after the other for each turn, so that results stay in the caches.
enum class TilingOptimizationLevel : int32_t {
  /// No search: turns of one sample on a CPU where a rule says that they pay, whole batches on a
  /// GPU.
  kNONE = 0,
  /// Whole batches and turns of 1 are timed.
  kFAST = 1,
  /// Whole batches and turns of 1 and 2.
  kMODERATE = 2,
  /// Whole batches and turns of 1, 2, 4 and 8.
  kFULL = 3,
};
template <> constexpr int32_t EnumMax<TilingOptimizationLevel>() noexcept {
  return 4;
}

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Follows a build, and may stop it.
class IProgressMonitor : public IVersionedInterface {
 public:
  ~IProgressMonitor() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IProgressMonitor", 1, 0};
  }
  /// Tells that a phase of `nbSteps` steps begins, inside of `parentPhase`, or null for an
  /// outermost one. Any thread of the build may call it; names are valid during the call only.
  virtual void phaseStart(const char* phaseName, const char* parentPhase,
                          int32_t nbSteps) noexcept = 0;
  /// Tells that a step, from 0, of a phase is done. Return false to end the build.
  virtual bool stepComplete(const char* phaseName, int32_t step) noexcept = 0;
  /// Tells that a phase ends, also one that did not take all of its steps.
  virtual void phaseFinish(const char* phaseName) noexcept = 0;

 protected:
  IProgressMonitor() = default;
  IProgressMonitor(const IProgressMonitor&) = default;
  IProgressMonitor& operator=(const IProgressMonitor&) = default;
  IProgressMonitor(IProgressMonitor&&) = default;
  IProgressMonitor& operator=(IProgressMonitor&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

/// How to build: precision, profiles, limits, caches.
class IBuilderConfig : public INoCopy {
 public:
  /// Sets how many launches a kernel is timed over, at least 1. Default: 1. Lower numbers are an
  /// error and change nothing.
  virtual inline void setAvgTimingIterations(int32_t avgTiming) noexcept;
  /// Returns how many launches a kernel is timed over, at least 1. Default: 1.
  int32_t getAvgTimingIterations() const noexcept;
  /// Sets the runtime that the engine is for. Default: kSTANDARD. Builds fail with another one.
  void setEngineCapability(EngineCapability capability) noexcept;
  /// Returns the runtime that the engine is for. Default: kSTANDARD.
  EngineCapability getEngineCapability() const noexcept;
  /// Sets the object that gives batches from which builds with kINT8 derive the ranges of tensors,
  /// or null. The application owns it. Default: null. Builds without kINT8 warn of it.
  TRT_DEPRECATED void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept;
  /// Returns the object that gives batches from which builds with kINT8 derive the ranges of
  /// tensors, or null. The application owns it. Default: null.
  TRT_DEPRECATED IInt8Calibrator* getInt8Calibrator() const noexcept;
  /// Sets all flags at once, a bit mask. Default: none. Unknown bits are an error and change
  /// nothing.
  void setFlags(BuilderFlags builderFlags) noexcept;
  /// Returns all flags at once, a bit mask. Default: none.
  BuilderFlags getFlags() const noexcept;
  /// Switches one flag off.
  void clearFlag(BuilderFlag builderFlag) noexcept;
  /// Switches one flag on.
  void setFlag(BuilderFlag builderFlag) noexcept;
  /// Returns whether a flag is on.
  bool getFlag(BuilderFlag builderFlag) const noexcept;
  /// Would choose the device of a layer. Builds warn that a plan runs on one device.
  void setDeviceType(const ILayer* layer, DeviceType deviceType) noexcept;
  /// Returns the device that was chosen for a layer, else the default one.
  DeviceType getDeviceType(const ILayer* layer) const noexcept;
  /// Returns whether setDeviceType() was called for a layer.
  bool isDeviceTypeSet(const ILayer* layer) const noexcept;
  /// Undoes setDeviceType() for a layer.
  void resetDeviceType(const ILayer* layer) noexcept;
  /// Returns false: there is no DLA.
  bool canRunOnDLA(const ILayer* layer) const noexcept;
  /// Would choose a DLA core. Builds warn that there is no DLA.
  void setDLACore(int32_t dlaCore) noexcept;
  /// Returns the DLA core that was set, -1 for none.
  int32_t getDLACore() const noexcept;
  /// Sets the device of layers without one of their own. Default: kGPU. Builds fail with another
  /// one: use tenon::setBuildDevice() for the CPU.
  void setDefaultDeviceType(DeviceType deviceType) noexcept;
  /// Returns the device of layers without one of their own. Default: kGPU.
  DeviceType getDefaultDeviceType() const noexcept;
  /// Sets everything back to its default, profiles included.
  void reset() noexcept;
  /// Sets the stream that builds measure on. It has no effect, and builds warn of one: they measure
  /// on streams of their own. Default: null.
  void setProfileStream(const cudaStream_t stream) noexcept;
  /// Returns the stream that builds measure on. It has no effect, and builds warn of one: they
  /// measure on streams of their own. Default: null.
  cudaStream_t getProfileStream() const noexcept;
  /// Adds a profile, which the builder owns, and returns its index; -1, with an error logged, where
  /// it is not valid. A network with dynamic inputs needs at least one.
  int32_t addOptimizationProfile(const IOptimizationProfile* profile) noexcept;
  /// Returns the number of profiles added.
  int32_t getNbOptimizationProfiles() const noexcept;
  /// Sets how much the plan says about its layers. Default: kLAYER_NAMES_ONLY.
  void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept;
  /// Returns how much the plan says about its layers. Default: kLAYER_NAMES_ONLY.
  ProfilingVerbosity getProfilingVerbosity() const noexcept;
  /// Sets the object that chooses the kernels of layers; null for the fastest. The application owns
  /// it. Default: null.
  TRT_DEPRECATED void setAlgorithmSelector(IAlgorithmSelector* selector) noexcept;
  /// Returns the object that chooses the kernels of layers; null for the fastest. The application
  /// owns it. Default: null.
  TRT_DEPRECATED IAlgorithmSelector* getAlgorithmSelector() const noexcept;
  /// Sets the profile whose best dimensions calibration uses. Default: none. Returns false for
  /// null. Builds without a calibrator warn of it.
  TRT_DEPRECATED bool setCalibrationProfile(const IOptimizationProfile* profile) noexcept;
  /// Returns the profile whose best dimensions calibration uses. Default: none.
  TRT_DEPRECATED const IOptimizationProfile* getCalibrationProfile() noexcept;
  /// Sets the flags of calibration, a bit mask of QuantizationFlag. They have no effect:
  /// calibration always sees the network before fusion. Default: 0.
  TRT_DEPRECATED void setQuantizationFlags(QuantizationFlags flags) noexcept;
  /// Returns the flags of calibration, a bit mask of QuantizationFlag. They have no effect:
  /// calibration always sees the network before fusion. Default: 0.
  TRT_DEPRECATED QuantizationFlags getQuantizationFlags() const noexcept;
  /// Switches one flag of calibration off.
  TRT_DEPRECATED void clearQuantizationFlag(QuantizationFlag flag) noexcept;
  /// Switches one flag of calibration on.
  TRT_DEPRECATED void setQuantizationFlag(QuantizationFlag flag) noexcept;
  /// Returns whether a flag of calibration is on.
  TRT_DEPRECATED bool getQuantizationFlag(QuantizationFlag flag) const noexcept;
  /// Sets the libraries that kernels may come from on a GPU, a bit mask of TacticSource. Default:
  /// edge-mask and run-time compiled convolutions, as it is told; until it is set, every library is
  /// used. Returns false for unknown bits.
  bool setTacticSources(TacticSources tacticSources) noexcept;
  /// Returns the libraries that kernels may come from on a GPU, a bit mask of TacticSource.
  /// Default: edge-mask and run-time compiled convolutions, as it is told; until it is set, every
  /// library is used.
  TacticSources getTacticSources() const noexcept;
  /// Makes a timing cache from serialized bytes, or an empty one from size 0, to be freed with
  /// delete. Null, with an error logged, where the bytes are damaged.
  ITimingCache* createTimingCache(const void* blob, std::size_t size) const noexcept;
  /// Sets the cache that builds read and add to. The application owns it; it must outlive the
  /// builds. `ignoreMismatch` is not read: entries carry their device. Returns false for a cache of
  /// another library.
  bool setTimingCache(const ITimingCache& cache, bool ignoreMismatch) noexcept;
  /// Returns the cache that was set, or null.
  const ITimingCache* getTimingCache() const noexcept;
  /// Sets the most bytes of a pool. kWORKSPACE bounds the scratch memory of each layer,
  /// kTACTIC_SHARED_MEMORY the shared memory of kernels on GPUs; others have no effect, and builds
  /// warn of them.
  void setMemoryPoolLimit(MemoryPoolType pool, std::size_t poolSize) noexcept;
  /// Returns the most bytes of a pool; SIZE_MAX where no limit is set.
  std::size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept;
  /// Switches a preview feature on or off. All are off by default; none changes plans, and builds
  /// warn of those that are on.
  void setPreviewFeature(PreviewFeature feature, bool enable) noexcept;
  /// Returns whether a preview feature is on.
  bool getPreviewFeature(PreviewFeature feature) const noexcept;
  /// Sets how long builds search, from 0 (shortest) to 5 (longest): level 3 times layers in
  /// sequence as well, level 4 every configuration, level 5 checks every region. Default: 3. Other
  /// numbers are an error and change nothing.
  void setBuilderOptimizationLevel(int32_t level) noexcept;
  /// Returns how long builds search, from 0 (shortest) to 5 (longest): level 3 times layers in
  /// sequence as well, level 4 every configuration, level 5 checks every region. Default: 3.
  int32_t getBuilderOptimizationLevel() noexcept;
  /// Sets the devices besides the build's that the plan should run on. Default: kNONE. Every plan
  /// runs on GPUs of its compute capability. Builds say for how many layers kAMPERE_PLUS left out
  /// kernels of the GPU in hand, and fail on GPUs before compute capability 8.0; plans for the CPU
  /// are the same with it, with a warning.
  void setHardwareCompatibilityLevel(
      HardwareCompatibilityLevel hardwareCompatibilityLevel) noexcept;
  /// Returns the devices besides the build's that the plan should run on. Default: kNONE.
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept;
  /// Names plugin libraries, paths to files, which builds put into the plan, for runtimes that
  /// allow code of the host (IRuntime::setEngineHostCodeAllowed). A file that is no shared library
  /// makes the build fail.
  void setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept;
  /// Returns the path of a plugin library, or null beyond the last.
  const char* getPluginToSerialize(int32_t index) const noexcept;
  /// Returns the number of plugin libraries that were named.
  int32_t getNbPluginsToSerialize() const noexcept;
  /// Sets the most streams beside the application's that a run may use on a GPU; -1 lets the build
  /// decide. Default: -1.
  void setMaxAuxStreams(int32_t nbStreams) noexcept;
  /// Returns the most streams beside the application's that a run may use on a GPU; -1 lets the
  /// build decide. Default: -1.
  int32_t getMaxAuxStreams() const noexcept;
  /// Sets the object that follows the build and may stop it, or null. The application owns it.
  /// Default: null.
  void setProgressMonitor(IProgressMonitor* monitor) noexcept;
  /// Returns the object that follows the build and may stop it, or null. The application owns it.
  /// Default: null.
  IProgressMonitor* getProgressMonitor() const noexcept;
  /// Sets the platform that the plan runs on. Default: kSAME_AS_BUILD. Builds fail with another
  /// one. Since 10.2.
  void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept;
  /// Returns the platform that the plan runs on. Default: kSAME_AS_BUILD. Since 10.2.
  RuntimePlatform getRuntimePlatform() const noexcept;
  /// Sets the most kernels that are timed for a layer; -1 lets the build decide. Default: -1. Since
  /// 10.4.
  void setMaxNbTactics(int32_t maxNbTactics) noexcept;
  /// Returns the most kernels that are timed for a layer; -1 lets the build decide. Default: -1.
  /// Since 10.4.
  int32_t getMaxNbTactics() const noexcept;
  /// Sets how hard tilings across layers are searched: the plan as a whole is timed for the usual
  /// shapes in several ways, of which the fastest is kept. Default: kNONE. Returns false for values
  /// that are no level. Since 10.8.
  bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept;
  /// Returns how hard tilings across layers are searched: the plan as a whole is timed for the
  /// usual shapes in several ways, of which the fastest is kept. Default: kNONE. Since 10.8.
  TilingOptimizationLevel getTilingOptimizationLevel() const noexcept;
  /// Sets the bytes that a layer may read and write in a turn of a batch, -1 being no limit. Layers
  /// of more run for whole batches. Default: -1. Returns false for numbers below -1. Since 10.8.
  bool setL2LimitForTiling(int64_t size) noexcept;
  /// Returns the bytes that a layer may read and write in a turn of a batch, -1 being no limit.
  /// Layers of more run for whole batches. Default: -1. Since 10.8.
  int64_t getL2LimitForTiling() const noexcept;
  /// Sets the connection to a machine that would time kernels. It has no effect, and builds warn of
  /// it: kernels are timed on this machine. Default: "". Returns false for null. Since 10.13.
  bool setRemoteAutoTuningConfig(const char* config) noexcept;
  /// Returns the connection to a machine that would time kernels. It has no effect, and builds warn
  /// of it: kernels are timed on this machine. Default: "". Since 10.13.
  const char* getRemoteAutoTuningConfig() const noexcept;

 protected:
  apiv::VBuilderConfig* mImpl{nullptr};
};

/// How a network is made. STRONGLY_TYPED keeps all types as they are given.
enum class NetworkDefinitionCreationFlag : int32_t {
  /// No effect: batches are explicit.
  kEXPLICIT_BATCH TRT_DEPRECATED_ENUM = 0,
  /// Types follow from the inputs' types and casts; precision flags are refused.
  kSTRONGLY_TYPED = 1,
  /// Python plugins run their implementation at run time where they have both kinds.
  kPREFER_JIT_PYTHON_PLUGINS = 2,
  /// Python plugins run their compiled kernels where they have both kinds.
  kPREFER_AOT_PYTHON_PLUGINS = 3,
};
template <> constexpr int32_t EnumMax<NetworkDefinitionCreationFlag>() noexcept {
  return 4;
}

/// Makes networks, configurations and plans. One thread at a time.
class IBuilder : public INoCopy {
 public:
  /// Returns whether the default device computes in 16 bits faster than in 32: GPUs with FP16
  /// arithmetic, CPUs with BF16 arithmetic.
  TRT_DEPRECATED bool platformHasFastFp16() const noexcept;
  /// Returns whether the default device multiplies 8-bit integers fast: GPUs from compute
  /// capability 8.0 on, and processors with VNNI.
  TRT_DEPRECATED bool platformHasFastInt8() const noexcept;
  /// Returns 0: there is no DLA.
  int32_t getMaxDLABatchSize() const noexcept;
  /// Returns 0: there is no DLA.
  int32_t getNbDLACores() const noexcept;
  /// Sets the allocator for device memory of builds, and of engines that buildEngineWithConfig()
  /// makes; null for the library's own. The application owns it; it must outlive the builder and
  /// those engines.
  void setGpuAllocator(IGpuAllocator* allocator) noexcept;
  /// Makes a configuration with its defaults, to be freed with delete before the builder.
  IBuilderConfig* createBuilderConfig() noexcept;
  /// Makes an empty network, to be freed with delete before the builder. `flags` is a bit mask of
  /// NetworkDefinitionCreationFlag.
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept;
  /// Makes an optimization profile, which the builder owns.
  IOptimizationProfile* createOptimizationProfile() noexcept;
  /// Sets the recorder that errors of this object and of the objects made from it are reported to,
  /// beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null. The library counts its reference with incRefCount() and decRefCount().
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  /// Returns the recorder that errors of this object and of the objects made from it are reported
  /// to, beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null.
  IErrorRecorder* getErrorRecorder() const noexcept;
  /// Sets the number of threads back to its default.
  void reset() noexcept;
  /// Returns whether the default device has TF32: GPUs from compute capability 8.0 on.
  TRT_DEPRECATED bool platformHasTf32() const noexcept;
  /// Optimizes the network for the configuration's device and returns the plan, to be freed with
  /// delete; null, with an error logged. Takes from seconds to minutes; one build at a time for
  /// each builder.
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept;
  /// Optimizes the network and writes the plan to a stream, in several calls. Returns false, with
  /// an error logged, where the build or the stream fails. Since 10.13.
  bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                      IStreamWriter& writer) noexcept;
  /// Optimizes the network and returns the plan, to be freed with delete; null, with an error
  /// logged. `kernelText` is set to null: there is no text of kernels. Since 10.13.
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config,
                                      IHostMemory*& kernelText) noexcept;
  /// Optimizes the network and returns an engine for its plan, to be freed with delete; null, with
  /// an error logged. Since 10.6.
  ICudaEngine* buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept;
  /// Returns whether the network can be built with the configuration, by a build without
  /// optimization; the reason is logged where it cannot.
  bool isNetworkSupported(const INetworkDefinition& network,
                          const IBuilderConfig& config) const noexcept;
  /// Returns the logger that the object was made with. The application owns it.
  ILogger* getLogger() const noexcept;
  /// Sets the number of threads that builds and their plans for the CPU use, at least 1. Default:
  /// 1, as it is told; until it is set, builds use every core.
  bool setMaxThreads(int32_t maxThreads) noexcept;
  /// Returns the number of threads that builds and their plans for the CPU use, at least 1.
  /// Default: 1, as it is told; until it is set, builds use every core.
  int32_t getMaxThreads() const noexcept;
  /// Returns the registry that plugins are looked up in: the one of the process.
  IPluginRegistry& getPluginRegistry() noexcept;

 protected:
  apiv::VBuilder* mImpl{nullptr};
};

}  // namespace nvinfer1

#include "impl/NvInferForwarding.h"

/// The symbol behind createInferBuilder(): `version` is NV_TENSORRT_VERSION of the program's
/// headers, and null is returned where its major number is another than the library's.
extern "C" TENSORRTAPI void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept;

namespace nvinfer1 {
namespace {

/// Makes a builder, to be freed with delete after the networks and configurations that it made.
/// Returns null, with an error logged, where the headers' major version is another than the
/// library's. The logger must outlive the builder. Thread-safe.
inline IBuilder* createInferBuilder(ILogger& logger) noexcept {
  return static_cast<IBuilder*>(createInferBuilder_INTERNAL(&logger, NV_TENSORRT_VERSION));
}

}  // namespace

/// Returns the registry that builders look plugins up in; null for engine capabilities other than
/// kSTANDARD. Thread-safe.
extern "C" TENSORRTAPI IPluginRegistry* getBuilderPluginRegistry(
    EngineCapability capability) noexcept;

namespace safe {
class IPluginRegistry;
}
/// Returns null: there is no safety runtime.
extern "C" TENSORRTAPI safe::IPluginRegistry* getBuilderSafePluginRegistry(
    EngineCapability capability) noexcept;

/// Names a folder for internal libraries. This library loads none, so the path has no effect.
/// Returns whether the folder exists. Since 10.16.
extern "C" TENSORRTAPI bool setInternalLibraryPath(const AsciiChar* path) noexcept;

}  // namespace nvinfer1

#pragma GCC diagnostic pop
