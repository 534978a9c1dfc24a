// Reductions, top-k, running sums, softmax.
#include <algorithm>
#include <bit>

#include "network/adopt.h"
#include "network/composites.h"
#include "network/convert.h"
#include "network/network.h"

namespace tenon::network {
namespace {

/// In the order of ReduceOperation, without kNONE.
constexpr ReduceFunction kFunctions[] = {ReduceFunction::kSum, ReduceFunction::kProd,
                                         ReduceFunction::kMax, ReduceFunction::kMin,
                                         ReduceFunction::kMean};

bool reduces(ReduceOperation operation) {
  return is_valid(operation) && operation != ReduceOperation::kNONE;
}

uint32_t mask_of(const std::vector<int64_t>& axes, size_t rank) {
  uint32_t mask = 0;
  for (int64_t axis : axes) mask |= 1U << (axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  return mask;
}

class ReduceLayer final : public LayerOf<nvinfer1::IReduceLayer, LayerType::kREDUCE> {
 public:
  ReduceLayer(Network& network, ReduceOperation operation, uint32_t axes, bool keep)
      : LayerOf(network), operation_(operation), axes_(axes), keep_(keep) {}
  TENON_LAYER_CHECKED(ReduceOperation, Operation, operation_, reduces(value), "a reduction")
  TENON_LAYER_CHECKED(uint32_t, ReduceAxes, axes_, value != 0, "at least one axis")
  TENON_LAYER_ATTRIBUTE(bool, KeepDimensions, keep_)

  std::vector<Value*> lower(Emitter& e) override {
    return {
        e.reduce(kFunctions[static_cast<size_t>(operation_)], in(0), axes_of_mask(axes_), keep_)};
  }

 private:
  ReduceOperation operation_;
  uint32_t axes_;
  bool keep_;
};

class TopKLayer final : public LayerOf<nvinfer1::ITopKLayer, LayerType::kTOPK> {
 public:
  TopKLayer(Network& network, TopKOperation operation, int32_t k, uint32_t axes, PublicType type)
      : LayerOf(network), operation_(operation), k_(k), axes_(axes), type_(type) {
    set_most_operands(2);
  }
  TENON_LAYER_CHECKED(TopKOperation, Operation, operation_, is_valid(value), "an operation")
  TENON_LAYER_CHECKED(int32_t, K, k_, value >= 0, "at least 0")
  TENON_LAYER_CHECKED(uint32_t, ReduceAxes, axes_, value != 0, "one axis")
  TENON_LAYER_ACCEPTED(PublicType, IndicesType, type_, is_index_type(value), "INT32 or INT64")

  std::vector<Value*> lower(Emitter& e) override {
    const std::vector<int64_t> axes = axes_of_mask(axes_);
    if (axes.size() != 1) e.fail(user_error("the k largest are taken along one axis"));
    TopK op;
    op.largest = operation_ == TopKOperation::kMAX;
    op.axis = axes.empty() ? 0 : axes[0];
    // The operator takes k as a vector of one element.
    Value* k = has_operand(1) ? e.reshape(e.cast(in(1), DataType::kInt64), {1}) : e.integers({k_});
    std::vector<Value*> found = e.add_multiple(op, {in(0), k}, 2);
    return {found[0], e.cast(found[1], from_public(type_))};
  }

 private:
  TopKOperation operation_;
  int32_t k_;
  uint32_t axes_;
  PublicType type_;
};

class CumulativeLayer final
    : public OperatorLayer<nvinfer1::ICumulativeLayer, LayerType::kCUMULATIVE, Cumulative> {
 public:
  using OperatorLayer::OperatorLayer;
  TENON_LAYER_ACCEPTED(CumulativeOperation, Operation, operation_, is_valid(value), "an operation")
  TENON_LAYER_ATTRIBUTE(bool, Exclusive, op_.exclusive)
  TENON_LAYER_ATTRIBUTE(bool, Reverse, op_.reverse)

 private:
  CumulativeOperation operation_ = CumulativeOperation::kSUM;  ///< There is no other.
};

class SoftMaxLayer final : public LayerOf<nvinfer1::ISoftMaxLayer, LayerType::kSOFTMAX> {
 public:
  SoftMaxLayer(Network& network, uint32_t axes) : LayerOf(network), axes_(axes) {}
  TENON_LAYER_CHECKED(uint32_t, Axes, axes_, value != 0, "at least one axis")

  std::vector<Value*> lower(Emitter& e) override {
    Softmax op;
    op.axes = e.normalized(axes_of_mask(axes_), e.rank(in(0)));
    return {e.add(std::move(op), {in(0)})};
  }

 private:
  uint32_t axes_;
};

/// Softmax of the first bounds[i] elements of each row; the others are zero.
class RaggedSoftMaxLayer final
    : public LayerOf<nvinfer1::IRaggedSoftMaxLayer, LayerType::kRAGGED_SOFTMAX> {
 public:
  using LayerOf::LayerOf;
  std::vector<Value*> lower(Emitter& e) override { return {ragged_softmax(e, in(0), in(1))}; }
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Reduce& op) {
  const int32_t operation = position_in(kFunctions, op.function);
  const bool known = operation >= 0 && !op.axes.empty() && !node.has_input(1);
  if (!known) return adopt_other(network, node);
  const size_t rank = node.input(0)->type.shape.size();
  return std::make_unique<ReduceLayer>(network, static_cast<ReduceOperation>(operation),
                                       mask_of(op.axes, rank), op.keep_dims);
}

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const TopK& op) {
  const Tensor* k = node.input(1)->constant();
  auto layer = std::make_unique<TopKLayer>(
      network, op.largest ? TopKOperation::kMAX : TopKOperation::kMIN,
      k != nullptr && k->count() == 1 ? static_cast<int32_t>(k->as_int64(0)) : 0,
      mask_of({op.axis}, node.input(0)->type.shape.size()), PublicType::kINT64);
  return layer;
}

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const ArgReduce& op) {
  auto layer = std::make_unique<TopKLayer>(
      network, op.largest ? TopKOperation::kMAX : TopKOperation::kMIN, 1,
      mask_of({op.axis}, node.input(0)->type.shape.size()), PublicType::kINT64);
  layer->forbid_changes();
  return layer;
}

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Cumulative& op) {
  if (op.product) return adopt_other(network, node);
  return std::make_unique<CumulativeLayer>(network, op);
}

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Softmax& op) {
  if (op.log) return adopt_other(network, node);
  return std::make_unique<SoftMaxLayer>(network,
                                        mask_of(op.axes, node.input(0)->type.shape.size()));
}

