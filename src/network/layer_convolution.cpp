// Convolution and deconvolution.
#include <algorithm>

#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"
#include "network/window.h"

namespace tenon::network {
namespace {

/// Shared by the two layers; `Conv` or `Deconv` is the operator.
template <class Interface, LayerType kType, class Op>
class ConvolutionBase : public OperatorLayer<Interface, kType, Op> {
 protected:
  using Base = OperatorLayer<Interface, kType, Op>;
  using Base::assign, Base::in, Base::permit, Base::has_operand, Base::op_;

 public:
  ConvolutionBase(Network& network, int64_t maps, const Dims& size, Weights kernel, Weights bias,
                  Op op = {})
      : Base(network, std::move(op)),
        maps_(maps),
        kernel_(kernel),
        bias_(bias),
        window_(size, op_) {
    this->set_most_operands(3);
  }
  TENON_LAYER_CHECKED(int64_t, NbOutputMaps, maps_, value >= 1, "at least 1")
  TENON_LAYER_CHECKED(int64_t, NbGroups, op_.groups, value >= 1, "at least 1")
  void setKernelWeights(Weights value) noexcept override {
    if (is_same(kernel_, value)) return;
    assign(kernel_, value);
    kernel_given_ = value.count > 0;
  }
  Weights getKernelWeights() const noexcept override {
    return this->network().held_weights().packed(kernel_);
  }
  void setBiasWeights(Weights value) noexcept override {
    if (is_same(bias_, value)) return;
    assign(bias_, value);
    bias_given_ = value.count > 0;
  }
  Weights getBiasWeights() const noexcept override {
    return this->network().held_weights().packed(bias_);
  }
  // Of a model, constant operands are the layer's weights, and no inputs to programs.
  int32_t getNbInputs() const noexcept override {
    int32_t count = this->operand_count();
    while (count > 1 && is_weights(count - 1)) --count;
    return count;
  }
  ITensor* getInput(int32_t index) const noexcept override {
    return is_weights(index) ? nullptr : this->operand(index);
  }
  void setInput(int32_t index, ITensor& tensor) noexcept override {
    this->set_operand(index, tensor);
    if (this->operand(index) != &tensor) return;
    if (index == 1 && !kernel_given_) kernel_ = {};
    if (index == 2 && !bias_given_) bias_ = {};
  }
  TENON_WINDOW_PADDING()
  TENON_WINDOW_DIMS(StrideNd, stride, 1)
  TENON_WINDOW_DIMS(DilationNd, dilation, 1)
  void setKernelSizeNd(const Dims& value) noexcept override {
    if (permit(fits_window(value, window_.size, 1), "setKernelSizeNd",
               "as many axes as before, each at least 1"))
      assign(window_.size, value);
  }
  Dims getKernelSizeNd() const noexcept override { return window_.size; }

 protected:
  bool is_weights(int32_t index) const {
    return (index == 1 && kernel_.count > 0) || (index == 2 && (bias_.count > 0 || !in(2)));
  }
  Value* kernel(Emitter& e, int64_t first, int64_t second) const {
    if (has_operand(1) && !kernel_given_) return in(1);
    Extents extents = {first, second};
    extents.insert(extents.end(), window_.size.d, window_.size.d + window_.size.nbDims);
    return this->weights(e, kernel_, std::move(extents), "kernel");
  }
  Value* bias(Emitter& e) const {
    if (has_operand(2) && !bias_given_) return in(2);
    return bias_.count == 0 ? nullptr : this->weights(e, bias_, {maps_}, "bias");
  }
  /// Channels of the input; -1 after a failure.
  int64_t channels(Emitter& e) const {
    if (e.rank(in(0)) < window_.size.nbDims + 2) {
      e.fail(user_error("an input of {} axes needs at least 2 more than the kernel's {}",
                        e.rank(in(0)), window_.size.nbDims));
      return -1;
    }
    const int64_t count = e.constant_extent(in(0), e.rank(in(0)) - window_.size.nbDims - 1);
    if (e.ok() && (count % op_.groups != 0 || maps_ % op_.groups != 0))
      e.fail(user_error("{} input and {} output channels do not divide into {} groups", count,
                        maps_, op_.groups));
    return e.ok() ? count : -1;
  }
  /// Types other than the input's are the surface's weak typing: weights follow the input.
  Value* matched(Emitter& e, Value* value) const {
    return value == nullptr || has_operand(1) ? value : e.cast(value, e.type(in(0)));
  }
  /// Of the input, kernel and bias.
  std::vector<Value*> lowered(Emitter& e, Op op, Value* x, Value* w, Value* b) const {
    Value* y = e.add(std::move(op), {x, matched(e, w), matched(e, b)});
    return {split_leading(e, y, in(0), window_.size.nbDims + 1)};
  }

