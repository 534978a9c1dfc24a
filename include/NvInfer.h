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

namespace nvinfer1::v_1_0 {

class IInt8EntropyCalibrator;
class IInt8EntropyCalibrator2;
class IInt8MinMaxCalibrator;
class IInt8LegacyCalibrator;
class IAlgorithmSelector;
struct TimingCacheKey;
struct TimingCacheValue;
class IProgressMonitor;

}  // namespace nvinfer1::v_1_0

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
/// What kind of layer an ILayer is: which class it may be cast to.
enum class LayerType : int32_t {
  kCONVOLUTION = 0,
  kCAST = 1,
  kACTIVATION = 2,
  kPOOLING = 3,
  kLRN = 4,
  kSCALE = 5,
  kSOFTMAX = 6,
  kDECONVOLUTION = 7,
  kCONCATENATION = 8,
  kELEMENTWISE = 9,
  kPLUGIN = 10,
  kUNARY = 11,
  kPADDING = 12,
  kSHUFFLE = 13,
  kREDUCE = 14,
  kTOPK = 15,
  kGATHER = 16,
  kMATRIX_MULTIPLY = 17,
  kRAGGED_SOFTMAX = 18,
  kCONSTANT = 19,
  kIDENTITY = 20,
  kPLUGIN_V2 = 21,
  kSLICE = 22,
  kSHAPE = 23,
  kPARAMETRIC_RELU = 24,
  kRESIZE = 25,
  kTRIP_LIMIT = 26,
  kRECURRENCE = 27,
  kITERATOR = 28,
  kLOOP_OUTPUT = 29,
  kSELECT = 30,
  kFILL = 31,
  kQUANTIZE = 32,
  kDEQUANTIZE = 33,
  kCONDITION = 34,
  kCONDITIONAL_INPUT = 35,
  kCONDITIONAL_OUTPUT = 36,
  kSCATTER = 37,
  kEINSUM = 38,
  kASSERTION = 39,
  kONE_HOT = 40,
  kNON_ZERO = 41,
  kGRID_SAMPLE = 42,
  kNMS = 43,
  kREVERSE_SEQUENCE = 44,
  kNORMALIZATION = 45,
  kPLUGIN_V3 = 46,
  kSQUEEZE = 47,
  kUNSQUEEZE = 48,
  kCUMULATIVE = 49,
  kDYNAMIC_QUANTIZE = 50,
  kATTENTION_INPUT = 51,
  kATTENTION_OUTPUT = 52,
  kROTARY_EMBEDDING = 53,
  kKVCACHE_UPDATE = 54,
  kMOE = 55,
  kDIST_COLLECTIVE = 56,
};
template <>
constexpr int32_t EnumMax<LayerType>() noexcept {
  return 57;
}

/// Scalar functions of IActivationLayer; some read alpha and beta.
enum class ActivationType : int32_t {
  kRELU = 0,
  kSIGMOID = 1,
  kTANH = 2,
  kLEAKY_RELU = 3,
  kELU = 4,
  kSELU = 5,
  kSOFTSIGN = 6,
  kSOFTPLUS = 7,
  kCLIP = 8,
  kHARD_SIGMOID = 9,
  kSCALED_TANH = 10,
  kTHRESHOLDED_RELU = 11,
  kGELU_ERF = 12,
  kGELU_TANH = 13,
};
template <>
constexpr int32_t EnumMax<ActivationType>() noexcept {
  return 14;
}

/// A tensor of a network.
class ITensor : public INoCopy {
 public:
  void setName(const char* name) noexcept;
  const char* getName() const noexcept;
  void setDimensions(const Dims& dimensions) noexcept;
  /// Follows the layers as they are set now; -1 for dynamic extents. nbDims is -1, with an error
  /// logged, where a layer on the way is wrong.
  Dims getDimensions() const noexcept;
  TRT_DEPRECATED void setType(DataType type) noexcept;
  DataType getType() const noexcept;
  TRT_DEPRECATED bool setDynamicRange(float min, float max) noexcept;
  bool isNetworkInput() const noexcept;
  bool isNetworkOutput() const noexcept;
  TRT_DEPRECATED void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept;
  TRT_DEPRECATED bool getBroadcastAcrossBatch() const noexcept;
  TensorLocation getLocation() const noexcept;
  TRT_DEPRECATED void setLocation(TensorLocation location) noexcept;
  TRT_DEPRECATED bool dynamicRangeIsSet() const noexcept;
  void resetDynamicRange() noexcept;
  float getDynamicRangeMin() const noexcept;
  float getDynamicRangeMax() const noexcept;
  void setAllowedFormats(TensorFormats formats) noexcept;
  TensorFormats getAllowedFormats() const noexcept;
  /// Whether its elements follow from shapes alone.
  bool isShapeTensor() const noexcept;
  bool isExecutionTensor() const noexcept;
  /// Equal names of two inputs' axes say that their extents are equal.
  void setDimensionName(int32_t index, const char* name) noexcept;
  const char* getDimensionName(int32_t index) const noexcept;

 protected:
  apiv::VTensor* mImpl{nullptr};
};

/// A layer of a network.
class ILayer : public INoCopy {
 public:
  LayerType getType() const noexcept;
  void setName(const char* name) noexcept;
  const char* getName() const noexcept;
  int32_t getNbInputs() const noexcept;
  ITensor* getInput(int32_t index) const noexcept;
  int32_t getNbOutputs() const noexcept;
  ITensor* getOutput(int32_t index) const noexcept;
  /// Inputs beyond those given when it was added are documented with the classes.
  void setInput(int32_t index, ITensor& tensor) noexcept;
  TRT_DEPRECATED void setPrecision(DataType dataType) noexcept;
  DataType getPrecision() const noexcept;
  TRT_DEPRECATED bool precisionIsSet() const noexcept;
  TRT_DEPRECATED void resetPrecision() noexcept;
  TRT_DEPRECATED void setOutputType(int32_t index, DataType dataType) noexcept;
  DataType getOutputType(int32_t index) const noexcept;
  TRT_DEPRECATED bool outputTypeIsSet(int32_t index) const noexcept;
  TRT_DEPRECATED void resetOutputType(int32_t index) noexcept;
  /// A text that comes back from the inspector's layer; not read otherwise.
  void setMetadata(const char* metadata) noexcept;
  const char* getMetadata() const noexcept;
  bool setNbRanks(int32_t nbRanks) noexcept;
  int32_t getNbRanks() const noexcept;

 protected:
  apiv::VLayer* mLayer{nullptr};
};

/// How the padding of a window operator is found, and which way its output extent is rounded. The
/// SAME modes pad so that the output extent is the input's over the stride, rounded up.
enum class PaddingMode : int32_t {
  kEXPLICIT_ROUND_DOWN = 0,
  kEXPLICIT_ROUND_UP = 1,
  kSAME_UPPER = 2,
  kSAME_LOWER = 3,
};
template <>
constexpr int32_t EnumMax<PaddingMode>() noexcept {
  return 4;
}

/// Convolution of [N, C, spatial...] with kernels [maps, C / groups, kernel...] and a bias of one
/// number a map. 1 to 3 spatial axes. Input 1 and 2 may be set to tensors instead of kernel and
/// bias weights.
class IConvolutionLayer : public ILayer {
 public:
  void setNbOutputMaps(int64_t nbOutputMaps) noexcept;
  int64_t getNbOutputMaps() const noexcept;
  void setNbGroups(int64_t nbGroups) noexcept;
  int64_t getNbGroups() const noexcept;
  void setKernelWeights(Weights weights) noexcept;
  Weights getKernelWeights() const noexcept;
  void setBiasWeights(Weights weights) noexcept;
  Weights getBiasWeights() const noexcept;
  void setPrePadding(const Dims& padding) noexcept;
  Dims getPrePadding() const noexcept;
  void setPostPadding(const Dims& padding) noexcept;
  Dims getPostPadding() const noexcept;
  void setPaddingMode(PaddingMode paddingMode) noexcept;
  PaddingMode getPaddingMode() const noexcept;
  void setKernelSizeNd(const Dims& kernelSize) noexcept;
  Dims getKernelSizeNd() const noexcept;
  void setStrideNd(const Dims& stride) noexcept;
  Dims getStrideNd() const noexcept;
  void setPaddingNd(const Dims& padding) noexcept;
  Dims getPaddingNd() const noexcept;
  void setDilationNd(const Dims& dilation) noexcept;
  Dims getDilationNd() const noexcept;

