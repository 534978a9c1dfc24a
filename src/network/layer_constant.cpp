// Constants, fills, assertions.
#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"

namespace tenon::network {
namespace {

class ConstantLayer final : public LayerOf<nvinfer1::IConstantLayer, LayerType::kCONSTANT> {
 public:
  ConstantLayer(Network& network, const Dims& dims, Weights weights)
      : LayerOf(network), dims_(dims), weights_(weights) {}
  void setWeights(Weights value) noexcept override { assign(weights_, value); }
  Weights getWeights() const noexcept override { return network().held_weights().packed(weights_); }
  void setDimensions(const Dims& value) noexcept override { assign(dims_, value); }
  Dims getDimensions() const noexcept override { return dims_; }

  std::vector<Value*> lower(Emitter& e) override {
    // The weights keep their name for refitting, the tensor has its own.
    return {e.add(Identity{}, {weights(e, weights_, to_extents(dims_), "constant")})};
  }

 private:
  Dims dims_;
  Weights weights_;
};

/// Operands: dimensions, alpha, beta where they are tensors.
class FillLayer final : public LayerOf<nvinfer1::IFillLayer, LayerType::kFILL> {
 public:
  FillLayer(Network& network, const Dims& dims, FillOperation operation, PublicType type)
      : LayerOf(network), dims_(dims), operation_(operation), type_(type) {
    set_most_operands(3);
  }
  TENON_LAYER_CHECKED(FillOperation, Operation, operation_, is_valid(value), "an operation")
  TENON_LAYER_CHECKED(PublicType, ToType, type_, is_valid(value), "a data type")
  void setDimensions(const Dims& value) noexcept override { assign(dims_, value); }
  Dims getDimensions() const noexcept override { return dims_; }
  void setAlpha(double value) noexcept override { set_number(alpha_, value); }
  double getAlpha() const noexcept override { return alpha_; }
  void setBeta(double value) noexcept override { set_number(beta_, value); }
  double getBeta() const noexcept override { return beta_; }
  void setAlphaInt64(int64_t value) noexcept override {
    set_integer(alpha_integer_, alpha_, value);
  }
  int64_t getAlphaInt64() const noexcept override { return alpha_integer_; }
  void setBetaInt64(int64_t value) noexcept override { set_integer(beta_integer_, beta_, value); }
  int64_t getBetaInt64() const noexcept override { return beta_integer_; }
  bool isAlphaBetaInt64() const noexcept override { return integers_; }
  /// Of a model's node.
  void read(double alpha, double beta) { alpha_ = alpha, beta_ = beta; }
  void read(int64_t alpha, int64_t beta) {
    read(static_cast<double>(alpha), static_cast<double>(beta));
    alpha_integer_ = alpha, beta_integer_ = beta;
    integers_ = true;
  }

  std::vector<Value*> lower(Emitter& e) override {
    Value* shape =
        has_operand(0) ? e.cast(in(0), DataType::kInt64) : e.integers(to_integers(dims_));
    return {operation_ == FillOperation::kLINSPACE ? linspace(e, shape) : random(e, shape)};
  }

 private:
  void set_number(double& member, double value) {
    assign(member, value);
    assign(integers_, false);
  }
  /// The number too: the other parameter may be real.
  void set_integer(int64_t& member, double& number, int64_t value) {
    assign(member, value);
    assign(number, static_cast<double>(value));
    assign(integers_, true);
  }
  Value* parameter(Emitter& e, int index, DataType type, double number, int64_t integer) const {
    if (has_operand(index)) return e.cast(in(index), type);
    if (!integers_ || type != DataType::kInt64) return e.number(number, type);
    Tensor tensor(type, {});
    tensor.set_from_int64(0, integer);
    return e.constant(std::move(tensor));
  }
  /// alpha + sum over the axes of beta[axis] * index[axis].
  Value* linspace(Emitter& e, Value* shape) const {
    const DataType type = from_public(type_);
    const Dim axes = e.extent(shape, 0);
    if (!axes.is_constant()) e.fail(user_error("the number of axes must be known"));
    if (!e.ok()) return nullptr;
    const int64_t rank = axes.constant();
    Value* step = parameter(e, 2, type, beta_, beta_integer_);
    Value* y = parameter(e, 1, type, alpha_, alpha_integer_);
    if (rank == 0) return y;
    for (int64_t i = 0; i < rank; ++i) {
      Value* extent = e.squeeze(e.slice(shape, 0, i, i + 1), {0});
      Value* index = e.add(RangeOf{}, {e.integer(0), extent, e.integer(1)});
      Value* delta = e.rank(step) == 0 ? step : e.squeeze(e.slice(step, 0, i, i + 1), {0});
      std::vector<int64_t> extents(static_cast<size_t>(rank - i), 1);
      extents[0] = -1;
      y = e.add(y, e.mul(e.reshape(e.cast(index, type), std::move(extents)), delta));
    }
    return y;
  }
  Value* random(Emitter& e, Value* shape) const {
    const DataType type = from_public(type_);
    Random op;
    op.to = type;
    const bool normal = operation_ == FillOperation::kRANDOM_NORMAL;
    op.distribution = normal ? Distribution::kNormal : Distribution::kUniform;
    if (!has_operand(1) && !has_operand(2)) {
      op.a = alpha_;
      op.b = beta_;
      return e.add(op, {shape});
    }
    Value* low = parameter(e, 1, type, alpha_, alpha_integer_);
    Value* high = parameter(e, 2, type, beta_, beta_integer_);
    return e.add(low, e.mul(e.add(op, {shape}), normal ? high : e.sub(high, low)));
  }

