// Normalization over a set of axes.
#include <algorithm>

#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"

namespace tenon::network {
namespace {

/// Operands: x, scale, bias, of as many axes as x. The first version takes scale and bias of one
/// number a group, the second of one a channel.
class NormalizationLayer final
    : public LayerOf<nvinfer1::INormalizationLayer, LayerType::kNORMALIZATION> {
 public:
  NormalizationLayer(Network& network, uint32_t axes, bool second)
      : LayerOf(network), axes_(axes), second_(second) {}
  TENON_LAYER_CHECKED(float, Epsilon, epsilon_, value >= 0, "a number of at least 0")
  TENON_LAYER_CHECKED(uint32_t, Axes, axes_, value != 0, "at least one axis")
  TENON_LAYER_CHECKED(int64_t, NbGroups, groups_, value >= 1, "at least 1")
  TENON_LAYER_CHECKED(PublicType, ComputePrecision, compute_,
                      value == PublicType::kFLOAT || value == PublicType::kHALF, "FLOAT or HALF")
  bool isV2() const noexcept override { return second_; }
  void read(const Normalization& op) {
    epsilon_ = static_cast<float>(op.epsilon);
    groups_ = op.groups;
    forbid_changes();
  }

  std::vector<Value*> lower(Emitter& e) override {
    const int rank = e.rank(in(0));
    const std::vector<int64_t> axes = e.normalized(axes_of_mask(axes_), rank);
    if (e.rank(in(1)) != rank || e.rank(in(2)) != rank)
      e.fail(user_error("scale and bias must have the {} axes of the input", rank));
    if (!e.ok()) return {nullptr};
    const bool spatial = axes.front() == 2 && is_tail(axes, rank);
    if (groups_ > 1) {
      if (!spatial) e.fail(user_error("groups need the axes from 2 on"));
      return {by_channel(e, NormKind::kGroup)};
    }
    if (spatial && per_channel(e, in(1)) && per_channel(e, in(2)))
      return {by_channel(e, NormKind::kInstance)};
    if (is_tail(axes, rank) && leading_ones(e, in(1), axes) && leading_ones(e, in(2), axes))
      return {over_tail(e, axes)};
    return {composed(e, axes)};
  }

 private:
  static bool is_tail(const std::vector<int64_t>& axes, int rank) {
    return axes.back() == rank - 1 &&
           axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
  }
  static bool is_one(const Dim& dim) { return dim.is_constant() && dim.constant() == 1; }
  /// [1, C, 1, ...]
  bool per_channel(Emitter& e, const Value* value) const {
    const Shape& shape = e.shape(value);
    for (size_t i = 0; i < shape.size(); ++i)
      if (i != 1 && !is_one(shape[i])) return false;
    return shape[1] == e.shape(in(0))[1];
  }
  static bool leading_ones(Emitter& e, const Value* value, const std::vector<int64_t>& axes) {
    const Shape& shape = e.shape(value);
    return std::all_of(shape.begin(), shape.begin() + axes.front(), is_one);
  }
  Normalization base(NormKind kind) const {
    Normalization op;
    op.norm = kind;
    op.epsilon = epsilon_;
    op.groups = groups_;
    return op;
  }
  /// One number a channel, whether it comes a channel or a group.
  Value* channel_vector(Emitter& e, int index) const {
    Value* value = e.reshape(in(index), {-1});
    if (second_ || groups_ == 1) return value;
    const int64_t channels = e.constant_extent(in(0), 1);
    if (e.ok() && e.shape(value)[0] == Dim(channels)) return value;
    if (channels % groups_ != 0)
      e.fail(user_error("{} channels do not divide into {} groups", channels, groups_));
    if (!e.ok()) return nullptr;
    Value* wide = e.add(
        Expand{}, {e.reshape(in(index), {groups_, 1}), e.integers({groups_, channels / groups_})});
    return e.reshape(wide, {channels});
  }
  Value* by_channel(Emitter& e, NormKind kind) const {
    Value* scale = channel_vector(e, 1);
    return e.add(base(kind), {in(0), scale, channel_vector(e, 2)});
  }
  Value* over_tail(Emitter& e, const std::vector<int64_t>& axes) const {
    Normalization op = base(NormKind::kLayer);
    op.axis = axes.front();
    std::vector<int64_t> leading;
    for (int64_t i = 0; i < axes.front(); ++i) leading.push_back(i);
    const auto inner = [&](int index) {
      return leading.empty() ? in(index) : e.squeeze(in(index), leading);
    };
    Value* scale = inner(1);
    return e.add(op, {in(0), scale, inner(2)});
  }
  Value* composed(Emitter& e, const std::vector<int64_t>& axes) const {
    Value* centred = e.sub(in(0), e.reduce(ReduceFunction::kMean, in(0), axes, true));
    Value* variance = e.reduce(ReduceFunction::kMean, e.mul(centred, centred), axes, true);
    Value* deviation = e.sqrt(e.add(variance, static_cast<double>(epsilon_)));
    return e.add(e.mul(e.div(centred, deviation), in(1)), in(2));
  }

  uint32_t axes_;
  bool second_;
  float epsilon_ = 1e-5F;
  int64_t groups_ = 1;
  PublicType compute_ = PublicType::kFLOAT;
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Normalization& op) {
  const auto rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  const bool tail = op.over_rows();
  uint32_t mask = 0;
  for (int64_t i = tail ? (op.axis < 0 ? op.axis + rank : op.axis) : 2; i < rank; ++i)
    mask |= 1U << i;
  auto layer = std::make_unique<NormalizationLayer>(network, mask, true);
  layer->read(op);
  return layer;
}

INormalizationLayer* Network::addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                               uint32_t axesMask) noexcept {
  if (!require(axesMask != 0, "addNormalization", "at least one axis")) return nullptr;
  return insert<NormalizationLayer>("addNormalization", {&input, &scale, &bias}, 1, axesMask,
                                    false);
}

INormalizationLayer* Network::addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                                 uint32_t axesMask) noexcept {
  if (!require(axesMask != 0, "addNormalizationV2", "at least one axis")) return nullptr;
  return insert<NormalizationLayer>("addNormalizationV2", {&input, &scale, &bias}, 1, axesMask,
                                    true);
}

}  // namespace tenon::network