 protected:
  apiv::VConvolutionLayer* mImpl{nullptr};
};

/// y = f(x), of the input's shape and type.
class IActivationLayer : public ILayer {
 public:
  void setActivationType(ActivationType type) noexcept;
  ActivationType getActivationType() const noexcept;
  void setAlpha(float alpha) noexcept;
  void setBeta(float beta) noexcept;
  float getAlpha() const noexcept;
  float getBeta() const noexcept;

 protected:
  apiv::VActivationLayer* mImpl{nullptr};
};

/// MAX_AVERAGE_BLEND is (1 - blend) * max + blend * average.
enum class PoolingType : int32_t {
  kMAX = 0,
  kAVERAGE = 1,
  kMAX_AVERAGE_BLEND = 2,
};
template <>
constexpr int32_t EnumMax<PoolingType>() noexcept {
  return 3;
}

/// Pooling of [N, C, spatial...] over windows of as many axes as there are spatial ones.
class IPoolingLayer : public ILayer {
 public:
  void setPoolingType(PoolingType type) noexcept;
  PoolingType getPoolingType() const noexcept;
  void setBlendFactor(float blendFactor) noexcept;
  float getBlendFactor() const noexcept;
  void setAverageCountExcludesPadding(bool exclusive) noexcept;
  bool getAverageCountExcludesPadding() const noexcept;
  void setPrePadding(const Dims& padding) noexcept;
  Dims getPrePadding() const noexcept;
  void setPostPadding(const Dims& padding) noexcept;
  Dims getPostPadding() const noexcept;
  void setPaddingMode(PaddingMode paddingMode) noexcept;
  PaddingMode getPaddingMode() const noexcept;
  void setWindowSizeNd(const Dims& windowSize) noexcept;
  Dims getWindowSizeNd() const noexcept;
  void setStrideNd(const Dims& stride) noexcept;
  Dims getStrideNd() const noexcept;
  void setPaddingNd(const Dims& padding) noexcept;
  Dims getPaddingNd() const noexcept;

 protected:
  apiv::VPoolingLayer* mImpl{nullptr};
};

/// x / (k + alpha / window * sum of squares over `window` channels) ^ beta.
class ILRNLayer : public ILayer {
 public:
  void setWindowSize(int64_t windowSize) noexcept;
  int64_t getWindowSize() const noexcept;
  void setAlpha(float alpha) noexcept;
  float getAlpha() const noexcept;
  void setBeta(float beta) noexcept;
  float getBeta() const noexcept;
  void setK(float k) noexcept;
  float getK() const noexcept;

 protected:
  apiv::VLRNLayer* mImpl{nullptr};
};

/// Whether scale layers' weights are one number, one a channel, or one an element.
enum class ScaleMode : int32_t {
  kUNIFORM = 0,
  kCHANNEL = 1,
  kELEMENTWISE = 2,
};
template <>
constexpr int32_t EnumMax<ScaleMode>() noexcept {
  return 3;
}

/// (x * scale + shift) ^ power; absent weights (count 0) stand for 1, 0 and 1.
class IScaleLayer : public ILayer {
 public:
  void setMode(ScaleMode mode) noexcept;
  ScaleMode getMode() const noexcept;
  void setShift(Weights shift) noexcept;
  Weights getShift() const noexcept;
  void setScale(Weights scale) noexcept;
  Weights getScale() const noexcept;
  void setPower(Weights power) noexcept;
  Weights getPower() const noexcept;
  int32_t getChannelAxis() const noexcept;
  void setChannelAxis(int32_t channelAxis) noexcept;

 protected:
  apiv::VScaleLayer* mImpl{nullptr};
};

/// Softmax over the axes of a bit mask. The default axis is the third from the end, or the first.
class ISoftMaxLayer : public ILayer {
 public:
  void setAxes(uint32_t axes) noexcept;
  uint32_t getAxes() const noexcept;

 protected:
  apiv::VSoftMaxLayer* mImpl{nullptr};
};

/// Joins tensors that differ in the extent of one axis only. The default axis is the third from the
/// end.
class IConcatenationLayer : public ILayer {
 public:
  void setAxis(int32_t axis) noexcept;
  int32_t getAxis() const noexcept;

 protected:
  apiv::VConcatenationLayer* mImpl{nullptr};
};

/// Transposed convolution with kernels [C, maps / groups, kernel...]; pads crop the output.
class IDeconvolutionLayer : public ILayer {
 public:
  void setNbOutputMaps(int64_t nbOutputMaps) noexcept;
  int64_t getNbOutputMaps() const noexcept;
  void setNbGroups(int64_t nbGroups) noexcept;
  int64_t getNbGroups() const noexcept;
  void setKernelWeights(Weights weights) noexcept;
  Weights getKernelWeights() const noexcept;
  void setBiasWeights(Weights weights) noexcept;
  Weights getBiasWeights() const noexcept;
  void setPrePadding(const Dims& padding) noexcept;
  Dims getPrePadding() const noexcept;
  void setPostPadding(const Dims& padding) noexcept;
  Dims getPostPadding() const noexcept;
  void setPaddingMode(PaddingMode paddingMode) noexcept;
  PaddingMode getPaddingMode() const noexcept;
  void setKernelSizeNd(const Dims& kernelSize) noexcept;
  Dims getKernelSizeNd() const noexcept;
  void setStrideNd(const Dims& stride) noexcept;
  Dims getStrideNd() const noexcept;
  void setPaddingNd(const Dims& padding) noexcept;
  Dims getPaddingNd() const noexcept;
  void setDilationNd(const Dims& dilation) noexcept;
  Dims getDilationNd() const noexcept;

 protected:
  apiv::VDeconvolutionLayer* mImpl{nullptr};
};

/// Functions of two tensors. Comparisons give BOOL; AND, OR and XOR take it.
enum class ElementWiseOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kDIV = 5,
  kPOW = 6,
  kFLOOR_DIV = 7,
  kAND = 8,
  kOR = 9,
  kXOR = 10,
  kEQUAL = 11,
  kGREATER = 12,
  kLESS = 13,
};
template <>
constexpr int32_t EnumMax<ElementWiseOperation>() noexcept {
  return 14;
}

/// f(a, b) of tensors with as many axes as each other; extents of 1 are repeated.
class IElementWiseLayer : public ILayer {
 public:
  void setOperation(ElementWiseOperation op) noexcept;
  ElementWiseOperation getOperation() const noexcept;

 protected:
  apiv::VElementWiseLayer* mImpl{nullptr};
};

/// DEFAULT takes slices along an axis, ELEMENT elements, ND slices by tuples of indices.
enum class GatherMode : int32_t {
  kDEFAULT = 0,
  kELEMENT = 1,
  kND = 2,
};
template <>
constexpr int32_t EnumMax<GatherMode>() noexcept {
  return 3;
}

/// Picks from the first input by the indices (INT32 or INT64) of the second; negative ones count
/// from the end. The first NbElementWiseDims axes are shared by both.
class IGatherLayer : public ILayer {
 public:
  void setGatherAxis(int32_t axis) noexcept;
  int32_t getGatherAxis() const noexcept;
  void setNbElementWiseDims(int32_t elementWiseDims) noexcept;
  int32_t getNbElementWiseDims() const noexcept;
  void setMode(GatherMode mode) noexcept;
  GatherMode getMode() const noexcept;

 protected:
  apiv::VGatherLayer* mImpl{nullptr};
};

/// A layer that a plugin of the second generation computes.
class IPluginV2Layer : public ILayer {
 public:
  IPluginV2& getPlugin() noexcept;

 protected:
  apiv::VPluginV2Layer* mImpl{nullptr};
};

/// A layer that a plugin of the third generation computes.
class IPluginV3Layer : public ILayer {
 public:
  IPluginV3& getPlugin() noexcept;

 protected:
  apiv::VPluginV3Layer* mImpl{nullptr};
};

/// Functions of one tensor. NOT takes BOOL; ISINF and ISNAN give it. ROUND goes to the nearest
/// even.
enum class UnaryOperation : int32_t {
  kEXP = 0,
  kLOG = 1,
  kSQRT = 2,
  kRECIP = 3,
  kABS = 4,
  kNEG = 5,
  kSIN = 6,
  kCOS = 7,
  kTAN = 8,
  kSINH = 9,
  kCOSH = 10,
  kASIN = 11,
  kACOS = 12,
  kATAN = 13,
  kASINH = 14,
  kACOSH = 15,
  kATANH = 16,
  kCEIL = 17,
  kFLOOR = 18,
  kERF = 19,
  kNOT = 20,
  kSIGN = 21,
  kROUND = 22,
  kISINF = 23,
  kISNAN = 24,
};
template <>
constexpr int32_t EnumMax<UnaryOperation>() noexcept {
  return 25;
}

