#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "network/control_flow.h"
#include "network/held_weights.h"
#include "network/layer.h"
#include "network/reported.h"
#include "network/tensor.h"

namespace tenon::network {

using namespace nvinfer1;  // The surface's own names, in the class that implements it.
using nvinfer1::Dims;

/// Memory for one more, so that it can be added without a failure.
template <class T> void make_room(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(list.size() * 2 + 4);
}

/// INetworkDefinition over a network-level graph. Not thread-safe.
class Network final : public Reported<INetworkDefinition> {
 public:
  Network(IBuilder& builder, std::shared_ptr<Reporter> reporter,
          NetworkDefinitionCreationFlags flags);
  ~Network() override;

  /// Takes over a graph (the importer's); only for an empty network.
  Status adopt(std::unique_ptr<Graph> graph);
  /// A copy for a build, sorted, with types inferred, loops and conditionals put together.
  Result<std::unique_ptr<Graph>> finished_graph();
  Graph& graph() { return *graph_; }
  /// Whether numbers of this type are the same as f32 to layers: those of 16 bits, unless the
  /// network is strongly typed.
  bool computes_in_32_bits(DataType type) const;
  /// The one handle of a value.
  TensorHandle* handle(const Value* value) const;
  /// The tensor's handle, or null (with an error) when it belongs to another network.
  TensorHandle* own(ITensor& tensor, const char* method) const;

  /// Adds a layer over these operands; null, with an error, when one is of another network.
  template <class L, class... Args>
  L* insert(const char* method, std::initializer_list<ITensor*> operands, int results,
            Args&&... args) {
    return insert<L>(method, std::span(operands.begin(), operands.size()), results,
                     std::forward<Args>(args)...);
  }
  template <class L, class... Args>
  L* insert(const char* method, std::span<ITensor* const> operands, int results, Args&&... args) {
    return reporter_->guarded(method, nullptr, [&] {
      auto layer = std::make_unique<L>(*this, std::forward<Args>(args)...);
      L* raw = layer.get();
      return attach(method, std::move(layer), operands, results) ? raw : nullptr;
    });
  }
  /// Like insert(), noting the layer in a list of its loop or conditional.
  template <class L, class Listed, class... Args>
  L* insert_listed(std::vector<Listed>& list, const char* method,
                   std::initializer_list<ITensor*> operands, int results, Args&&... args) {
    if (!reporter_->guarded_call(method, [&] { make_room(list); })) return nullptr;
    L* layer = insert<L>(method, operands, results, std::forward<Args>(args)...);
    if (layer != nullptr) list.push_back(layer);
    return layer;
  }
  /// Reports `method requires ...` unless the condition holds.
  bool require(bool condition, const char* method, std::string_view requirement) const;

  /// Makes stale nodes; of one layer, false when it (or what it needs) is wrong, which is logged
  /// once.
  bool update(LayerCore& layer);
  void mark_stale(LayerCore& layer);
  /// Layers that read the value see other types.
  void mark_users_stale(const Value& value);
  const std::set<std::string>& refittable_weights() const { return refittable_; }
  /// Tensors of markDebug; tensors that are no outputs become outputs of finished_graph().
  const std::vector<const TensorHandle*>& debug_tensors() const { return debug_; }
  /// Debug listeners may see all tensors that fusion leaves.
  bool shows_unfused() const { return shows_unfused_; }
  /// The name that refitting knows the weights by.
  std::string weights_name(const Weights& weights, const std::string& layer,
                           std::string_view role) const;
  /// Constants of the model that layers hand out.
  HeldWeights& held_weights() { return held_weights_; }
  /// Weights of a constant operand of an imported node, held, under the name that refitting knows;
  /// none when the operand is none.
  Weights hold(const Value* value);
  /// A value of no node, for operands and results of loops and conditionals until they are put
  /// together.
  Value* stand_in(TensorType type);
  /// Owns an object that belongs to the network, as attentions do.
  template <class T> T* keep(std::unique_ptr<T> object) {
    T* raw = object.get();
    objects_.push_back(std::move(object));
    return raw;
  }

  /// Shape of an input of that name: -1 becomes a symbol of its own.
  static Shape input_shape(const std::string& name, const nvinfer1::Dims& dims);

