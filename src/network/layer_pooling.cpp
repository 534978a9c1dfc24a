// Pooling and local response normalization.
#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"
#include "network/window.h"

namespace tenon::network {
namespace {

class PoolingLayer final : public LayerOf<nvinfer1::IPoolingLayer, LayerType::kPOOLING> {
 public:
  PoolingLayer(Network& network, nvinfer1::PoolingType type, const Dims& size)
      : LayerOf(network), type_(type) {
    window_.size = size;
    window_.stride = repeated(1, static_cast<size_t>(size.nbDims));
    window_.pre = window_.post = repeated(0, static_cast<size_t>(size.nbDims));
  }
  TENON_LAYER_CHECKED(nvinfer1::PoolingType, PoolingType, type_, is_valid(value), "a pooling type")
  TENON_LAYER_CHECKED(float, BlendFactor, blend_, value >= 0 && value <= 1, "a number from 0 to 1")
  TENON_LAYER_ATTRIBUTE(bool, AverageCountExcludesPadding, exclusive_)
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
  void read(const Pool& op) {
    window_.read(op, op.kernel.size());
    if (op.ceil_mode) window_.mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
    exclusive_ = !op.count_include_pad;
    const bool dilated = std::any_of(op.dilations.begin(), op.dilations.end(),
                                     [](int64_t dilation) { return dilation != 1; });
    if (dilated) forbid_changes();
  }

 private:
  Value* pool(Emitter& e, PoolFunction function) const {
    Pool op;
    op.function = function;
    op.kernel.assign(window_.size.d, window_.size.d + window_.size.nbDims);
    op.strides = window_.strides();
    op.pads_begin = window_.pads_begin();
    op.pads_end = window_.pads_end();
    op.pad_mode = window_.pad_mode();
    op.ceil_mode = window_.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
    op.count_include_pad = !exclusive_;
    const int64_t kept = window_.size.nbDims + 1;
    return split_leading(e, e.add(std::move(op), {join_leading(e, in(0), kept)}), in(0), kept);
  }

  nvinfer1::PoolingType type_;
  float blend_ = 0;
  bool exclusive_ = true;
  Window window_;
};

class LrnLayer final : public LayerOf<nvinfer1::ILRNLayer, LayerType::kLRN> {
 public:
  LrnLayer(Network& network, int64_t window, float alpha, float beta, float k)
      : LayerOf(network), window_(window), alpha_(alpha), beta_(beta), k_(k) {}
  TENON_LAYER_CHECKED(int64_t, WindowSize, window_, value >= 1 && value % 2 == 1,
                      "a positive odd number")
  TENON_LAYER_ATTRIBUTE(float, Alpha, alpha_)
  TENON_LAYER_ATTRIBUTE(float, Beta, beta_)
  TENON_LAYER_ATTRIBUTE(float, K, k_)

  std::vector<Value*> lower(Emitter& e) override {
    Lrn op;
    op.size = window_;
    op.alpha = alpha_;
    op.beta = beta_;
    op.bias = k_;
    return {e.add(op, {in(0)})};
  }

 private:
  int64_t window_;
  float alpha_, beta_, k_;
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Pool& op) {
  const auto type = op.function == PoolFunction::kMax ? nvinfer1::PoolingType::kMAX
                                                      : nvinfer1::PoolingType::kAVERAGE;
  if (op.function == PoolFunction::kLp) return adopt_other(network, node);
  auto layer = std::make_unique<PoolingLayer>(network, type, to_dims(Extents(op.kernel)));
  layer->read(op);
  if (node.outputs().size() > 1) layer->forbid_changes();  // Indices of the maxima.
  return layer;
}

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Lrn& op) {
  return std::make_unique<LrnLayer>(network, op.size, static_cast<float>(op.alpha),
                                    static_cast<float>(op.beta), static_cast<float>(op.bias));
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
  return insert<LrnLayer>("addLRN", {&input}, 1, window, alpha, beta, k);
}

}  // namespace tenon::network