  Dims dims_;
  FillOperation operation_;
  PublicType type_;
  double alpha_ = 0, beta_ = 1;
  int64_t alpha_integer_ = 0, beta_integer_ = 1;
  bool integers_ = false;
};

class AssertionLayer final
    : public OperatorLayer<nvinfer1::IAssertionLayer, LayerType::kASSERTION, Assertion> {
 public:
  using OperatorLayer::OperatorLayer;
  AssertionLayer(Network& network, const char* message) : OperatorLayer(network) {
    op_.message = message;
  }
  void setMessage(const char* message) noexcept override {
    network().reporter().guarded_call("setMessage", [&] {
      if (permit(message != nullptr, "setMessage", "a text")) assign(op_.message, message);
    });
  }
  const char* getMessage() const noexcept override { return op_.message.c_str(); }

  std::vector<Value*> lower(Emitter& e) override {
    if (e.type(in(0)) != DataType::kBool)
      e.fail(user_error("the condition must be of type BOOL, not {}", name_of(e.type(in(0)))));
    if (e.ok()) e.add_node(std::make_unique<Assertion>(op_), {in(0)}, 0);
    return {};
  }
};

/// The number of a tensor, `otherwise` where that is unknown.
template <class T> T number_of(const Tensor* tensor, T otherwise) {
  if (tensor == nullptr || !tensor->defined() || tensor->count() != 1) return otherwise;
  if constexpr (std::is_same_v<T, int64_t>)
    return tensor->as_int64(0);
  else
    return tensor->as_double(0);
}

std::unique_ptr<FillLayer> fixed_fill(Network& network, const Node& node, FillOperation operation) {
  const TensorType& type = node.output()->type;
  auto layer = std::make_unique<FillLayer>(network, known_dims(type.shape), operation,
                                           to_public(type.type).value_or(PublicType::kFLOAT));
  layer->forbid_changes();
  return layer;
}

/// From `start` in steps of `step`, or of `usual_step`.
std::unique_ptr<LayerCore> sequence(Network& network, const Node& node, const Tensor* start,
                                    const Tensor* step, int64_t usual_step) {
  auto layer = fixed_fill(network, node, FillOperation::kLINSPACE);
  if (is_integer(node.output()->type.type))
    layer->read(number_of<int64_t>(start, 0), number_of(step, usual_step));
  else
    layer->read(number_of<double>(start, 0), number_of(step, static_cast<double>(usual_step)));
  return layer;
}

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Constant&) {
  return std::make_unique<ConstantLayer>(network, to_dims(node.output()->type.shape),
                                         network.hold(node.output()));
}
std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const RangeOf&) {
  return sequence(network, node, node.input(0)->constant(), node.input(2)->constant(), 1);
}
std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Fill& op) {
  return sequence(network, node, &op.value, nullptr, 0);
}
std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Random& op) {
  const bool normal = op.distribution == Distribution::kNormal;
  auto layer = fixed_fill(network, node,
                          normal ? FillOperation::kRANDOM_NORMAL : FillOperation::kRANDOM_UNIFORM);
  layer->read(op.a, op.b);
  return layer;
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Assertion& op) {
  return std::make_unique<AssertionLayer>(network, op);
}

IConstantLayer* Network::addConstant(const Dims& dimensions, Weights weights) noexcept {
  return reporter_->guarded("addConstant", nullptr, [&]() -> IConstantLayer* {
    if (!require(dimensions.nbDims >= 0 && dimensions.nbDims <= Dims::MAX_DIMS, "addConstant",
                 "at most 8 axes") ||
        !require(is_valid(weights.type), "addConstant", "a data type"))
      return nullptr;
    const int64_t count = element_count(to_extents(dimensions));
    if (!require(weights.count == count, "addConstant",
                 fmt::format("as many values as the dimensions say ({}), not {}", count,
                             weights.count)) ||
        !require(weights.count == 0 || weights.values != nullptr, "addConstant", "values"))
      return nullptr;
    return insert<ConstantLayer>("addConstant", {}, 1, dimensions, weights);
  });
}

IFillLayer* Network::addFill(const Dims& dimensions, FillOperation op) noexcept {
  return addFillV2(dimensions, op, PublicType::kFLOAT);
}

IFillLayer* Network::addFillV2(const Dims& dimensions, FillOperation op,
                               nvinfer1::DataType outputType) noexcept {
  if (!require(is_valid(op), "addFill", "an operation") ||
      !require(is_valid(outputType), "addFill", "a data type") ||
      !require(dimensions.nbDims >= 0 && dimensions.nbDims <= Dims::MAX_DIMS, "addFill",
               "at most 8 axes"))
    return nullptr;
  return insert<FillLayer>("addFill", {}, 1, dimensions, op, outputType);
}

IAssertionLayer* Network::addAssertion(ITensor& condition, const char* message) noexcept {
  if (!require(message != nullptr, "addAssertion", "a message")) return nullptr;
  return insert<AssertionLayer>("addAssertion", {&condition}, 0, message);
}

}  // namespace tenon::network