  int64_t maps_;
  Weights kernel_, bias_;
  bool kernel_given_ = false, bias_given_ = false;  ///< After it came with tensors for them.
  Window window_;
};

class ConvolutionLayer final
    : public ConvolutionBase<nvinfer1::IConvolutionLayer, LayerType::kCONVOLUTION, Conv> {
 public:
  using ConvolutionBase::ConvolutionBase;
  std::vector<Value*> lower(Emitter& e) override {
    const int64_t count = channels(e);
    if (!e.ok()) return {nullptr};
    Value* x = join_leading(e, in(0), window_.size.nbDims + 1);
    Conv op = window_.applied_to(op_);
    op.pads_end = window_.round_up_pads(e, e.shape(x));
    Value* w = kernel(e, maps_, count / op_.groups);
    return lowered(e, std::move(op), x, w, bias(e));
  }
};

class DeconvolutionLayer final
    : public ConvolutionBase<nvinfer1::IDeconvolutionLayer, LayerType::kDECONVOLUTION, Deconv> {
 public:
  using ConvolutionBase::ConvolutionBase;
  std::vector<Value*> lower(Emitter& e) override {
    const int64_t count = channels(e);
    if (!e.ok()) return {nullptr};
    Value* x = join_leading(e, in(0), window_.size.nbDims + 1);
    Value* w = kernel(e, count, maps_ / op_.groups);
    return lowered(e, window_.applied_to(op_), x, w, bias(e));
  }
};

/// The kernel's extents, of an imported node.
Dims kernel_size(const Node& node) {
  const Shape& shape = node.input(1)->type.shape;
  return to_dims(Shape(shape.begin() + std::min<size_t>(2, shape.size()), shape.end()));
}

template <class Layer, class Op>
std::unique_ptr<LayerCore> adopt_convolution(Network& network, Node& node, const Op& op,
                                             int64_t maps) {
  return std::make_unique<Layer>(network, maps, kernel_size(node), network.hold(node.input(1)),
                                 network.hold(node.input(2)), op);
}

template <class Layer>
Layer* add_convolution(Network& network, const char* call, ITensor& input, int64_t maps,
                       const Dims& size, Weights kernel, Weights bias) {
  if (!network.require(maps >= 1, call, "at least one output map") ||
      !network.require(is_window(size), call, "a kernel of 1 to 3 positive extents"))
    return nullptr;
  return network.insert<Layer>(call, {&input}, 1, maps, size, kernel, bias);
}

int64_t extent_or_zero(const Value* value, size_t axis) {
  const Shape& shape = value->type.shape;
  return axis < shape.size() && shape[axis].is_constant() ? shape[axis].constant() : 0;
}

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Conv& op) {
  return adopt_convolution<ConvolutionLayer>(network, node, op, extent_or_zero(node.input(1), 0));
}

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Deconv& op) {
  return adopt_convolution<DeconvolutionLayer>(network, node, op,
                                               extent_or_zero(node.input(1), 1) * op.groups);
}

IConvolutionLayer* Network::addConvolutionNd(ITensor& input, int64_t nbOutputMaps,
                                             const Dims& kernelSize, Weights kernelWeights,
                                             Weights biasWeights) noexcept {
  return add_convolution<ConvolutionLayer>(*this, "addConvolutionNd", input, nbOutputMaps,
                                           kernelSize, kernelWeights, biasWeights);
}

IDeconvolutionLayer* Network::addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps,
                                                 const Dims& kernelSize, Weights kernelWeights,
                                                 Weights biasWeights) noexcept {
  return add_convolution<DeconvolutionLayer>(*this, "addDeconvolutionNd", input, nbOutputMaps,
                                             kernelSize, kernelWeights, biasWeights);
}

}  // namespace tenon::network
