// Scalar functions: activations, unary and binary operations, select, parametric ReLU.
#include <array>
#include <optional>

#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"

namespace tenon::network {
namespace {

using F = PointwiseFunction;

/// In the order of ActivationType.
constexpr std::array kActivations = {
    F::k_relu,     F::k_sigmoid,      F::k_tanh,        F::k_leaky_relu,
    F::k_elu,      F::k_selu,         F::k_softsign,    F::k_scaled_softplus,
    F::k_clip,     F::k_hard_sigmoid, F::k_scaled_tanh, F::k_thresholded_relu,
    F::k_gelu_erf, F::k_gelu_tanh};
/// In the order of UnaryOperation.
constexpr std::array kUnaries = {F::k_exp,   F::k_log,   F::k_sqrt,  F::k_reciprocal, F::k_abs,
                                 F::k_neg,   F::k_sin,   F::k_cos,   F::k_tan,        F::k_sinh,
                                 F::k_cosh,  F::k_asin,  F::k_acos,  F::k_atan,       F::k_asinh,
                                 F::k_acosh, F::k_atanh, F::k_ceil,  F::k_floor,      F::k_erf,
                                 F::k_not,   F::k_sign,  F::k_round, F::k_is_inf,     F::k_is_nan};
/// In the order of ElementWiseOperation.
constexpr std::array kBinaries = {F::k_add, F::k_mul,   F::k_max,       F::k_min, F::k_sub,
                                  F::k_div, F::k_pow,   F::k_floor_div, F::k_and, F::k_or,
                                  F::k_xor, F::k_equal, F::k_greater,   F::k_less};

class ActivationLayer final : public LayerOf<nvinfer1::IActivationLayer, LayerType::kACTIVATION> {
 public:
  ActivationLayer(Network& network, ActivationType type, std::optional<float> alpha = {},
                  std::optional<float> beta = {})
      : LayerOf(network), type_(type), alpha_(alpha), beta_(beta) {}
  TENON_LAYER_CHECKED(ActivationType, ActivationType, type_, is_valid(value), "an activation")
  void setAlpha(float value) noexcept override { assign(alpha_, std::optional(value)); }
  float getAlpha() const noexcept override { return alpha_.value_or(otherwise().alpha); }
  void setBeta(float value) noexcept override { assign(beta_, std::optional(value)); }
  float getBeta() const noexcept override { return beta_.value_or(otherwise().beta); }

  std::vector<Value*> lower(Emitter& e) override {
    if (type_ == ActivationType::kSOFTPLUS) return {softplus(e)};
    return {e.pointwise(kActivations[static_cast<size_t>(type_)], {in(0)}, getAlpha(), getBeta())};
  }

 private:
  /// alpha * log(exp(beta * x) + 1), which does not overflow where x is large.
  Value* softplus(Emitter& e) const {
    Value* x = getBeta() == 1 ? in(0) : e.mul(in(0), static_cast<double>(getBeta()));
    Value* y = e.pointwise(F::k_softplus, {x});
    return getAlpha() == 1 ? y : e.mul(y, static_cast<double>(getAlpha()));
  }
  struct Parameters {
    float alpha, beta;
  };
  /// Where they are not set.
  Parameters otherwise() const {
    if (type_ == ActivationType::kSELU) return {1.67326324F, 1.05070099F};  // Those that define it.
    return type_ == ActivationType::kSOFTPLUS ? Parameters{1, 1} : Parameters{0, 0};
  }

  ActivationType type_;
  std::optional<float> alpha_, beta_;
};

class UnaryLayer final : public LayerOf<nvinfer1::IUnaryLayer, LayerType::kUNARY> {
 public:
  UnaryLayer(Network& network, UnaryOperation operation)
      : LayerOf(network), operation_(operation) {}
  TENON_LAYER_CHECKED(UnaryOperation, Operation, operation_, is_valid(value), "an operation")

  std::vector<Value*> lower(Emitter& e) override {
    return {e.pointwise(kUnaries[static_cast<size_t>(operation_)], {in(0)}, 1, 1)};
  }

