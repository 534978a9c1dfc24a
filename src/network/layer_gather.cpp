// Concatenation, gathers, scatters, one-hot, non-zero, shape, reversed sequences.
#include <algorithm>

#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"
#include "network/own_layers.h"

namespace tenon::network {
namespace {

class ConcatenationLayer final
    : public OperatorLayer<nvinfer1::IConcatenationLayer, LayerType::kCONCATENATION, Concat> {
 public:
  ConcatenationLayer(Network& network, const Concat& op) : OperatorLayer(network, op) {
    set_most_operands(10000);
  }
  TENON_LAYER_ATTRIBUTE(int32_t, Axis, op_.axis)
};

class GatherLayer final : public LayerOf<nvinfer1::IGatherLayer, LayerType::kGATHER> {
 public:
  GatherLayer(Network& network, GatherMode mode, int32_t axis, int32_t shared = 0)
      : LayerOf(network), mode_(mode), axis_(axis), shared_(shared) {}
  TENON_LAYER_ATTRIBUTE(int32_t, GatherAxis, axis_)
  TENON_LAYER_CHECKED(int32_t, NbElementWiseDims, shared_, value >= 0, "at least 0")
  TENON_LAYER_CHECKED(GatherMode, Mode, mode_, is_valid(value), "a mode")

  std::vector<Value*> lower(Emitter& e) override {
    if (mode_ == GatherMode::kELEMENT) {
      GatherElements op;
      op.axis = e.normalized(axis_, e.rank(in(0)));
      return {e.add(op, {in(0), in(1)})};
    }
    if (mode_ == GatherMode::kND) {
      GatherNd op;
      op.batch_dims = shared_;
      return {e.add(op, {in(0), e.cast(in(1), DataType::kInt64)})};
    }
    if (shared_ > 0) return {batched(e)};
    Gather op;
    op.axis = e.normalized(axis_, e.rank(in(0)));
    return {e.add(op, {in(0), in(1)})};
  }

 private:
  /// Gathers of each batch's own indices: by tuples, after the axis came next to the batch axes.
  Value* batched(Emitter& e) const {
    const int rank = e.rank(in(0)), index_rank = e.rank(in(1));
    const int64_t axis = e.normalized(axis_, rank);
    if (shared_ > index_rank || shared_ > axis)
      e.fail(user_error("{} element-wise axes do not fit axis {} and indices of {} axes", shared_,
                        axis, index_rank));
    if (!e.ok()) return nullptr;
    std::vector<int64_t> order(static_cast<size_t>(rank));
    for (int i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i;
    std::rotate(order.begin() + shared_, order.begin() + axis, order.begin() + axis + 1);
    GatherNd op;
    op.batch_dims = shared_;
    Value* index = e.unsqueeze(e.cast(in(1), DataType::kInt64), {index_rank});
    Value* picked = e.add(op, {axis == shared_ ? in(0) : e.transpose(in(0), order), index});
    if (axis == shared_) return picked;
    // batch, index axes, axes before `axis`, axes after it: the index axes move back.
    std::vector<int64_t> back;
    const int64_t moved = axis - shared_, picked_axes = index_rank - shared_;
    for (int64_t i = 0; i < shared_; ++i) back.push_back(i);
    for (int64_t i = 0; i < moved; ++i) back.push_back(shared_ + picked_axes + i);
    for (int64_t i = 0; i < picked_axes; ++i) back.push_back(shared_ + i);
    for (int64_t i = static_cast<int64_t>(back.size()); i < e.rank(picked); ++i) back.push_back(i);
    return e.transpose(picked, std::move(back));
  }

  GatherMode mode_;
  int32_t axis_, shared_;
};

class ScatterLayer final : public LayerOf<nvinfer1::IScatterLayer, LayerType::kSCATTER> {
 public:
  ScatterLayer(Network& network, ScatterMode mode, int64_t axis = 0,
               ScatterReduction reduction = ScatterReduction::kNone)
      : LayerOf(network), mode_(mode), axis_(axis), reduction_(reduction) {}
  TENON_LAYER_CHECKED(ScatterMode, Mode, mode_, is_valid(value), "a mode")
  TENON_LAYER_ATTRIBUTE(int32_t, Axis, axis_)

  std::vector<Value*> lower(Emitter& e) override {
    if (mode_ == ScatterMode::kND) {
      ScatterNd op;
      op.reduction = reduction_;
      return {e.add(op, {in(0), e.cast(in(1), DataType::kInt64), in(2)})};
    }
    ScatterElements op;
    op.axis = e.normalized(axis_, e.rank(in(0)));
    op.reduction = reduction_;
    return {e.add(op, {in(0), in(1), in(2)})};
  }
  void set_reduction(ScatterReduction reduction) { assign(reduction_, reduction); }

 private:
  ScatterMode mode_;
  int64_t axis_;
  ScatterReduction reduction_;
};

class OneHotLayer final
    : public OperatorLayer<nvinfer1::IOneHotLayer, LayerType::kONE_HOT, OneHot> {
 public:
  using OperatorLayer::OperatorLayer;
  TENON_LAYER_ATTRIBUTE(int32_t, Axis, op_.axis)
  std::vector<Value*> lower(Emitter& e) override { return {e.add(op_, {in(0), in(2), in(1)})}; }
};

class NonZeroLayer final : public LayerOf<nvinfer1::INonZeroLayer, LayerType::kNON_ZERO> {
 public:
  NonZeroLayer(Network& network, PublicType type) : LayerOf(network), type_(type) {}
  TENON_LAYER_ACCEPTED(PublicType, IndicesType, type_, is_index_type(value), "INT32 or INT64")
  std::vector<Value*> lower(Emitter& e) override {
    return {e.cast(e.add(NonZero{}, {in(0)}), from_public(type_))};
  }