  ITensor* addInput(const char* name, nvinfer1::DataType type,
                    const nvinfer1::Dims& dimensions) noexcept override;
  void markOutput(ITensor& tensor) noexcept override;
  bool markDebug(ITensor& tensor) noexcept override;
  bool unmarkDebug(ITensor& tensor) noexcept override;
  bool isDebugTensor(const ITensor& tensor) const noexcept override;
  bool markUnfusedTensorsAsDebugTensors() noexcept override;
  bool unmarkUnfusedTensorsAsDebugTensors() noexcept override;
  int32_t getNbLayers() const noexcept override;
  ILayer* getLayer(int32_t index) const noexcept override;
  int32_t getNbInputs() const noexcept override;
  ITensor* getInput(int32_t index) const noexcept override;
  int32_t getNbOutputs() const noexcept override;
  ITensor* getOutput(int32_t index) const noexcept override;
  void removeTensor(ITensor& tensor) noexcept override;
  void unmarkOutput(ITensor& tensor) noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override;
  bool hasImplicitBatchDimension() const noexcept override;
  NetworkDefinitionCreationFlags getFlags() const noexcept override;
  bool getFlag(NetworkDefinitionCreationFlag networkDefinitionCreationFlag) const noexcept override;
  bool markOutputForShapes(ITensor& tensor) noexcept override;
  bool unmarkOutputForShapes(ITensor& tensor) noexcept override;
  bool setWeightsName(Weights weights, const char* name) noexcept override;
  IBuilder& getBuilder() const noexcept override;
  bool markWeightsRefittable(const char* name) noexcept override;
  bool unmarkWeightsRefittable(const char* name) noexcept override;
  bool areWeightsMarkedRefittable(const char* name) const noexcept override;

  IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept override;
  ILRNLayer* addLRN(ITensor& input, int64_t window, float alpha, float beta,
                    float k) noexcept override;
  IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                        Weights power) noexcept override;
  ISoftMaxLayer* addSoftMax(ITensor& input) noexcept override;
  IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept override;
  IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2,
                                    ElementWiseOperation op) noexcept override;
  IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation) noexcept override;
  IShuffleLayer* addShuffle(ITensor& input) noexcept override;
  IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth,
                          int32_t axis) noexcept override;
  IReduceLayer* addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                          bool keepDimensions) noexcept override;
  ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k,
                      uint32_t reduceAxes) noexcept override;
  ITopKLayer* addTopKV2(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes,
                        nvinfer1::DataType indicesType) noexcept override;
  IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept override;
  IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept override;
  IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept override;
  IMatrixMultiplyLayer* addMatrixMultiply(ITensor& input0, MatrixOperation op0, ITensor& input1,
                                          MatrixOperation op1) noexcept override;
  INonZeroLayer* addNonZero(ITensor& input) noexcept override;
  INonZeroLayer* addNonZeroV2(ITensor& input, nvinfer1::DataType indicesType) noexcept override;
  IConstantLayer* addConstant(const nvinfer1::Dims& dimensions, Weights weights) noexcept override;
  IIdentityLayer* addIdentity(ITensor& input) noexcept override;
  ICastLayer* addCast(ITensor& input, nvinfer1::DataType toType) noexcept override;
  IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                              IPluginV2& plugin) noexcept override;
  IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
                              int32_t nbShapeInputs, IPluginV3& plugin) noexcept override;
  ISliceLayer* addSlice(ITensor& input, const nvinfer1::Dims& start, const nvinfer1::Dims& size,
                        const nvinfer1::Dims& stride) noexcept override;
  IShapeLayer* addShape(ITensor& input) noexcept override;
  IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept override;
  IConvolutionLayer* addConvolutionNd(ITensor& input, int64_t nbOutputMaps,
                                      const nvinfer1::Dims& kernelSize, Weights kernelWeights,
                                      Weights biasWeights) noexcept override;
  IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type,
                              const nvinfer1::Dims& windowSize) noexcept override;
  IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps,
                                          const nvinfer1::Dims& kernelSize, Weights kernelWeights,
                                          Weights biasWeights) noexcept override;
  IScaleLayer* addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                          Weights power, int32_t channelAxis) noexcept override;
  IResizeLayer* addResize(ITensor& input) noexcept override;
  ILoop* addLoop() noexcept override;
  IIfConditional* addIfConditional() noexcept override;
  ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput,
                          ITensor& elseInput) noexcept override;
  IAssertionLayer* addAssertion(ITensor& condition, const char* message) noexcept override;
  IFillLayer* addFill(const nvinfer1::Dims& dimensions, FillOperation op) noexcept override;
  IFillLayer* addFillV2(const nvinfer1::Dims& dimensions, FillOperation op,
                        nvinfer1::DataType outputType) noexcept override;
  IPaddingLayer* addPaddingNd(ITensor& input, const nvinfer1::Dims& prePadding,
                              const nvinfer1::Dims& postPadding) noexcept override;
  IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept override;
  IDequantizeLayer* addDequantizeV2(ITensor& input, ITensor& scale,
                                    nvinfer1::DataType outputType) noexcept override;
  IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                            ScatterMode mode) noexcept override;
  IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept override;
  IQuantizeLayer* addQuantizeV2(ITensor& input, ITensor& scale,
                                nvinfer1::DataType outputType) noexcept override;
  IDynamicQuantizeLayer* addDynamicQuantize(ITensor& input, int32_t axis, int32_t blockSize,
                                            nvinfer1::DataType outputType,
                                            nvinfer1::DataType scaleType) noexcept override;
  IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor& input, const nvinfer1::Dims& blockShape,
                                              nvinfer1::DataType outputType,
                                              nvinfer1::DataType scaleType) noexcept override;
  IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs,
                          const char* equation) noexcept override;
  IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept override;
  INMSLayer* addNMS(ITensor& boxes, ITensor& scores,
                    ITensor& maxOutputBoxesPerClass) noexcept override;
  INMSLayer* addNMSV2(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                      nvinfer1::DataType indicesType) noexcept override;
  IReverseSequenceLayer* addReverseSequence(ITensor& input,
                                            ITensor& sequenceLens) noexcept override;
  INormalizationLayer* addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                        uint32_t axesMask) noexcept override;
  ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis, CumulativeOperation operation,
                                  bool exclusive, bool reverse) noexcept override;
  IAttention* addAttention(ITensor& query, ITensor& key, ITensor& value,
                           AttentionNormalizationOp normOp, bool causal) noexcept override;
  IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor& input, ITensor& cosCache, ITensor& sinCache,
                                            bool interleaved,
                                            int32_t rotaryEmbeddingDim) noexcept override;
  IKVCacheUpdateLayer* addKVCacheUpdate(ITensor& cache, ITensor& update, ITensor& writeIndices,
                                        KVCacheMode cacheMode) noexcept override;
  IMoELayer* addMoE(ITensor& hiddenStates, ITensor& selectedExpertsForTokens,
                    ITensor& scoresForSelectedExperts) noexcept override;
  IDistCollectiveLayer* addDistCollective(ITensor& input, CollectiveOperation distCollectiveOp,
                                          ReduceOperation reduceOp, int64_t root, int64_t* groups,
                                          int64_t groupSize) noexcept override;
  ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept override;
  IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept override;
  INormalizationLayer* addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                          uint32_t axesMask) noexcept override;

 private:
  bool attach(const char* method, std::unique_ptr<LayerCore> layer,
              std::span<ITensor* const> operands, int results);
  void make_outputs(LayerCore& layer, Node& node);
  void detach(const LayerCore& layer, Node& node);
  TensorHandle* new_handle(Value* value, LayerCore* layer) const;
  ITensor* new_input(const char* name, nvinfer1::DataType type, Shape shape);
  /// Makes the layer's nodes again.
  void refresh(LayerCore& layer);
  Status refresh_operands(LayerCore& layer);
  Status lower(LayerCore& layer);
  Status infer_imported(LayerCore& layer);
  Value* typed_output(LayerCore& layer, size_t index, std::vector<Node*>& nodes);
  void replace_nodes(LayerCore& layer, std::vector<Node*> nodes, const std::vector<Value*>& values);
  Status update_all();
  Status apply_bindings(Graph& graph) const;
  void adopt_layer(Node& node);

  IBuilder& builder_;
  NetworkDefinitionCreationFlags flags_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<ControlFlow> control_;
  HeldWeights held_weights_;
  std::string name_;
  std::vector<std::unique_ptr<LayerCore>> layers_;  ///< In order of addition.
  std::vector<LayerCore*> listed_;  ///< Without constants that are weights of imported layers.
  std::vector<std::unique_ptr<INoCopy>> objects_;
  std::vector<TensorHandle*> inputs_;
  std::map<const Node*, LayerCore*> owners_;
  int stale_ = 0;
  std::map<const void*, std::string> weight_names_;
  std::set<std::string> refittable_;
  std::vector<const TensorHandle*> debug_;  ///< In the order of their marking.
  bool shows_unfused_ = false;
  mutable std::vector<std::unique_ptr<TensorHandle>> handles_;
  mutable std::map<const Value*, TensorHandle*> by_value_;
};

}  // namespace tenon::network
