// Pooling and local response normalization.
#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"
#include "network/window.h"

namespace tenon::network {
namespace {

class PoolingLayer final
    : public OperatorLayer<nvinfer1::IPoolingLayer, LayerType::kPOOLING, Pool> {
 public:
  PoolingLayer(Network& network, nvinfer1::PoolingType type, const Dims& size, Pool op = {})
      : OperatorLayer(network, std::move(op)), type_(type), window_(size, op_) {
    if (op_.ceil_mode) window_.mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
  }
  TENON_LAYER_CHECKED(nvinfer1::PoolingType, PoolingType, type_, is_valid(value), "a pooling type")
  TENON_LAYER_CHECKED(float, BlendFactor, blend_, value >= 0 && value <= 1, "a number from 0 to 1")
  void setAverageCountExcludesPadding(bool value) noexcept override {
    assign(op_.count_include_pad, !value);
  }
  bool getAverageCountExcludesPadding() const noexcept override { return !op_.count_include_pad; }
  TENON_WINDOW_PADDING()
  TENON_WINDOW_DIMS(WindowSizeNd, size, 1)
  TENON_WINDOW_DIMS(StrideNd, stride, 1)

  std::vector<Value*> lower(Emitter& e) override {
    if (e.rank(in(0)) < window_.size.nbDims + 2) {
      e.fail(user_error("a window of {} axes does not pool an input of {}", window_.size.nbDims,
                        e.rank(in(0))));
      return {nullptr};
    }
    if (type_ == nvinfer1::PoolingType::kMAX) return {pool(e, PoolFunction::kMax)};
    if (type_ == nvinfer1::PoolingType::kAVERAGE) return {pool(e, PoolFunction::kAverage)};
    Value* most = e.mul(pool(e, PoolFunction::kMax), 1.0 - blend_);
    return {e.add(most, e.mul(pool(e, PoolFunction::kAverage), blend_))};
  }

 private:
  Value* pool(Emitter& e, PoolFunction function) const {
    Pool op = window_.applied_to(op_);
    op.dilations = op_.dilations;  // The interface has none.
    op.function = function;
    op.kernel.assign(window_.size.d, window_.size.d + window_.size.nbDims);
    op.ceil_mode = window_.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
    const int64_t kept = window_.size.nbDims + 1;
    return split_leading(e, e.add(std::move(op), {join_leading(e, in(0), kept)}), in(0), kept);
  }

  nvinfer1::PoolingType type_;
  float blend_ = 0;
  Window window_;
};

class LrnLayer final : public OperatorLayer<nvinfer1::ILRNLayer, LayerType::kLRN, Lrn> {
 public:
  using OperatorLayer::OperatorLayer;
  TENON_LAYER_CHECKED(int64_t, WindowSize, op_.size, value >= 1 && value % 2 == 1,
                      "a positive odd number")
  TENON_LAYER_ATTRIBUTE(float, Alpha, op_.alpha)
  TENON_LAYER_ATTRIBUTE(float, Beta, op_.beta)
  TENON_LAYER_ATTRIBUTE(float, K, op_.bias)
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Pool& op) {
  const auto type = op.function == PoolFunction::kMax ? nvinfer1::PoolingType::kMAX
                                                      : nvinfer1::PoolingType::kAVERAGE;
  if (op.function == PoolFunction::kLp) return adopt_other(network, node);
  auto layer = std::make_unique<PoolingLayer>(network, type, to_dims(Extents(op.kernel)), op);
  if (node.outputs().size() > 1) layer->forbid_changes();  // Indices of the maxima.
  return layer;
}

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Lrn& op) {
  return std::make_unique<LrnLayer>(network, op);
}

IPoolingLayer* Network::addPoolingNd(ITensor& input, PoolingType type,
                                     const Dims& windowSize) noexcept {
  if (!require(is_valid(type), "addPoolingNd", "a pooling type") ||
      !require(is_window(windowSize), "addPoolingNd", "a window of 1 to 3 positive extents"))
    return nullptr;
  return insert<PoolingLayer>("addPoolingNd", {&input}, 1, type, windowSize);
}

ILRNLayer* Network::addLRN(ITensor& input, int64_t window, float alpha, float beta,
                           float k) noexcept {
  if (!require(window >= 1 && window % 2 == 1, "addLRN", "a window of a positive odd number"))
    return nullptr;
  Lrn op;
  op.size = window;
  op.alpha = alpha, op.beta = beta, op.bias = k;
  return insert<LrnLayer>("addLRN", {&input}, 1, op);
}

}  // namespace tenon::network
