// Shuffles (transpose, reshape, transpose), squeeze and unsqueeze.
#include <algorithm>
#include <numeric>

#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"

namespace tenon::network {
namespace {

Permutation identity_permutation() {
  Permutation permutation{};
  std::iota(std::begin(permutation.order), std::end(permutation.order), 0);
  return permutation;
}

bool is_permutation(const Permutation& permutation, int count) {
  std::vector<int32_t> sorted(permutation.order, permutation.order + count);
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < count; ++i)
    if (sorted[static_cast<size_t>(i)] != i) return false;
  return true;
}

class ShuffleLayer final : public LayerOf<nvinfer1::IShuffleLayer, LayerType::kSHUFFLE> {
 public:
  explicit ShuffleLayer(Network& network) : LayerOf(network) {
    set_most_operands(2);
    reshape_.nbDims = -1;
  }
  TENON_LAYER_ATTRIBUTE(const Permutation&, FirstTranspose, first_)
  TENON_LAYER_ATTRIBUTE(const Permutation&, SecondTranspose, second_)
  TENON_LAYER_ATTRIBUTE(bool, ZeroIsPlaceholder, zero_keeps_)
  void setReshapeDimensions(const Dims& dimensions) noexcept override {
    if (is_same(reshape_, dimensions)) return;
    const bool fits = dimensions.nbDims >= 0 && dimensions.nbDims <= Dims::MAX_DIMS &&
                      std::all_of(dimensions.d, dimensions.d + dimensions.nbDims,
                                  [](int64_t extent) { return extent >= -1; }) &&
                      std::count(dimensions.d, dimensions.d + dimensions.nbDims, -1) <= 1;
    if (permit(fits, "setReshapeDimensions", "at most 8 extents of at least 0, at most one of -1"))
      assign(reshape_, dimensions);
  }
  Dims getReshapeDimensions() const noexcept override { return reshape_; }
  void read_permutation(const std::vector<int64_t>& permutation) {
    for (size_t i = 0; i < permutation.size() && i < Dims::MAX_DIMS; ++i)
      first_.order[i] = static_cast<int32_t>(permutation[i]);
  }

  std::vector<Value*> lower(Emitter& e) override {
    Value* x = transposed(e, in(0), first_);
    Reshape op;
    op.allow_zero = !zero_keeps_;
    if (has_operand(1))
      x = e.add(op, {x, e.cast(in(1), DataType::kInt64)});
    else if (reshape_.nbDims >= 0)
      x = e.add(op, {x, e.integers(to_integers(reshape_))});
    x = transposed(e, x, second_);
    return {x == in(0) ? e.add(Identity{}, {x}) : x};
  }

 private:
  static Value* transposed(Emitter& e, Value* x, const Permutation& permutation) {
    const int rank = e.rank(x);
    if (rank > Dims::MAX_DIMS || !is_permutation(permutation, rank)) {
      e.fail(user_error("the transpose is no permutation of {} axes", rank));
      return x;
    }
    std::vector<int64_t> order(permutation.order, permutation.order + rank);
    return std::is_sorted(order.begin(), order.end()) ? x : e.transpose(x, std::move(order));
  }

  Permutation first_ = identity_permutation(), second_ = identity_permutation();
  Dims reshape_{};
  bool zero_keeps_ = true;
};

class SqueezeLayer final : public LayerOf<nvinfer1::ISqueezeLayer, LayerType::kSQUEEZE> {
 public:
  using LayerOf::LayerOf;
  std::vector<Value*> lower(Emitter& e) override {
    return {e.add(Squeeze{}, {in(0), e.cast(in(1), DataType::kInt64)})};
  }
};

class UnsqueezeLayer final : public LayerOf<nvinfer1::IUnsqueezeLayer, LayerType::kUNSQUEEZE> {
 public:
  using LayerOf::LayerOf;
  std::vector<Value*> lower(Emitter& e) override {
    return {e.add(Unsqueeze{}, {in(0), e.cast(in(1), DataType::kInt64)})};
  }
};

std::unique_ptr<ShuffleLayer> reshaping(Network& network, const Node& node) {
  auto layer = std::make_unique<ShuffleLayer>(network);
  layer->setReshapeDimensions(to_dims(node.output()->type.shape));
  return layer;
}

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Transpose& op) {
  auto layer = std::make_unique<ShuffleLayer>(network);
  layer->read_permutation(op.permutation);
  if (op.permutation.empty()) layer->forbid_changes();
  return layer;
}

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Reshape& op) {
  auto layer = std::make_unique<ShuffleLayer>(network);
  const Tensor* shape = node.input(1)->constant();
  if (shape != nullptr && shape->count() <= Dims::MAX_DIMS)
    layer->setReshapeDimensions(to_dims(Extents(shape->to_int64s())));
  layer->setZeroIsPlaceholder(!op.allow_zero);
  return layer;
}

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Flatten&) {
  auto layer = reshaping(network, node);
  layer->forbid_changes();
  return layer;
}

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Squeeze&) {
  return std::make_unique<SqueezeLayer>(network);
}

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Unsqueeze&) {
  return std::make_unique<UnsqueezeLayer>(network);
}

IShuffleLayer* Network::addShuffle(ITensor& input) noexcept {
  return insert<ShuffleLayer>("addShuffle", {&input}, 1);
}

ISqueezeLayer* Network::addSqueeze(ITensor& input, ITensor& axes) noexcept {
  return insert<SqueezeLayer>("addSqueeze", {&input, &axes}, 1);
}

IUnsqueezeLayer* Network::addUnsqueeze(ITensor& input, ITensor& axes) noexcept {
  return insert<UnsqueezeLayer>("addUnsqueeze", {&input, &axes}, 1);
}

}  // namespace tenon::network