/// y = f(x), of the input's shape.
class IUnaryLayer : public ILayer {
 public:
  void setOperation(UnaryOperation op) noexcept;
  UnaryOperation getOperation() const noexcept;

 protected:
  apiv::VUnaryLayer* mImpl{nullptr};
};

/// What reductions compute. NONE is for collectives.
enum class ReduceOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kAVG = 4,
  kNONE = 5,
};
template <>
constexpr int32_t EnumMax<ReduceOperation>() noexcept {
  return 6;
}

/// What ranks of several devices do together.
enum class CollectiveOperation : int32_t {
  kALL_REDUCE = 0,
  kALL_GATHER = 1,
  kBROADCAST = 2,
  kREDUCE = 3,
  kREDUCE_SCATTER = 4,
};
template <>
constexpr int32_t EnumMax<CollectiveOperation>() noexcept {
  return 5;
}

/// Reduces the axes of a bit mask to extent 1, or away.
class IReduceLayer : public ILayer {
 public:
  void setOperation(ReduceOperation op) noexcept;
  ReduceOperation getOperation() const noexcept;
  void setReduceAxes(uint32_t reduceAxes) noexcept;
  uint32_t getReduceAxes() const noexcept;
  void setKeepDimensions(bool keepDimensions) noexcept;
  bool getKeepDimensions() const noexcept;

 protected:
  apiv::VReduceLayer* mImpl{nullptr};
};

/// Pads the last two axes by zeros; negative numbers crop.
class IPaddingLayer : public ILayer {
 public:
  void setPrePaddingNd(const Dims& padding) noexcept;
  Dims getPrePaddingNd() const noexcept;
  void setPostPaddingNd(const Dims& padding) noexcept;
  Dims getPostPaddingNd() const noexcept;

 protected:
  apiv::VPaddingLayer* mImpl{nullptr};
};

/// Output axis i is input axis order[i].
struct Permutation {
  int32_t order[8];
};

/// Transpose, then reshape, then transpose; each may be absent. In the reshape -1 stands for what
/// is left, and 0 for the input's extent unless ZeroIsPlaceholder is off. Input 1, if set, is the
/// shape.
class IShuffleLayer : public ILayer {
 public:
  void setFirstTranspose(Permutation permutation) noexcept;
  Permutation getFirstTranspose() const noexcept;
  void setReshapeDimensions(const Dims& dimensions) noexcept;
  Dims getReshapeDimensions() const noexcept;
  void setSecondTranspose(Permutation permutation) noexcept;
  Permutation getSecondTranspose() const noexcept;
  void setZeroIsPlaceholder(bool zeroIsPlaceholder) noexcept;
  bool getZeroIsPlaceholder() const noexcept;

 protected:
  apiv::VShuffleLayer* mImpl{nullptr};
};

/// What indices outside of a tensor read.
enum class SampleMode : int32_t {
  kSTRICT_BOUNDS = 0,
  kWRAP = 1,
  kCLAMP = 2,
  kFILL = 3,
  kREFLECT = 4,
};
template <>
constexpr int32_t EnumMax<SampleMode>() noexcept {
  return 5;
}

/// y[i] = x[start + i * stride] for `size` elements an axis. Inputs 1 to 3 may replace start, size
/// and stride, input 4 gives the value of kFILL, input 5 the axes (constant).
class ISliceLayer : public ILayer {
 public:
  void setStart(const Dims& start) noexcept;
  Dims getStart() const noexcept;
  void setSize(const Dims& size) noexcept;
  Dims getSize() const noexcept;
  void setStride(const Dims& stride) noexcept;
  Dims getStride() const noexcept;
  void setMode(SampleMode mode) noexcept;
  SampleMode getMode() const noexcept;
  void setAxes(const Dims& axes) noexcept;
  Dims getAxes() const noexcept;

 protected:
  apiv::VSliceLayer* mImpl{nullptr};
};

/// The extents of its input, INT64.
class IShapeLayer : public ILayer {
 protected:
  apiv::VShapeLayer* mImpl{nullptr};
};

/// Whether the largest or smallest elements are wanted.
enum class TopKOperation : int32_t {
  kMAX = 0,
  kMIN = 1,
};
template <>
constexpr int32_t EnumMax<TopKOperation>() noexcept {
  return 2;
}

/// The k largest or smallest elements along one axis, sorted: output 0 values, output 1 indices
/// (INT32 unless INT64 was asked for). Input 1, if set, is k.
class ITopKLayer : public ILayer {
 public:
  void setOperation(TopKOperation op) noexcept;
  TopKOperation getOperation() const noexcept;
  void setK(int32_t k) noexcept;
  int32_t getK() const noexcept;
  void setReduceAxes(uint32_t reduceAxes) noexcept;
  uint32_t getReduceAxes() const noexcept;
  bool setIndicesType(DataType type) noexcept;
  DataType getIndicesType() const noexcept;

 protected:
  apiv::VTopKLayer* mImpl{nullptr};
};

/// What is done to an operand. VECTOR takes one without its last matrix axis.
enum class MatrixOperation : int32_t {
  kNONE = 0,
  kTRANSPOSE = 1,
  kVECTOR = 2,
};
template <>
constexpr int32_t EnumMax<MatrixOperation>() noexcept {
  return 3;
}

/// Matrix products over the last two axes; the others are batch axes, of which extents of 1 are
/// repeated.
class IMatrixMultiplyLayer : public ILayer {
 public:
  void setOperation(int32_t index, MatrixOperation op) noexcept;
  MatrixOperation getOperation(int32_t index) const noexcept;

 protected:
  apiv::VMatrixMultiplyLayer* mImpl{nullptr};
};

/// Coordinates of the elements that are not zero: [axes, n], n known after the run.
class INonZeroLayer : public ILayer {
 public:
  bool setIndicesType(DataType type) noexcept;
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
  void setToType(DataType toType) noexcept;
  DataType getToType() const noexcept;

 protected:
  apiv::VCastLayer* mImpl{nullptr};
};

/// A tensor of weights, which must live until the network is built.
class IConstantLayer : public ILayer {
 public:
  void setWeights(Weights weights) noexcept;
  Weights getWeights() const noexcept;
  void setDimensions(const Dims& dimensions) noexcept;
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
  kNEAREST = 0,
  kLINEAR = 1,
  kCUBIC = 2,
};
template <>
constexpr int32_t EnumMax<InterpolationMode>() noexcept {
  return 3;
}

/// Where an output element lies in the input.
enum class ResizeCoordinateTransformation : int32_t {
  kALIGN_CORNERS = 0,
  kASYMMETRIC = 1,
  kHALF_PIXEL = 2,
};
template <>
constexpr int32_t EnumMax<ResizeCoordinateTransformation>() noexcept {
  return 3;
}

/// What kHALF_PIXEL does where an axis has one output element: the formula, or the first input
/// element.
enum class ResizeSelector : int32_t {
  kFORMULA = 0,
  kUPPER = 1,
};
template <>
constexpr int32_t EnumMax<ResizeSelector>() noexcept {
  return 2;
}

/// Which element kNEAREST takes.
enum class ResizeRoundMode : int32_t {
  kHALF_UP = 0,
  kHALF_DOWN = 1,
  kFLOOR = 2,
  kCEIL = 3,
};
template <>
constexpr int32_t EnumMax<ResizeRoundMode>() noexcept {
  return 4;
}

/// Interpolation to output dimensions, to those that input 1 gives, or by scales of all axes.
class IResizeLayer : public ILayer {
 public:
  void setOutputDimensions(const Dims& dimensions) noexcept;
  Dims getOutputDimensions() const noexcept;
  void setScales(const float* scales, int32_t nbScales) noexcept;
  int32_t getScales(int32_t size, float* scales) const noexcept;
  void setResizeMode(InterpolationMode interpolationMode) noexcept;
  InterpolationMode getResizeMode() const noexcept;
  void setCoordinateTransformation(ResizeCoordinateTransformation coordTransform) noexcept;
  ResizeCoordinateTransformation getCoordinateTransformation() const noexcept;
  void setSelectorForSinglePixel(ResizeSelector selector) noexcept;
  ResizeSelector getSelectorForSinglePixel() const noexcept;
  void setNearestRounding(ResizeRoundMode value) noexcept;
  ResizeRoundMode getNearestRounding() const noexcept;
  void setCubicCoeff(float A) noexcept;
  float getCubicCoeff() const noexcept;
  void setExcludeOutside(bool excludeFlag) noexcept;
  bool getExcludeOutside() const noexcept;