 private:
  PublicType type_;
};

class ShapeLayer final : public LayerOf<nvinfer1::IShapeLayer, LayerType::kSHAPE> {
 public:
  using LayerOf::LayerOf;
  std::vector<Value*> lower(Emitter& e) override { return {e.shape_of(in(0))}; }
};

class ReverseSequenceLayer final
    : public OperatorLayer<nvinfer1::IReverseSequenceLayer, LayerType::kREVERSE_SEQUENCE,
                           ReverseSequence> {
 public:
  using OperatorLayer::OperatorLayer;
  TENON_LAYER_ATTRIBUTE(int32_t, BatchAxis, op_.batch_axis)
  TENON_LAYER_ATTRIBUTE(int32_t, SequenceAxis, op_.time_axis)
  std::vector<Value*> lower(Emitter& e) override {
    ReverseSequence op = op_;
    for (int64_t* axis : {&op.batch_axis, &op.time_axis})
      *axis = e.normalized(*axis, e.rank(in(0)));
    return {e.add(op, {in(0), e.cast(in(1), DataType::kInt64)})};
  }
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Concat& op) {
  return std::make_unique<ConcatenationLayer>(network, op);
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Gather& op) {
  return std::make_unique<GatherLayer>(network, GatherMode::kDEFAULT,
                                       static_cast<int32_t>(op.axis));
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const GatherElements& op) {
  return std::make_unique<GatherLayer>(network, GatherMode::kELEMENT,
                                       static_cast<int32_t>(op.axis));
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const GatherNd& op) {
  return std::make_unique<GatherLayer>(network, GatherMode::kND, 0,
                                       static_cast<int32_t>(op.batch_dims));
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const ScatterElements& op) {
  return std::make_unique<ScatterLayer>(network, ScatterMode::kELEMENT, op.axis, op.reduction);
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const ScatterNd& op) {
  return std::make_unique<ScatterLayer>(network, ScatterMode::kND, 0, op.reduction);
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const OneHot& op) {
  auto layer = std::make_unique<OneHotLayer>(network, op);
  layer->forbid_changes();  // The operator has depth and values in another order.
  return layer;
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const NonZero&) {
  return std::make_unique<NonZeroLayer>(network, PublicType::kINT64);
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const ShapeOf&) {
  return std::make_unique<ShapeLayer>(network);
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const ReverseSequence& op) {
  return std::make_unique<ReverseSequenceLayer>(network, op);
}

IConcatenationLayer* Network::addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept {
  if (!require(inputs != nullptr && nbInputs >= 1, "addConcatenation", "at least one input") ||
      !require(inputs[0] != nullptr, "addConcatenation", "tensors, and one is null"))
    return nullptr;
  // The documented default: the axis three from the end, or the first.
  Concat op;
  op.axis = std::max(0, inputs[0]->getDimensions().nbDims - 3);
  return insert<ConcatenationLayer>("addConcatenation",
                                    std::span(inputs, static_cast<size_t>(nbInputs)), 1, op);
}

IGatherLayer* Network::addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept {
  return insert<GatherLayer>("addGather", {&data, &indices}, 1, GatherMode::kDEFAULT, axis);
}

IGatherLayer* Network::addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept {
  if (!require(is_valid(mode), "addGatherV2", "a mode")) return nullptr;
  return insert<GatherLayer>("addGatherV2", {&data, &indices}, 1, mode, 0);
}

IScatterLayer* Network::addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                                   ScatterMode mode) noexcept {
  if (!require(is_valid(mode), "addScatter", "a mode")) return nullptr;
  return insert<ScatterLayer>("addScatter", {&data, &indices, &updates}, 1, mode);
}

IOneHotLayer* Network::addOneHot(ITensor& indices, ITensor& values, ITensor& depth,
                                 int32_t axis) noexcept {
  OneHot op;
  op.axis = axis;
  return insert<OneHotLayer>("addOneHot", {&indices, &values, &depth}, 1, op);
}

INonZeroLayer* Network::addNonZero(ITensor& input) noexcept {
  return addNonZeroV2(input, PublicType::kINT32);
}

INonZeroLayer* Network::addNonZeroV2(ITensor& input, nvinfer1::DataType indicesType) noexcept {
  if (!require(is_index_type(indicesType), "addNonZero", "indices of INT32 or INT64"))
    return nullptr;
  return insert<NonZeroLayer>("addNonZero", {&input}, 1, indicesType);
}

IShapeLayer* Network::addShape(ITensor& input) noexcept {
  return insert<ShapeLayer>("addShape", {&input}, 1);
}

IReverseSequenceLayer* Network::addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept {
  return insert<ReverseSequenceLayer>("addReverseSequence", {&input, &sequenceLens}, 1);
}

bool set_scatter_update(IScatterLayer& layer, ScatterUpdate update) {
  constexpr ScatterReduction kReductions[] = {ScatterReduction::kNone, ScatterReduction::kAdd,
                                              ScatterReduction::kMul, ScatterReduction::kMin,
                                              ScatterReduction::kMax};
  auto* own = dynamic_cast<ScatterLayer*>(&layer);
  const auto index = static_cast<size_t>(update);
  if (own == nullptr || index >= std::size(kReductions)) return false;
  own->set_reduction(kReductions[index]);
  return true;
}

}  // namespace tenon::network