 private:
  UnaryOperation operation_;
};

class ElementWiseLayer final
    : public LayerOf<nvinfer1::IElementWiseLayer, LayerType::kELEMENTWISE> {
 public:
  ElementWiseLayer(Network& network, ElementWiseOperation operation)
      : LayerOf(network), operation_(operation) {}
  TENON_LAYER_CHECKED(ElementWiseOperation, Operation, operation_, is_valid(value), "an operation")

  std::vector<Value*> lower(Emitter& e) override {
    if (e.rank(in(0)) != e.rank(in(1)))
      e.fail(user_error("the inputs must have as many axes as each other, not {} and {}",
                        to_string(e.shape(in(0))), to_string(e.shape(in(1)))));
    return {e.pointwise(kBinaries[static_cast<size_t>(operation_)], {in(0), in(1)})};
  }

 private:
  ElementWiseOperation operation_;
};

class SelectLayer final : public LayerOf<nvinfer1::ISelectLayer, LayerType::kSELECT> {
 public:
  using LayerOf::LayerOf;
  std::vector<Value*> lower(Emitter& e) override { return {e.where(in(0), in(1), in(2))}; }
};

class ParametricReluLayer final
    : public LayerOf<nvinfer1::IParametricReLULayer, LayerType::kPARAMETRIC_RELU> {
 public:
  using LayerOf::LayerOf;
  std::vector<Value*> lower(Emitter& e) override {
    return {e.pointwise(F::k_prelu, {in(0), in(1)})};
  }
};

class IdentityLayer final : public LayerOf<nvinfer1::IIdentityLayer, LayerType::kIDENTITY> {
 public:
  using LayerOf::LayerOf;
  std::vector<Value*> lower(Emitter& e) override { return {e.add(Identity{}, {in(0)})}; }
};

class CastLayer final : public OperatorLayer<nvinfer1::ICastLayer, LayerType::kCAST, Cast> {
 public:
  using OperatorLayer::OperatorLayer;
  void setToType(PublicType type) noexcept override {
    if (type == getToType()) return;
    if (permit(is_valid(type), "setToType", "a data type")) assign(op_.to, from_public(type));
  }
  PublicType getToType() const noexcept override {
    return to_public(op_.to).value_or(PublicType::kFLOAT);
  }
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Pointwise& op) {
  if (op.function == F::k_where) return std::make_unique<SelectLayer>(network);
  if (op.function == F::k_prelu) return std::make_unique<ParametricReluLayer>(network);
  if (const int32_t type = position_in(kActivations, op.function); type >= 0)
    return std::make_unique<ActivationLayer>(network, static_cast<ActivationType>(type),
                                             static_cast<float>(op.alpha),
                                             static_cast<float>(op.beta));
  if (const int32_t operation = position_in(kUnaries, op.function); operation >= 0) {
    auto layer = std::make_unique<UnaryLayer>(network, static_cast<UnaryOperation>(operation));
    const bool one_sign = op.function == F::k_is_inf && (op.alpha != 1 || op.beta != 1);
    if (one_sign) return adopt_other(network, node);
    return layer;
  }
  const int32_t operation = position_in(kBinaries, op.function);
  if (operation < 0) return adopt_other(network, node);
  auto layer =
      std::make_unique<ElementWiseLayer>(network, static_cast<ElementWiseOperation>(operation));
  // The importer broadcasts without reshapes.
  const bool same_rank =
      node.has_input(1) && node.input(0)->type.shape.size() == node.input(1)->type.shape.size();
  if (!same_rank) layer->forbid_changes();
  return layer;
}

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Identity&) {
  return std::make_unique<IdentityLayer>(network);
}

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Cast& op) {
  auto layer = std::make_unique<CastLayer>(network, op);
  if (!to_public(op.to)) layer->forbid_changes();
  return layer;
}

IActivationLayer* Network::addActivation(ITensor& input, ActivationType type) noexcept {
  if (!require(is_valid(type), "addActivation", "an activation type")) return nullptr;
  return insert<ActivationLayer>("addActivation", {&input}, 1, type);
}

IUnaryLayer* Network::addUnary(ITensor& input, UnaryOperation operation) noexcept {
  if (!require(is_valid(operation), "addUnary", "an operation")) return nullptr;
  return insert<UnaryLayer>("addUnary", {&input}, 1, operation);
}

IElementWiseLayer* Network::addElementWise(ITensor& input1, ITensor& input2,
                                           ElementWiseOperation op) noexcept {
  if (!require(is_valid(op), "addElementWise", "an operation")) return nullptr;
  return insert<ElementWiseLayer>("addElementWise", {&input1, &input2}, 1, op);
}

ISelectLayer* Network::addSelect(ITensor& condition, ITensor& thenInput,
                                 ITensor& elseInput) noexcept {
  return insert<SelectLayer>("addSelect", {&condition, &thenInput, &elseInput}, 1);
}

IParametricReLULayer* Network::addParametricReLU(ITensor& input, ITensor& slope) noexcept {
  return insert<ParametricReluLayer>("addParametricReLU", {&input, &slope}, 1);
}

IIdentityLayer* Network::addIdentity(ITensor& input) noexcept {
  return insert<IdentityLayer>("addIdentity", {&input}, 1);
}

ICastLayer* Network::addCast(ITensor& input, nvinfer1::DataType toType) noexcept {
  if (!require(is_valid(toType), "addCast", "a data type")) return nullptr;
  return insert<CastLayer>("addCast", {&input}, 1, Cast(from_public(toType)));
}

}  // namespace tenon::network