 protected:
  apiv::VResizeLayer* mImpl{nullptr};
};

/// What of a value in a loop comes out: its last one, or all of them, joined along an axis.
enum class LoopOutput : int32_t {
  kLAST_VALUE = 0,
  kCONCATENATE = 1,
  kREVERSE = 2,
};
template <>
constexpr int32_t EnumMax<LoopOutput>() noexcept {
  return 3;
}

/// COUNT: a number of iterations. WHILE: a BOOL that is looked at before each one.
enum class TripLimit : int32_t {
  kCOUNT = 0,
  kWHILE = 1,
};
template <>
constexpr int32_t EnumMax<TripLimit>() noexcept {
  return 2;
}

/// A layer at the boundary of a loop.
class ILoopBoundaryLayer : public ILayer {
 public:
  ILoop* getLoop() const noexcept;

 protected:
  apiv::VLoopBoundaryLayer* mBoundary{nullptr};
};

/// A layer at the boundary of a conditional.
class IIfConditionalBoundaryLayer : public ILayer {
 public:
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

/// A value that the branches read: what depends on it is computed in the branch that is taken only.
class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer {
 protected:
  apiv::VConditionalInputLayer* mImpl{nullptr};
};

/// Two branches and a condition. Values reach the branches through addInput and leave by addOutput.
class IIfConditional : public INoCopy {
 public:
  IConditionLayer* setCondition(ITensor& condition) noexcept;
  IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput,
                                       ITensor& falseSubgraphOutput) noexcept;
  IIfConditionalInputLayer* addInput(ITensor& input) noexcept;
  void setName(const char* name) noexcept;
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
  LoopOutput getLoopOutput() const noexcept;
  void setAxis(int32_t axis) noexcept;
  int32_t getAxis() const noexcept;

 protected:
  apiv::VLoopOutputLayer* mImpl{nullptr};
};

/// Ends a loop. A loop has one or both kinds.
class ITripLimitLayer : public ILoopBoundaryLayer {
 public:
  TripLimit getTripLimit() const noexcept;

 protected:
  apiv::VTripLimitLayer* mImpl{nullptr};
};

/// The slice of a tensor that belongs to the iteration, along an axis, from either end.
class IIteratorLayer : public ILoopBoundaryLayer {
 public:
  void setAxis(int32_t axis) noexcept;
  int32_t getAxis() const noexcept;
  void setReverse(bool reverse) noexcept;
  bool getReverse() const noexcept;

 protected:
  apiv::VIteratorLayer* mImpl{nullptr};
};

/// Layers that are computed again and again: all that depend on its recurrences and iterators.
class ILoop : public INoCopy {
 public:
  IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept;
  ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept;
  IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0, bool reverse = false) noexcept;
  ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind,
                                  int32_t axis = 0) noexcept;
  void setName(const char* name) noexcept;
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
  void setMessage(const char* message) noexcept;
  const char* getMessage() const noexcept;

 protected:
  apiv::VAssertionLayer* mImpl{nullptr};
};

/// LINSPACE: alpha + beta * index. RANDOM_UNIFORM: between alpha and beta. RANDOM_NORMAL: mean
/// alpha, standard deviation beta.
enum class FillOperation : int32_t {
  kLINSPACE = 0,
  kRANDOM_UNIFORM = 1,
  kRANDOM_NORMAL = 2,
};
template <>
constexpr int32_t EnumMax<FillOperation>() noexcept {
  return 3;
}

/// A tensor of numbers by rule. Inputs 0 to 2 may replace dimensions, alpha and beta; a linear
/// sequence of several axes takes one beta for each.
class IFillLayer : public ILayer {
 public:
  void setDimensions(const Dims& dimensions) noexcept;
  Dims getDimensions() const noexcept;
  void setOperation(FillOperation op) noexcept;
  FillOperation getOperation() const noexcept;
  void setAlpha(double alpha) noexcept;
  double getAlpha() const noexcept;
  void setBeta(double beta) noexcept;
  double getBeta() const noexcept;
  void setAlphaInt64(int64_t alpha) noexcept;
  int64_t getAlphaInt64() const noexcept;
  void setBetaInt64(int64_t beta) noexcept;
  int64_t getBetaInt64() const noexcept;
  bool isAlphaBetaInt64() const noexcept;
  void setToType(DataType toType) noexcept;
  DataType getToType() const noexcept;

 protected:
  apiv::VFillLayer* mImpl{nullptr};
};

/// round(x / scale), saturated: INT8, FP8, INT4 or FP4. The scale is one number, one for each slice
/// of the axis, or one for each block where it has as many axes as x.
class IQuantizeLayer : public ILayer {
 public:
  int32_t getAxis() const noexcept;
  void setAxis(int32_t axis) noexcept;
  bool setBlockShape(const Dims& blockShape) noexcept;
  Dims getBlockShape() const noexcept;
  void setToType(DataType toType) noexcept;
  DataType getToType() const noexcept;

 protected:
  apiv::VQuantizeLayer* mImpl{nullptr};
};

/// x * scale, with scales as in IQuantizeLayer.
class IDequantizeLayer : public ILayer {
 public:
  int32_t getAxis() const noexcept;
  void setAxis(int32_t axis) noexcept;
  bool setBlockShape(const Dims& blockShape) noexcept;
  Dims getBlockShape() const noexcept;
  void setToType(DataType toType) noexcept;
  DataType getToType() const noexcept;

 protected:
  apiv::VDequantizeLayer* mImpl{nullptr};
};

/// Quantization in blocks with scales from the data: output 0 the numbers, output 1 the scales.
/// Input 1, if set, scales the scales.
class IDynamicQuantizeLayer : public ILayer {
 public:
  void setToType(DataType toType) noexcept;
  DataType getToType() const noexcept;
  void setScaleType(DataType scaleType) noexcept;
  DataType getScaleType() const noexcept;
  TRT_DEPRECATED void setAxis(int32_t axis) noexcept;
  TRT_DEPRECATED int32_t getAxis() const noexcept;
  TRT_DEPRECATED void setBlockSize(int32_t size) noexcept;
  TRT_DEPRECATED int32_t getBlockSize() const noexcept;
  void setBlockShape(const Dims& blockShape) noexcept;
  Dims getBlockShape() const noexcept;

 protected:
  apiv::VDynamicQuantizeLayer* mImpl{nullptr};
};

/// Einstein summation, "ij,jk->ik".
class IEinsumLayer : public ILayer {
 public:
  bool setEquation(const char* equation) noexcept;
  const char* getEquation() const noexcept;

 protected:
  apiv::VEinsumLayer* mImpl{nullptr};
};

/// ELEMENT replaces elements along an axis, ND slices by tuples of indices.
enum class ScatterMode : int32_t {
  kELEMENT = 0,
  kND = 1,
};
template <>
constexpr int32_t EnumMax<ScatterMode>() noexcept {
  return 2;
}

/// The first input with what the indices name replaced by the updates.
class IScatterLayer : public ILayer {
 public:
  void setMode(ScatterMode mode) noexcept;
  ScatterMode getMode() const noexcept;
  void setAxis(int32_t axis) noexcept;
  int32_t getAxis() const noexcept;

 protected:
  apiv::VScatterLayer* mImpl{nullptr};
};

/// values[1] at the index, values[0] elsewhere, along a new axis of extent `depth`.
class IOneHotLayer : public ILayer {
 public:
  void setAxis(int32_t axis) noexcept;
  int32_t getAxis() const noexcept;

 protected:
  apiv::VOneHotLayer* mImpl{nullptr};
};

/// Samples an image at the points of a grid, whose coordinates reach from -1 to 1.
class IGridSampleLayer : public ILayer {
 public:
  void setInterpolationMode(InterpolationMode mode) noexcept;
  InterpolationMode getInterpolationMode() const noexcept;
  void setAlignCorners(bool alignCorners) noexcept;
  bool getAlignCorners() const noexcept;
  bool setSampleMode(SampleMode mode) noexcept;
  SampleMode getSampleMode() const noexcept;

 protected:
  apiv::VGridSampleLayer* mImpl{nullptr};
};

