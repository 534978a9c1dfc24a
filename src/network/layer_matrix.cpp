// Matrix products and Einstein sums.
#include "network/adopt.h"
#include "network/network.h"

namespace tenon::network {
namespace {

class MatrixMultiplyLayer final
    : public LayerOf<nvinfer1::IMatrixMultiplyLayer, LayerType::kMATRIX_MULTIPLY> {
 public:
  MatrixMultiplyLayer(Network& network, MatrixOperation first, MatrixOperation second)
      : LayerOf(network), operations_{first, second} {}

  void setOperation(int32_t index, MatrixOperation op) noexcept override {
    if (permit((index == 0 || index == 1) && is_valid(op), "setOperation",
               "an index of 0 or 1 and an operation"))
      assign(operations_[index], op);
  }
  MatrixOperation getOperation(int32_t index) const noexcept override {
    return index == 0 || index == 1 ? operations_[index] : MatrixOperation::kNONE;
  }

  std::vector<Value*> lower(Emitter& e) override {
    const bool vector_a = operations_[0] == MatrixOperation::kVECTOR;
    const bool vector_b = operations_[1] == MatrixOperation::kVECTOR;
    const int rank_a = e.rank(in(0)) + (vector_a ? 1 : 0);
    const int rank_b = e.rank(in(1)) + (vector_b ? 1 : 0);
    if (rank_a != rank_b || rank_a < 2)
      e.fail(user_error("the inputs {} and {} must have as many batch axes as each other",
                        to_string(e.shape(in(0))), to_string(e.shape(in(1)))));
    Value* a = vector_a ? e.unsqueeze(in(0), {rank_a - 2}) : in(0);
    Value* b = vector_b ? e.unsqueeze(in(1), {rank_b - 1}) : in(1);
    Value* product = e.matmul(a, b, operations_[0] == MatrixOperation::kTRANSPOSE,
                              operations_[1] == MatrixOperation::kTRANSPOSE);
    std::vector<int64_t> dropped;
    if (vector_a) dropped.push_back(rank_a - 2);
    if (vector_b) dropped.push_back(rank_b - 1);
    return {dropped.empty() ? product : e.squeeze(product, dropped)};
  }

 private:
  MatrixOperation operations_[2];
};

class EinsumLayer final : public OperatorLayer<nvinfer1::IEinsumLayer, LayerType::kEINSUM, Einsum> {
 public:
  using OperatorLayer::OperatorLayer;
  EinsumLayer(Network& network, const char* equation) : OperatorLayer(network) {
    op_.equation = equation;
  }
  bool setEquation(const char* equation) noexcept override {
    if (equation != nullptr && op_.equation == equation) return true;
    if (!permit(equation != nullptr && *equation != '\0', "setEquation", "an equation") ||
        !editable())
      return false;
    return network().reporter().guarded_call("setEquation",
                                             [&] { assign(op_.equation, equation); });
  }
  const char* getEquation() const noexcept override { return op_.equation.c_str(); }
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const MatMul& op) {
  const auto operation = [&](int index, bool transposed) {
    if (node.input(index)->type.shape.size() == 1) return MatrixOperation::kVECTOR;
    return transposed ? MatrixOperation::kTRANSPOSE : MatrixOperation::kNONE;
  };
  auto layer = std::make_unique<MatrixMultiplyLayer>(network, operation(0, op.transpose_a),
                                                     operation(1, op.transpose_b));
  if (node.input(0)->type.shape.size() != node.input(1)->type.shape.size()) layer->forbid_changes();
  return layer;
}

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Einsum& op) {
  return std::make_unique<EinsumLayer>(network, op);
}

IMatrixMultiplyLayer* Network::addMatrixMultiply(ITensor& input0, MatrixOperation op0,
                                                 ITensor& input1, MatrixOperation op1) noexcept {
  if (!require(is_valid(op0) && is_valid(op1), "addMatrixMultiply", "two matrix operations"))
    return nullptr;
  return insert<MatrixMultiplyLayer>("addMatrixMultiply", {&input0, &input1}, 1, op0, op1);
}

IEinsumLayer* Network::addEinsum(ITensor* const* inputs, int32_t nbInputs,
                                 const char* equation) noexcept {
  if (!require(inputs != nullptr && nbInputs >= 1, "addEinsum", "at least one input") ||
      !require(equation != nullptr && *equation != '\0', "addEinsum", "an equation"))
    return nullptr;
  return insert<EinsumLayer>("addEinsum", std::span(inputs, static_cast<size_t>(nbInputs)), 1,
                             equation);
}

}  // namespace tenon::network
