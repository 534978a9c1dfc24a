// The layers of INetworkDefinition that cannot be added one by one yet.
#include "network/network.h"

namespace tenon::network {

std::nullptr_t Network::refuse(const char* method) const {
  reporter_->report(unsupported(
      "{} is not available yet; models with this layer come in through the ONNX parser", method));
  return nullptr;
}

IActivationLayer* Network::addActivation(ITensor&, ActivationType) noexcept {
  return refuse("addActivation");
}
ILRNLayer* Network::addLRN(ITensor&, int64_t, float, float, float) noexcept {
  return refuse("addLRN");
}
IScaleLayer* Network::addScale(ITensor&, ScaleMode, Weights, Weights, Weights) noexcept {
  return refuse("addScale");
}
ISoftMaxLayer* Network::addSoftMax(ITensor&) noexcept {
  return refuse("addSoftMax");
}
IConcatenationLayer* Network::addConcatenation(ITensor* const*, int32_t) noexcept {
  return refuse("addConcatenation");
}
IElementWiseLayer* Network::addElementWise(ITensor&, ITensor&, ElementWiseOperation) noexcept {
  return refuse("addElementWise");
}
IUnaryLayer* Network::addUnary(ITensor&, UnaryOperation) noexcept {
  return refuse("addUnary");
}
IShuffleLayer* Network::addShuffle(ITensor&) noexcept {
  return refuse("addShuffle");
}
IOneHotLayer* Network::addOneHot(ITensor&, ITensor&, ITensor&, int32_t) noexcept {
  return refuse("addOneHot");
}
IReduceLayer* Network::addReduce(ITensor&, ReduceOperation, uint32_t, bool) noexcept {
  return refuse("addReduce");
}
ITopKLayer* Network::addTopK(ITensor&, TopKOperation, int32_t, uint32_t) noexcept {
  return refuse("addTopK");
}
ITopKLayer* Network::addTopK(ITensor&, TopKOperation, int32_t, uint32_t,
                             nvinfer1::DataType) noexcept {
  return refuse("addTopK");
}
IGatherLayer* Network::addGather(ITensor&, ITensor&, int32_t) noexcept {
  return refuse("addGather");
}
IGatherLayer* Network::addGatherV2(ITensor&, ITensor&, GatherMode) noexcept {
  return refuse("addGatherV2");
}
IRaggedSoftMaxLayer* Network::addRaggedSoftMax(ITensor&, ITensor&) noexcept {
  return refuse("addRaggedSoftMax");
}
IMatrixMultiplyLayer* Network::addMatrixMultiply(ITensor&, MatrixOperation, ITensor&,
                                                 MatrixOperation) noexcept {
  return refuse("addMatrixMultiply");
}
INonZeroLayer* Network::addNonZero(ITensor&) noexcept {
  return refuse("addNonZero");
}
INonZeroLayer* Network::addNonZero(ITensor&, nvinfer1::DataType) noexcept {
  return refuse("addNonZero");
}
IConstantLayer* Network::addConstant(const nvinfer1::Dims&, Weights) noexcept {
  return refuse("addConstant");
}
IIdentityLayer* Network::addIdentity(ITensor&) noexcept {
  return refuse("addIdentity");
}
ICastLayer* Network::addCast(ITensor&, nvinfer1::DataType) noexcept {
  return refuse("addCast");
}
IPluginV2Layer* Network::addPluginV2(ITensor* const*, int32_t, IPluginV2&) noexcept {
  return refuse("addPluginV2");
}
IPluginV3Layer* Network::addPluginV3(ITensor* const*, int32_t, ITensor* const*, int32_t,
                                     IPluginV3&) noexcept {
  return refuse("addPluginV3");
}
ISliceLayer* Network::addSlice(ITensor&, const nvinfer1::Dims&, const nvinfer1::Dims&,
                               const nvinfer1::Dims&) noexcept {
  return refuse("addSlice");
}
IShapeLayer* Network::addShape(ITensor&) noexcept {
  return refuse("addShape");
}
IParametricReLULayer* Network::addParametricReLU(ITensor&, ITensor&) noexcept {
  return refuse("addParametricReLU");
}
IConvolutionLayer* Network::addConvolutionNd(ITensor&, int64_t, const nvinfer1::Dims&, Weights,
                                             Weights) noexcept {
  return refuse("addConvolutionNd");
}
IPoolingLayer* Network::addPoolingNd(ITensor&, PoolingType, const nvinfer1::Dims&) noexcept {
  return refuse("addPoolingNd");
}
IDeconvolutionLayer* Network::addDeconvolutionNd(ITensor&, int64_t, nvinfer1::Dims, Weights,
                                                 Weights) noexcept {
  return refuse("addDeconvolutionNd");
}
IScaleLayer* Network::addScaleNd(ITensor&, ScaleMode, Weights, Weights, Weights, int32_t) noexcept {
  return refuse("addScaleNd");
}
IResizeLayer* Network::addResize(ITensor&) noexcept {
  return refuse("addResize");
}
ILoop* Network::addLoop() noexcept {
  return refuse("addLoop");
}
IIfConditional* Network::addIfConditional() noexcept {
  return refuse("addIfConditional");
}
ISelectLayer* Network::addSelect(ITensor&, ITensor&, ITensor&) noexcept {
  return refuse("addSelect");
}
IAssertionLayer* Network::addAssertion(ITensor&, const char*) noexcept {
  return refuse("addAssertion");
}
IFillLayer* Network::addFill(const nvinfer1::Dims&, FillOperation) noexcept {
  return refuse("addFill");
}
IFillLayer* Network::addFill(const nvinfer1::Dims&, FillOperation, nvinfer1::DataType) noexcept {
  return refuse("addFill");
}
IPaddingLayer* Network::addPaddingNd(ITensor&, const nvinfer1::Dims&,
                                     const nvinfer1::Dims&) noexcept {
  return refuse("addPaddingNd");
}
IDequantizeLayer* Network::addDequantize(ITensor&, ITensor&) noexcept {
  return refuse("addDequantize");
}
IDequantizeLayer* Network::addDequantize(ITensor&, ITensor&, nvinfer1::DataType) noexcept {
  return refuse("addDequantize");
}
IScatterLayer* Network::addScatter(ITensor&, ITensor&, ITensor&, ScatterMode) noexcept {
  return refuse("addScatter");
}
IQuantizeLayer* Network::addQuantize(ITensor&, ITensor&) noexcept {
  return refuse("addQuantize");
}
IQuantizeLayer* Network::addQuantize(ITensor&, ITensor&, nvinfer1::DataType) noexcept {
  return refuse("addQuantize");
}
IDynamicQuantizeLayer* Network::addDynamicQuantize(ITensor&, int32_t, int32_t, nvinfer1::DataType,
                                                   nvinfer1::DataType) noexcept {
  return refuse("addDynamicQuantize");
}
IDynamicQuantizeLayer* Network::addDynamicQuantizeV2(ITensor&, const nvinfer1::Dims&,
                                                     nvinfer1::DataType,
                                                     nvinfer1::DataType) noexcept {
  return refuse("addDynamicQuantizeV2");
}
IEinsumLayer* Network::addEinsum(ITensor* const*, int32_t, const char*) noexcept {
  return refuse("addEinsum");
}
IGridSampleLayer* Network::addGridSample(ITensor&, ITensor&) noexcept {
  return refuse("addGridSample");
}
INMSLayer* Network::addNMS(ITensor&, ITensor&, ITensor&) noexcept {
  return refuse("addNMS");
}
INMSLayer* Network::addNMS(ITensor&, ITensor&, ITensor&, nvinfer1::DataType) noexcept {
  return refuse("addNMS");
}
IReverseSequenceLayer* Network::addReverseSequence(ITensor&, ITensor&) noexcept {
  return refuse("addReverseSequence");
}
INormalizationLayer* Network::addNormalization(ITensor&, ITensor&, ITensor&, uint32_t) noexcept {
  return refuse("addNormalization");
}
ICumulativeLayer* Network::addCumulative(ITensor&, ITensor&, CumulativeOperation, bool,
                                         bool) noexcept {
  return refuse("addCumulative");
}
IAttention* Network::addAttention(ITensor&, ITensor&, ITensor&, AttentionNormalizationOp,
                                  bool) noexcept {
  return refuse("addAttention");
}
IRotaryEmbeddingLayer* Network::addRotaryEmbedding(ITensor&, ITensor&, ITensor&, bool,
                                                   int32_t) noexcept {
  return refuse("addRotaryEmbedding");
}
IKVCacheUpdateLayer* Network::addKVCacheUpdate(ITensor&, ITensor&, ITensor&, KVCacheMode) noexcept {
  return refuse("addKVCacheUpdate");
}
IMoELayer* Network::addMoE(ITensor&, ITensor&, ITensor&) noexcept {
  return refuse("addMoE");
}
IDistCollectiveLayer* Network::addDistCollective(ITensor&, CollectiveOperation, ReduceOperation,
                                                 int64_t, int64_t*, int64_t) noexcept {
  return refuse("addDistCollective");
}
ISqueezeLayer* Network::addSqueeze(ITensor&, ITensor&) noexcept {
  return refuse("addSqueeze");
}
IUnsqueezeLayer* Network::addUnsqueeze(ITensor&, ITensor&) noexcept {
  return refuse("addUnsqueeze");
}
INormalizationLayer* Network::addNormalizationV2(ITensor&, ITensor&, ITensor&, uint32_t) noexcept {
  return refuse("addNormalizationV2");
}

}  // namespace tenon::network