/// (x1, y1, x2, y2) or (x centre, y centre, width, height).
enum class BoundingBoxFormat : int32_t {
  kCORNER_PAIRS = 0,
  kCENTER_SIZES = 1,
};
template <>
constexpr int32_t EnumMax<BoundingBoxFormat>() noexcept {
  return 2;
}

/// Boxes [batch, n, 4] and scores [batch, n, classes] to rows of batch, class and box, and their
/// number (INT32). Inputs 2 to 4: most boxes a class, IoU threshold, score threshold.
class INMSLayer : public ILayer {
 public:
  void setBoundingBoxFormat(BoundingBoxFormat fmt) noexcept;
  BoundingBoxFormat getBoundingBoxFormat() const noexcept;
  void setTopKBoxLimit(int32_t limit) noexcept;
  int32_t getTopKBoxLimit() const noexcept;
  bool setIndicesType(DataType type) noexcept;
  DataType getIndicesType() const noexcept;

 protected:
  apiv::VNMSLayer* mImpl{nullptr};
};

/// Reverses the first lengths[i] steps of each sequence. Batch axis 1, sequence axis 0 unless set.
class IReverseSequenceLayer : public ILayer {
 public:
  void setBatchAxis(int32_t batchAxis) noexcept;
  int32_t getBatchAxis() const noexcept;
  void setSequenceAxis(int32_t sequenceAxis) noexcept;
  int32_t getSequenceAxis() const noexcept;

 protected:
  apiv::VReverseSequenceLayer* mImpl{nullptr};
};

/// (x - mean) / sqrt(variance + epsilon) * scale + bias over the axes of a mask, and over the
/// channels of a group. Scale and bias have x's number of axes; with groups the second version
/// takes them a channel.
class INormalizationLayer : public ILayer {
 public:
  void setEpsilon(float eps) noexcept;
  float getEpsilon() const noexcept;
  void setAxes(uint32_t axesMask) noexcept;
  uint32_t getAxes() const noexcept;
  void setNbGroups(int64_t nbGroups) noexcept;
  int64_t getNbGroups() const noexcept;
  TRT_DEPRECATED void setComputePrecision(DataType type) noexcept;
  TRT_DEPRECATED DataType getComputePrecision() const noexcept;
  bool isV2() const noexcept;

 protected:
  apiv::VNormalizationLayer* mImpl{nullptr};
};

/// Drops axes of extent 1, named by input 1.
class ISqueezeLayer : public ILayer {
 protected:
  apiv::VSqueezeLayer* mImpl{nullptr};
};

/// Inserts axes of extent 1, named by input 1.
class IUnsqueezeLayer : public ILayer {
 protected:
  apiv::VUnsqueezeLayer* mImpl{nullptr};
};

/// What is accumulated.
enum class CumulativeOperation : int32_t {
  kSUM = 0,
};
template <>
constexpr int32_t EnumMax<CumulativeOperation>() noexcept {
  return 1;
}

/// Running sum along the axis that input 1 gives (constant).
class ICumulativeLayer : public ILayer {
 public:
  bool setOperation(CumulativeOperation op) noexcept;
  CumulativeOperation getOperation() const noexcept;
  void setExclusive(bool exclusive) noexcept;
  bool getExclusive() const noexcept;
  void setReverse(bool reverse) noexcept;
  bool getReverse() const noexcept;

 protected:
  apiv::VCumulativeLayer* mImpl{nullptr};
};

/// What is done to the products of queries and keys.
enum class AttentionNormalizationOp : int32_t {
  kNONE = 0,
  kSOFTMAX = 1,
};
template <>
constexpr int32_t EnumMax<AttentionNormalizationOp>() noexcept {
  return 2;
}

/// A layer of an attention.
class IAttentionBoundaryLayer : public ILayer {
 public:
  IAttention* getAttention() const noexcept;

 protected:
  apiv::VAttentionBoundaryLayer* mBoundary{nullptr};
};

/// An input of an attention.
class IAttentionInputLayer : public IAttentionBoundaryLayer {
 protected:
  apiv::VAttentionInputLayer* mImpl{nullptr};
};

/// The output of an attention.
class IAttentionOutputLayer : public IAttentionBoundaryLayer {
 protected:
  apiv::VAttentionOutputLayer* mImpl{nullptr};
};

/// softmax(q k^T + mask) v over [batch, heads, sequence, size]; fewer key heads are shared.
/// Products are not scaled: scale the query. A BOOL mask keeps what is true, others are added.
class IAttention : public INoCopy {
 public:
  bool setNormalizationOperation(AttentionNormalizationOp op) noexcept;
  AttentionNormalizationOp getNormalizationOperation() const noexcept;
  bool setMask(ITensor& mask) noexcept;
  ITensor* getMask() noexcept;
  bool setCausal(bool isCausal) noexcept;
  bool getCausal() const noexcept;
  bool setDecomposable(bool decomposable) noexcept;
  bool getDecomposable() const noexcept;
  bool setInput(int32_t index, ITensor& input) noexcept;
  int32_t getNbInputs() const noexcept;
  ITensor* getInput(int32_t index) const noexcept;
  int32_t getNbOutputs() const noexcept;
  ITensor* getOutput(int32_t index) const noexcept;
  bool setName(const char* name) noexcept;
  const char* getName() const noexcept;
  bool setNormalizationQuantizeScale(ITensor& tensor) noexcept;
  ITensor* getNormalizationQuantizeScale() const noexcept;
  bool setNormalizationQuantizeToType(DataType type) noexcept;
  DataType getNormalizationQuantizeToType() const noexcept;
  bool setMetadata(const char* metadata) noexcept;
  const char* getMetadata() const noexcept;
  bool setNbRanks(int32_t nbRanks) noexcept;
  int32_t getNbRanks() const noexcept;

 protected:
  apiv::VAttention* mImpl{nullptr};
};

/// Turns pairs of elements of [batch, heads, sequence, size] by the angles of cosine and sine
/// caches.
class IRotaryEmbeddingLayer : public ILayer {
 public:
  void setInterleaved(bool interleaved) noexcept;
  bool getInterleaved() const noexcept;
  bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept;
  int32_t getRotaryEmbeddingDim() const noexcept;

 protected:
  apiv::VRotaryEmbeddingLayer* mImpl{nullptr};
};

/// Where updates go in a cache.
enum class KVCacheMode : int32_t {
  kLINEAR = 0,
};
template <>
constexpr int32_t EnumMax<KVCacheMode>() noexcept {
  return 1;
}

/// The cache [batch, heads, capacity, size] with the update written from each batch's index on.
class IKVCacheUpdateLayer : public ILayer {
 public:
  bool setCacheMode(KVCacheMode cacheMode) noexcept;
  KVCacheMode getCacheMode() const noexcept;

 protected:
  apiv::VKVCacheUpdateLayer* mImpl{nullptr};
};

/// Activation of the gate.
enum class MoEActType : int32_t {
  kNONE = 0,
  kSILU = 1,
};
template <>
constexpr int32_t EnumMax<MoEActType>() noexcept {
  return 2;
}

/// Mixture of experts: down(act(gate(x)) * up(x)) of the chosen experts, weighted by their scores.
/// Weights are [experts, hidden, inner] and [experts, inner, hidden].
class IMoELayer : public ILayer {
 public:
  void setGatedWeights(ITensor& fcGateWeights, ITensor& fcUpWeights, ITensor& fcDownWeights,
                       MoEActType activationType) noexcept;
  void setGatedBiases(ITensor& fcGateBiases, ITensor& fcUpBiases, ITensor& fcDownBiases) noexcept;
  void setActivationType(MoEActType activationType) noexcept;
  MoEActType getActivationType() const noexcept;
  void setQuantizationStatic(ITensor& fcDownActivationScale, DataType dataType) noexcept;
  void setQuantizationDynamicDblQ(ITensor& fcDownActivationDblQScale, DataType dataType,
                                  const Dims& blockShape, DataType dynQOutputScaleType) noexcept;
  void setQuantizationToType(DataType type) noexcept;
  DataType getQuantizationToType() const noexcept;
  void setQuantizationBlockShape(const Dims& blockShape) noexcept;
  Dims getQuantizationBlockShape() const noexcept;
  void setDynQOutputScaleType(DataType type) noexcept;
  DataType getDynQOutputScaleType() const noexcept;
  void setSwigluParams(float limit, float alpha, float beta) noexcept;
  void setSwigluParamLimit(float limit) noexcept;
  float getSwigluParamLimit() const noexcept;
  void setSwigluParamAlpha(float alpha) noexcept;
  float getSwigluParamAlpha() const noexcept;
  void setSwigluParamBeta(float beta) noexcept;
  float getSwigluParamBeta() const noexcept;
  void setInput(int32_t index, ITensor& tensor) noexcept;

