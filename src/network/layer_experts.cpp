// Mixture of experts.
#include <array>
#include <limits>

#include "network/composites.h"
#include "network/network.h"

namespace tenon::network {
namespace {

/// Operands: tokens, chosen experts, scores, then weights and biases of gate, up and down.
class MoeLayer final : public LayerOf<nvinfer1::IMoELayer, LayerType::kMOE> {
 public:
  explicit MoeLayer(Network& network) : LayerOf(network) { set_most_operands(11); }

  void setGatedWeights(ITensor& gate, ITensor& up, ITensor& down,
                       MoEActType activation) noexcept override {
    set_operands(3, {&gate, &up, &down});
    setActivationType(activation);
  }
  void setGatedBiases(ITensor& gate, ITensor& up, ITensor& down) noexcept override {
    set_operands(6, {&gate, &up, &down});
  }
  TENON_LAYER_CHECKED(MoEActType, ActivationType, activation_, is_valid(value), "an activation")
  void setQuantizationStatic(ITensor& scale, PublicType type) noexcept override {
    if (!permit(is_valid(type), "setQuantizationStatic", "a data type")) return;
    set_operand(9, scale);
    assign(quantized_, type);
  }
  void setQuantizationDynamicDblQ(ITensor& scale, PublicType type, const Dims& block,
                                  PublicType scale_type) noexcept override {
    if (!permit(is_valid(type) && is_valid(scale_type), "setQuantizationDynamicDblQ",
                "two data types"))
      return;
    set_operand(10, scale);
    assign(quantized_, type);
    assign(block_, block);
    assign(scale_type_, scale_type);
  }
  TENON_LAYER_CHECKED(PublicType, QuantizationToType, quantized_, is_valid(value), "a data type")
  void setQuantizationBlockShape(const Dims& value) noexcept override { assign(block_, value); }
  Dims getQuantizationBlockShape() const noexcept override { return block_; }
  TENON_LAYER_CHECKED(PublicType, DynQOutputScaleType, scale_type_, is_valid(value), "a data type")
  void setSwigluParams(float limit, float alpha, float beta) noexcept override {
    setSwigluParamLimit(limit);
    setSwigluParamAlpha(alpha);
    setSwigluParamBeta(beta);
  }
  TENON_LAYER_CHECKED(float, SwigluParamLimit, limit_, value > 0, "a positive number")
  TENON_LAYER_ATTRIBUTE(float, SwigluParamAlpha, alpha_)
  TENON_LAYER_ATTRIBUTE(float, SwigluParamBeta, beta_)
  void setInput(int32_t index, ITensor& tensor) noexcept override { set_operand(index, tensor); }

  std::vector<Value*> lower(Emitter& e) override {
    if (!has_operand(3)) e.fail(user_error("the experts' weights are set by setGatedWeights"));
    if (has_operand(9) || has_operand(10))
      e.fail(
          unsupported("quantized experts: quantize the weights and tokens outside of the layer"));
    if (!e.ok()) return {nullptr};
    ExpertParts parts{.tokens = in(0), .chosen = in(1), .scores = in(2)};
    for (int i = 0; i < 3; ++i) {
      parts.weights[static_cast<size_t>(i)] = in(3 + i);
      parts.biases[static_cast<size_t>(i)] = in(6 + i);
    }
    parts.gates = activation_ != MoEActType::kNONE;
    parts.limit = limit_, parts.alpha = alpha_, parts.beta = beta_;
    return {experts(e, parts)};
  }

 private:
  void set_operands(int first, std::array<ITensor*, 3> tensors) {
    for (int i = 0; i < 3; ++i) set_operand(first + i, *tensors[static_cast<size_t>(i)]);
  }

  MoEActType activation_ = MoEActType::kSILU;
  PublicType quantized_ = PublicType::kFLOAT, scale_type_ = PublicType::kFLOAT;
  Dims block_{};
  float limit_ = std::numeric_limits<float>::infinity(), alpha_ = 1, beta_ = 0;
};

}  // namespace

IMoELayer* Network::addMoE(ITensor& hiddenStates, ITensor& selectedExpertsForTokens,
                           ITensor& scoresForSelectedExperts) noexcept {
  return insert<MoeLayer>("addMoE",
                          {&hiddenStates, &selectedExpertsForTokens, &scoresForSelectedExperts}, 1);
}

}  // namespace tenon::network