IReduceLayer* Network::addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                                 bool keepDimensions) noexcept {
  if (!require(reduces(operation), "addReduce", "a reduction") ||
      !require(reduceAxes != 0, "addReduce", "at least one axis"))
    return nullptr;
  return insert<ReduceLayer>("addReduce", {&input}, 1, operation, reduceAxes, keepDimensions);
}

ITopKLayer* Network::addTopK(ITensor& input, TopKOperation op, int32_t k,
                             uint32_t reduceAxes) noexcept {
  return addTopKV2(input, op, k, reduceAxes, PublicType::kINT32);
}

ITopKLayer* Network::addTopKV2(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes,
                               nvinfer1::DataType indicesType) noexcept {
  if (!require(is_valid(op), "addTopK", "an operation") ||
      !require(k >= 0, "addTopK", "a k of at least 0") ||
      !require(std::has_single_bit(reduceAxes), "addTopK", "one axis") ||
      !require(is_index_type(indicesType), "addTopK", "indices of INT32 or INT64"))
    return nullptr;
  return insert<TopKLayer>("addTopK", {&input}, 2, op, k, reduceAxes, indicesType);
}

ICumulativeLayer* Network::addCumulative(ITensor& input, ITensor& axis,
                                         CumulativeOperation operation, bool exclusive,
                                         bool reverse) noexcept {
  if (!require(is_valid(operation), "addCumulative", "an operation")) return nullptr;
  Cumulative op;
  op.exclusive = exclusive, op.reverse = reverse;
  return insert<CumulativeLayer>("addCumulative", {&input, &axis}, 1, op);
}

ISoftMaxLayer* Network::addSoftMax(ITensor& input) noexcept {
  // The documented default: the axis three from the end, or the first.
  const int32_t axis = std::max(0, input.getDimensions().nbDims - 3);
  return insert<SoftMaxLayer>("addSoftMax", {&input}, 1, 1U << axis);
}

IRaggedSoftMaxLayer* Network::addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept {
  return insert<RaggedSoftMaxLayer>("addRaggedSoftMax", {&input, &bounds}, 1);
}

}  // namespace tenon::network