 protected:
  apiv::VMoELayer* mImpl{nullptr};
};

/// A collective of several devices. Networks run on one: its input.
class IDistCollectiveLayer : public ILayer {
 protected:
  apiv::VDistCollectiveLayer* mImpl{nullptr};
};

/// A network under construction: inputs, layers, outputs. Objects it hands out live as long as it
/// does. Not thread-safe.
class INetworkDefinition : public INoCopy {
 public:
  /// -1 stands for extents that profiles decide. Null, with an error, where the name is taken.
  ITensor* addInput(const char* name, DataType type, const Dims& dimensions) noexcept;
  void markOutput(ITensor& tensor) noexcept;
  bool markDebug(ITensor& tensor) noexcept;
  bool unmarkDebug(ITensor& tensor) noexcept;
  bool isDebugTensor(const ITensor& tensor) const noexcept;
  bool markUnfusedTensorsAsDebugTensors() noexcept;
  bool unmarkUnfusedTensorsAsDebugTensors() noexcept;
  IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept;
  ILRNLayer* addLRN(ITensor& input, int64_t window, float alpha, float beta, float k) noexcept;
  IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                        Weights power) noexcept;
  ISoftMaxLayer* addSoftMax(ITensor& input) noexcept;
  IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept;
  IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2,
                                    ElementWiseOperation op) noexcept;
  IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation) noexcept;
  IShuffleLayer* addShuffle(ITensor& input) noexcept;
  IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth, int32_t axis) noexcept;
  int32_t getNbLayers() const noexcept;
  /// In the order of addition; null beyond the last.
  ILayer* getLayer(int32_t index) const noexcept;
  int32_t getNbInputs() const noexcept;
  ITensor* getInput(int32_t index) const noexcept;
  int32_t getNbOutputs() const noexcept;
  ITensor* getOutput(int32_t index) const noexcept;
  IReduceLayer* addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                          bool keepDimensions) noexcept;
  TRT_DEPRECATED ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k,
                                     uint32_t reduceAxes) noexcept;
  ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes,
                      DataType indicesType) noexcept;
  IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept;
  IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept;
  IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept;
  IMatrixMultiplyLayer* addMatrixMultiply(ITensor& input0, MatrixOperation op0, ITensor& input1,
                                          MatrixOperation op1) noexcept;
  TRT_DEPRECATED INonZeroLayer* addNonZero(ITensor& input) noexcept;
  INonZeroLayer* addNonZero(ITensor& input, DataType indicesType) noexcept;
  IConstantLayer* addConstant(const Dims& dimensions, Weights weights) noexcept;
  IIdentityLayer* addIdentity(ITensor& input) noexcept;
  ICastLayer* addCast(ITensor& input, DataType toType) noexcept;
  /// For inputs that no layer reads.
  void removeTensor(ITensor& tensor) noexcept;
  void unmarkOutput(ITensor& tensor) noexcept;
  TRT_DEPRECATED IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                                             IPluginV2& plugin) noexcept;
  IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
                              int32_t nbShapeInputs, IPluginV3& plugin) noexcept;
  ISliceLayer* addSlice(ITensor& input, const Dims& start, const Dims& size,
                        const Dims& stride) noexcept;
  void setName(const char* name) noexcept;
  const char* getName() const noexcept;
  IShapeLayer* addShape(ITensor& input) noexcept;
  TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept;
  NetworkDefinitionCreationFlags getFlags() const noexcept;
  bool getFlag(NetworkDefinitionCreationFlag networkDefinitionCreationFlag) const noexcept;
  bool markOutputForShapes(ITensor& tensor) noexcept;
  bool unmarkOutputForShapes(ITensor& tensor) noexcept;
  IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept;
  IConvolutionLayer* addConvolutionNd(ITensor& input, int64_t nbOutputMaps, const Dims& kernelSize,
                                      Weights kernelWeights, Weights biasWeights) noexcept;
  IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type, const Dims& windowSize) noexcept;
  IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps, Dims kernelSize,
                                          Weights kernelWeights, Weights biasWeights) noexcept;
  IScaleLayer* addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                          Weights power, int32_t channelAxis) noexcept;
  IResizeLayer* addResize(ITensor& input) noexcept;
  /// Layers join the loop by what they read.
  ILoop* addLoop() noexcept;
  IIfConditional* addIfConditional() noexcept;
  ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput) noexcept;
  IAssertionLayer* addAssertion(ITensor& condition, const char* message) noexcept;
  TRT_DEPRECATED IFillLayer* addFill(const Dims& dimensions, FillOperation op) noexcept;
  IFillLayer* addFill(const Dims& dimensions, FillOperation op, DataType outputType) noexcept;
  IPaddingLayer* addPaddingNd(ITensor& input, const Dims& prePadding,
                              const Dims& postPadding) noexcept;
  /// The name that IRefitter knows these weights by; else it is "layer.role".
  bool setWeightsName(Weights weights, const char* name) noexcept;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  IErrorRecorder* getErrorRecorder() const noexcept;
  TRT_DEPRECATED IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept;
  IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale, DataType outputType) noexcept;
  IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                            ScatterMode mode) noexcept;
  TRT_DEPRECATED IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept;
  IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale, DataType outputType) noexcept;
  TRT_DEPRECATED IDynamicQuantizeLayer* addDynamicQuantize(ITensor& input, int32_t axis,
                                                           int32_t blockSize, DataType outputType,
                                                           DataType scaleType) noexcept;
  IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor& input, const Dims& blockShape,
                                              DataType outputType, DataType scaleType) noexcept;
  IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs, const char* equation) noexcept;
  IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept;
  TRT_DEPRECATED INMSLayer* addNMS(ITensor& boxes, ITensor& scores,
                                   ITensor& maxOutputBoxesPerClass) noexcept;
  INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                    DataType indicesType) noexcept;
  IReverseSequenceLayer* addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept;
  TRT_DEPRECATED INormalizationLayer* addNormalization(ITensor& input, ITensor& scale,
                                                       ITensor& bias, uint32_t axesMask) noexcept;
  ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis, CumulativeOperation operation,
                                  bool exclusive, bool reverse) noexcept;
  IAttention* addAttention(ITensor& query, ITensor& key, ITensor& value,
                           AttentionNormalizationOp normOp, bool causal) noexcept;
  IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor& input, ITensor& cosCache, ITensor& sinCache,
                                            bool interleaved, int32_t rotaryEmbeddingDim) noexcept;
  IKVCacheUpdateLayer* addKVCacheUpdate(ITensor& cache, ITensor& update, ITensor& writeIndices,
                                        KVCacheMode cacheMode) noexcept;
  IMoELayer* addMoE(ITensor& hiddenStates, ITensor& selectedExpertsForTokens,
                    ITensor& scoresForSelectedExperts) noexcept;
  IDistCollectiveLayer* addDistCollective(ITensor& input, CollectiveOperation distCollectiveOp,
                                          ReduceOperation reduceOp, int64_t root, int64_t* groups,
                                          int64_t groupSize) noexcept;
  virtual inline IBuilder& getBuilder() const noexcept;
  bool markWeightsRefittable(const char* name) noexcept;
  bool unmarkWeightsRefittable(const char* name) noexcept;
  bool areWeightsMarkedRefittable(const char* name) const noexcept;
  ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept;
  IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept;
  INormalizationLayer* addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                          uint32_t axesMask) noexcept;

 protected:
  apiv::VNetworkDefinition* mImpl{nullptr};
};

/// How calibrators derive ranges.
enum class CalibrationAlgoType : int32_t {
  kLEGACY_CALIBRATION TRT_DEPRECATED_ENUM = 0,
  kENTROPY_CALIBRATION TRT_DEPRECATED_ENUM = 1,
  kENTROPY_CALIBRATION_2 TRT_DEPRECATED_ENUM = 2,
  kMINMAX_CALIBRATION TRT_DEPRECATED_ENUM = 3,
};
template <>
constexpr int32_t EnumMax<CalibrationAlgoType>() noexcept {
  return 4;
}

