// Scale: (x * scale + shift) ^ power with weights of one, a channel's or every element.
#include <array>
#include <cmath>

#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"

namespace tenon::network {
namespace {

class ScaleLayer final : public LayerOf<nvinfer1::IScaleLayer, LayerType::kSCALE> {
 public:
  ScaleLayer(Network& network, ScaleMode mode, Weights shift, Weights scale, Weights power,
             int32_t axis)
      : LayerOf(network), mode_(mode), shift_(shift), scale_(scale), power_(power), axis_(axis) {}
  TENON_LAYER_CHECKED(ScaleMode, Mode, mode_, is_valid(value), "a mode")
  TENON_LAYER_ATTRIBUTE(Weights, Shift, shift_)
  TENON_LAYER_ATTRIBUTE(Weights, Scale, scale_)
  TENON_LAYER_ATTRIBUTE(Weights, Power, power_)
  TENON_LAYER_CHECKED(int32_t, ChannelAxis, axis_, value >= 0, "an axis")

  /// Weights of a batch normalization over constants: x * scale + shift.
  void read(const BatchNorm& op, const Node& node) {
    std::array<const Tensor*, 4> parts{};  // Scale, bias, mean, variance.
    for (int i = 0; i < 4; ++i) {
      const Tensor* part = node.has_input(i + 1) ? node.input(i + 1)->constant() : nullptr;
      if (part == nullptr || !part->defined()) return;
      parts[static_cast<size_t>(i)] = part;
    }
    Tensor scale(DataType::kFloat32, {parts[0]->count()});
    Tensor shift(DataType::kFloat32, {parts[0]->count()});
    for (int64_t i = 0; i < scale.count(); ++i) {
      const double factor = parts[0]->as_double(i) / std::sqrt(parts[3]->as_double(i) + op.epsilon);
      scale.set_from_double(i, factor);
      shift.set_from_double(i, parts[1]->as_double(i) - parts[2]->as_double(i) * factor);
    }
    scale_ = network().held_weights().hold(&scale);
    shift_ = network().held_weights().hold(&shift);
  }
  int32_t getNbInputs() const noexcept override {
    return is_imported() && scale_.count > 0 ? 1 : operand_count();
  }
  ITensor* getInput(int32_t index) const noexcept override {
    return index < getNbInputs() ? LayerCore::operand(index) : nullptr;
  }

  std::vector<Value*> lower(Emitter& e) override {
    const Extents extents = weight_extents(e);
    Value* x = in(0);
    if (scale_.count > 0) x = e.mul(x, operand(e, scale_, extents, "scale"));
    if (shift_.count > 0) x = e.add(x, operand(e, shift_, extents, "shift"));
    if (power_.count > 0)
      x = e.pointwise(PointwiseFunction::k_pow, {x, operand(e, power_, extents, "power")});
    return {x == in(0) ? e.add(Identity{}, {x}) : x};
  }

 private:
  Extents weight_extents(Emitter& e) const {
    const int rank = e.rank(in(0));
    Extents extents(static_cast<size_t>(rank), 1);
    if (mode_ == ScaleMode::kUNIFORM) return extents;
    if (axis_ >= rank) e.fail(user_error("there is no channel axis {} among {}", axis_, rank));
    for (int i = axis_; e.ok() && i < rank; ++i)
      if (i == axis_ || mode_ == ScaleMode::kELEMENTWISE)
        extents[static_cast<size_t>(i)] = e.constant_extent(in(0), i);
    return extents;
  }
  Value* operand(Emitter& e, const Weights& values, const Extents& extents,
                 const char* role) const {
    return e.cast(e.ok() ? weights(e, values, extents, role) : nullptr, e.type(in(0)));
  }

  ScaleMode mode_;
  Weights shift_, scale_, power_;
  int32_t axis_;
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const BatchNorm& op) {
  auto layer = std::make_unique<ScaleLayer>(network, ScaleMode::kCHANNEL, Weights{}, Weights{},
                                            Weights{}, 1);
  layer->read(op, node);
  layer->forbid_changes();
  return layer;
}

IScaleLayer* Network::addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                               Weights power) noexcept {
  return addScaleNd(input, mode, shift, scale, power, 1);
}

IScaleLayer* Network::addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                                 Weights power, int32_t channelAxis) noexcept {
  if (!require(is_valid(mode), "addScale", "a mode") ||
      !require(channelAxis >= 0, "addScale", "a channel axis of at least 0"))
    return nullptr;
  return insert<ScaleLayer>("addScale", {&input}, 1, mode, shift, scale, power, channelAxis);
}

}  // namespace tenon::network