/// Feeds batches for choosing ranges of INT8. Base of those below.
class IInt8Calibrator : public IVersionedInterface {
 public:
  TRT_DEPRECATED virtual int32_t getBatchSize() const noexcept = 0;
  virtual bool getBatch(void* bindings[], const char* names[], int32_t nbBindings) noexcept = 0;
  virtual const void* readCalibrationCache(std::size_t& length) noexcept = 0;
  virtual void writeCalibrationCache(const void* ptr, std::size_t length) noexcept = 0;
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

namespace nvinfer1::v_1_0 {

class IInt8EntropyCalibrator : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IInt8EntropyCalibrator", 1, 0};
  }
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

class IInt8EntropyCalibrator2 : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IInt8EntropyCalibrator2", 1, 0};
  }
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

class IInt8MinMaxCalibrator : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IInt8MinMaxCalibrator", 1, 0};
  }
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

class IInt8LegacyCalibrator : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IInt8LegacyCalibrator", 1, 0};
  }
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kLEGACY_CALIBRATION;
  }
  virtual double getQuantile() const noexcept = 0;
  virtual double getRegressionCutoff() const noexcept = 0;
  virtual const void* readHistogramCache(std::size_t& length) noexcept = 0;
  virtual void writeHistogramCache(const void* ptr, std::size_t length) noexcept = 0;
  ~IInt8LegacyCalibrator() noexcept override = default;

 protected:
  IInt8LegacyCalibrator() = default;
  IInt8LegacyCalibrator(const IInt8LegacyCalibrator&) = default;
  IInt8LegacyCalibrator& operator=(const IInt8LegacyCalibrator&) = default;
  IInt8LegacyCalibrator(IInt8LegacyCalibrator&&) = default;
  IInt8LegacyCalibrator& operator=(IInt8LegacyCalibrator&&) = default;
};

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {

/// An operand of an algorithm.
class IAlgorithmIOInfo : public INoCopy {
 public:
  DataType getDataType() const noexcept;
  Dims getStrides() const noexcept;
  int64_t getVectorizedDim() const noexcept;
  int64_t getComponentsPerElement() const noexcept;

 protected:
  apiv::VAlgorithmIOInfo* mImpl{nullptr};
};

/// Which implementation an algorithm is.
class IAlgorithmVariant : public INoCopy {
 public:
  int64_t getImplementation() const noexcept;
  int64_t getTactic() const noexcept;

 protected:
  apiv::VAlgorithmVariant* mImpl{nullptr};
};

/// The layer that algorithms are for.
class IAlgorithmContext : public INoCopy {
 public:
  const char* getName() const noexcept;
  Dims getDimensions(int32_t index, OptProfileSelector select) const noexcept;
  int32_t getNbInputs() const noexcept;
  int32_t getNbOutputs() const noexcept;

 protected:
  apiv::VAlgorithmContext* mImpl{nullptr};
};

/// One way to compute a layer.
class IAlgorithm : public INoCopy {
 public:
  const IAlgorithmVariant& getAlgorithmVariant() const noexcept;
  float getTimingMSec() const noexcept;
  std::size_t getWorkspaceSize() const noexcept;
  const IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(int32_t index) const noexcept;

 protected:
  apiv::VAlgorithm* mImpl{nullptr};
};

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

/// Would choose among algorithms; it is not asked. Tactics are chosen by time and by the timing
/// cache.
class IAlgorithmSelector : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IAlgorithmSelector", 1, 0};
  }
  virtual int32_t selectAlgorithms(const IAlgorithmContext& context,
                                   const IAlgorithm* const* choices, int32_t nbChoices,
                                   int32_t* selection) noexcept = 0;
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

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {

/// Settings of calibration.
enum class QuantizationFlag : int32_t {
  kCALIBRATE_BEFORE_FUSION TRT_DEPRECATED_ENUM = 0,
};
template <>
constexpr int32_t EnumMax<QuantizationFlag>() noexcept {
  return 1;
}

/// Where plans run.
enum class RuntimePlatform : int32_t {
  kSAME_AS_BUILD = 0,
  kWINDOWS_AMD64 = 1,
};
template <>
constexpr int32_t EnumMax<RuntimePlatform>() noexcept {
  return 2;
}

/// Switches of IBuilderConfig. What cannot be honoured is refused or warned of, with its reason.
enum class BuilderFlag : int32_t {
  kFP16 TRT_DEPRECATED_ENUM = 0,
  kINT8 TRT_DEPRECATED_ENUM = 1,
  kDEBUG = 2,
  kGPU_FALLBACK = 3,
  kREFIT = 4,
  kDISABLE_TIMING_CACHE = 5,
  kTF32 = 6,
  kSPARSE_WEIGHTS = 7,
  kSAFETY_SCOPE TRT_DEPRECATED_ENUM = 8,
  kOBEY_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 9,
  kPREFER_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 10,
  kDIRECT_IO TRT_DEPRECATED_ENUM = 11,
  kREJECT_EMPTY_ALGORITHMS TRT_DEPRECATED_ENUM = 12,
  kVERSION_COMPATIBLE = 13,
  kEXCLUDE_LEAN_RUNTIME = 14,
  kFP8 TRT_DEPRECATED_ENUM = 15,
  kERROR_ON_TIMING_CACHE_MISS = 16,
  kBF16 TRT_DEPRECATED_ENUM = 17,
  kDISABLE_COMPILATION_CACHE = 18,
  kSTRIP_PLAN = 19,
  kWEIGHTLESS TRT_DEPRECATED_ENUM = 19,
  kREFIT_IDENTICAL = 20,
  kWEIGHT_STREAMING = 21,
  kINT4 TRT_DEPRECATED_ENUM = 22,
  kREFIT_INDIVIDUAL = 23,
  kSTRICT_NANS = 24,
  kMONITOR_MEMORY = 25,
  kFP4 TRT_DEPRECATED_ENUM = 26,
  kEDITABLE_TIMING_CACHE = 27,
  kDISTRIBUTIVE_INDEPENDENCE = 28,
};
template <>
constexpr int32_t EnumMax<BuilderFlag>() noexcept {
  return 30;
}

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

/// Identifies a measured layer.
struct TimingCacheKey {
  uint8_t data[16];
};

/// What was measured.
struct TimingCacheValue {
  static constexpr uint64_t kINVALID_TACTIC_HASH{UINT64_MAX};
  uint64_t tacticHash;
  float timingMSec;
};

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {

/// Measured times of kernels, to make builds faster and repeatable.
class ITimingCache : public INoCopy {
 public:
  IHostMemory* serialize() const noexcept;
  bool combine(const ITimingCache& inputCache, bool ignoreMismatch) noexcept;
  bool reset() noexcept;
  int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept;
  TimingCacheValue query(const TimingCacheKey& key) const noexcept;
  bool update(const TimingCacheKey& key, const TimingCacheValue& value) noexcept;

 protected:
  apiv::VTimingCache* mImpl{nullptr};
};

/// Pools whose size can be limited. kWORKSPACE bounds the scratch memory of a layer, in bytes.
enum class MemoryPoolType : int32_t {
  kWORKSPACE = 0,
  kDLA_MANAGED_SRAM = 1,
  kDLA_LOCAL_DRAM = 2,
  kDLA_GLOBAL_DRAM = 3,
  kTACTIC_DRAM = 4,
  kTACTIC_SHARED_MEMORY = 5,
};
template <>
constexpr int32_t EnumMax<MemoryPoolType>() noexcept {
  return 6;
}

/// Features that can be tried early.
enum class PreviewFeature : int32_t {
  kPROFILE_SHARING_0806 TRT_DEPRECATED_ENUM = 0,
  kALIASED_PLUGIN_IO_10_03 = 1,
  kRUNTIME_ACTIVATION_RESIZE_10_10 = 2,
  kMULTIDEVICE_RUNTIME_10_16 = 3,
};
template <>
constexpr int32_t EnumMax<PreviewFeature>() noexcept {
  return 4;
}

/// Devices other than the build's that a plan should run on.
enum class HardwareCompatibilityLevel : int32_t {
  kNONE = 0,
  kAMPERE_PLUS = 1,
  kSAME_COMPUTE_CAPABILITY = 2,
};
template <>
constexpr int32_t EnumMax<HardwareCompatibilityLevel>() noexcept {
  return 3;
}

/// How hard tilings across layers are searched.
enum class TilingOptimizationLevel : int32_t {
  kNONE = 0,
  kFAST = 1,
  kMODERATE = 2,
  kFULL = 3,
};
template <>
constexpr int32_t EnumMax<TilingOptimizationLevel>() noexcept {
  return 4;
}

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

/// Is told how far a build has come, and may stop it.
class IProgressMonitor : public IVersionedInterface {
 public:
  ~IProgressMonitor() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IProgressMonitor", 1, 0};
  }
  virtual void phaseStart(const char* phaseName, const char* parentPhase,
                          int32_t nbSteps) noexcept = 0;
  virtual bool stepComplete(const char* phaseName, int32_t step) noexcept = 0;
  virtual void phaseFinish(const char* phaseName) noexcept = 0;

 protected:
  IProgressMonitor() = default;
  IProgressMonitor(const IProgressMonitor&) = default;
  IProgressMonitor& operator=(const IProgressMonitor&) = default;
  IProgressMonitor(IProgressMonitor&&) = default;
  IProgressMonitor& operator=(IProgressMonitor&&) = default;
};

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {

/// How to build: precision, profiles, limits, caches.
class IBuilderConfig : public INoCopy {
 public:
  virtual inline void setAvgTimingIterations(int32_t avgTiming) noexcept;
  int32_t getAvgTimingIterations() const noexcept;
  void setEngineCapability(EngineCapability capability) noexcept;
  EngineCapability getEngineCapability() const noexcept;
  TRT_DEPRECATED void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept;
  TRT_DEPRECATED IInt8Calibrator* getInt8Calibrator() const noexcept;
  void setFlags(BuilderFlags builderFlags) noexcept;
  BuilderFlags getFlags() const noexcept;
  void clearFlag(BuilderFlag builderFlag) noexcept;
  void setFlag(BuilderFlag builderFlag) noexcept;
  bool getFlag(BuilderFlag builderFlag) const noexcept;
  void setDeviceType(const ILayer* layer, DeviceType deviceType) noexcept;
  DeviceType getDeviceType(const ILayer* layer) const noexcept;
  bool isDeviceTypeSet(const ILayer* layer) const noexcept;
  void resetDeviceType(const ILayer* layer) noexcept;
  bool canRunOnDLA(const ILayer* layer) const noexcept;
  void setDLACore(int32_t dlaCore) noexcept;
  int32_t getDLACore() const noexcept;
  void setDefaultDeviceType(DeviceType deviceType) noexcept;
  DeviceType getDefaultDeviceType() const noexcept;
  void reset() noexcept;
  void setProfileStream(const cudaStream_t stream) noexcept;
  cudaStream_t getProfileStream() const noexcept;
  int32_t addOptimizationProfile(const IOptimizationProfile* profile) noexcept;
  int32_t getNbOptimizationProfiles() const noexcept;
  void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept;
  ProfilingVerbosity getProfilingVerbosity() const noexcept;
  TRT_DEPRECATED void setAlgorithmSelector(IAlgorithmSelector* selector) noexcept;
  TRT_DEPRECATED IAlgorithmSelector* getAlgorithmSelector() const noexcept;
  TRT_DEPRECATED bool setCalibrationProfile(const IOptimizationProfile* profile) noexcept;
  TRT_DEPRECATED const IOptimizationProfile* getCalibrationProfile() noexcept;
  TRT_DEPRECATED void setQuantizationFlags(QuantizationFlags flags) noexcept;
  TRT_DEPRECATED QuantizationFlags getQuantizationFlags() const noexcept;
  TRT_DEPRECATED void clearQuantizationFlag(QuantizationFlag flag) noexcept;
  TRT_DEPRECATED void setQuantizationFlag(QuantizationFlag flag) noexcept;
  TRT_DEPRECATED bool getQuantizationFlag(QuantizationFlag flag) const noexcept;
  bool setTacticSources(TacticSources tacticSources) noexcept;
  TacticSources getTacticSources() const noexcept;
  ITimingCache* createTimingCache(const void* blob, std::size_t size) const noexcept;
  bool setTimingCache(const ITimingCache& cache, bool ignoreMismatch) noexcept;
  const ITimingCache* getTimingCache() const noexcept;
  void setMemoryPoolLimit(MemoryPoolType pool, std::size_t poolSize) noexcept;
  std::size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept;
  void setPreviewFeature(PreviewFeature feature, bool enable) noexcept;
  bool getPreviewFeature(PreviewFeature feature) const noexcept;
  void setBuilderOptimizationLevel(int32_t level) noexcept;
  int32_t getBuilderOptimizationLevel() noexcept;
  void setHardwareCompatibilityLevel(
      HardwareCompatibilityLevel hardwareCompatibilityLevel) noexcept;
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept;
  void setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept;
  const char* getPluginToSerialize(int32_t index) const noexcept;
  int32_t getNbPluginsToSerialize() const noexcept;
  void setMaxAuxStreams(int32_t nbStreams) noexcept;
  int32_t getMaxAuxStreams() const noexcept;
  void setProgressMonitor(IProgressMonitor* monitor) noexcept;
  IProgressMonitor* getProgressMonitor() const noexcept;
  void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept;
  RuntimePlatform getRuntimePlatform() const noexcept;
  void setMaxNbTactics(int32_t maxNbTactics) noexcept;
  int32_t getMaxNbTactics() const noexcept;
  bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept;
  TilingOptimizationLevel getTilingOptimizationLevel() const noexcept;
  bool setL2LimitForTiling(int64_t size) noexcept;
  int64_t getL2LimitForTiling() const noexcept;
  bool setRemoteAutoTuningConfig(const char* config) noexcept;
  const char* getRemoteAutoTuningConfig() const noexcept;

 protected:
  apiv::VBuilderConfig* mImpl{nullptr};
};

/// How a network is made. STRONGLY_TYPED keeps all types as they are given.
enum class NetworkDefinitionCreationFlag : int32_t {
  kEXPLICIT_BATCH TRT_DEPRECATED_ENUM = 0,
  kSTRONGLY_TYPED = 1,
  kPREFER_JIT_PYTHON_PLUGINS = 2,
  kPREFER_AOT_PYTHON_PLUGINS = 3,
};
template <>
constexpr int32_t EnumMax<NetworkDefinitionCreationFlag>() noexcept {
  return 4;
}

/// Makes networks, configurations and plans.
class IBuilder : public INoCopy {
 public:
  TRT_DEPRECATED bool platformHasFastFp16() const noexcept;
  TRT_DEPRECATED bool platformHasFastInt8() const noexcept;
  int32_t getMaxDLABatchSize() const noexcept;
  int32_t getNbDLACores() const noexcept;
  void setGpuAllocator(IGpuAllocator* allocator) noexcept;
  IBuilderConfig* createBuilderConfig() noexcept;
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept;
  IOptimizationProfile* createOptimizationProfile() noexcept;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  IErrorRecorder* getErrorRecorder() const noexcept;
  void reset() noexcept;
  TRT_DEPRECATED bool platformHasTf32() const noexcept;
  /// Optimizes the network and returns the plan, or null with an error logged.
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept;
  bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                      IStreamWriter& writer) noexcept;
  /// Optimizes the network and returns the plan, or null with an error logged.
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config,
                                      IHostMemory*& kernelText) noexcept;
  ICudaEngine* buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept;
  bool isNetworkSupported(const INetworkDefinition& network,
                          const IBuilderConfig& config) const noexcept;
  ILogger* getLogger() const noexcept;
  bool setMaxThreads(int32_t maxThreads) noexcept;
  int32_t getMaxThreads() const noexcept;
  IPluginRegistry& getPluginRegistry() noexcept;

 protected:
  apiv::VBuilder* mImpl{nullptr};
};

}  // namespace nvinfer1

#include "impl/NvInferForwarding.h"

extern "C" TENSORRTAPI void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept;

namespace nvinfer1 {
namespace {

/// A builder, or null with an error logged. Delete it when done.
inline IBuilder* createInferBuilder(ILogger& logger) noexcept {
  return static_cast<IBuilder*>(createInferBuilder_INTERNAL(&logger, NV_TENSORRT_VERSION));
}

}  // namespace

/// The plugin registry that builders search for an engine capability.
extern "C" TENSORRTAPI IPluginRegistry* getBuilderPluginRegistry(
    EngineCapability capability) noexcept;

namespace safe {
class IPluginRegistry;
}
extern "C" TENSORRTAPI safe::IPluginRegistry* getBuilderSafePluginRegistry(
    EngineCapability capability) noexcept;

/// Where internal libraries are looked for. This library needs none: true for an existing folder.
extern "C" TENSORRTAPI bool setInternalLibraryPath(const AsciiChar* path) noexcept;

}  // namespace nvinfer1

#pragma GCC diagnostic pop
