#include "network/conditional.h"

#include "network/adopt.h"
#include "network/network.h"

namespace tenon::network {
namespace {

/// A conditional that came as one node.
class WholeConditional final
    : public ConditionalBoundary<nvinfer1::IConditionLayer, LayerType::kCONDITION> {
 public:
  explicit WholeConditional(Network& network) : ConditionalBoundary(network, nullptr) {
    forbid_changes();
  }
  std::vector<Value*> lower(Emitter&) override { return {}; }
};

}  // namespace

std::vector<Value*> ConditionLayer::lower(Emitter& e) {
  if (e.type(in(0)) != tenon::DataType::kBool || e.rank(in(0)) != 0)
    e.fail(user_error("the condition must be a BOOL of no axes, not {}{}", name_of(e.type(in(0))),
                      to_string(e.shape(in(0)))));
  return {};
}

std::vector<Value*> ConditionalInputLayer::lower(Emitter&) {
  return {network().stand_in(in(0)->type)};
}

std::vector<Value*> ConditionalOutputLayer::lower(Emitter& e) {
  TensorType type = in(0)->type;
  const TensorType& other = in(1)->type;
  if (type.type != other.type || type.shape.size() != other.shape.size())
    e.fail(user_error("the branches give {}{} and {}{}", name_of(type.type), to_string(type.shape),
                      name_of(other.type), to_string(other.shape)));
  if (!e.ok()) return {nullptr};
  for (size_t i = 0; i < type.shape.size(); ++i)
    if (!(type.shape[i] == other.shape[i]))
      type.shape[i] = Dim::symbol(fmt::format("{}_{}", name(), i));
  return {network().stand_in(std::move(type))};
}

nvinfer1::IConditionLayer* ConditionalHandle::setCondition(ITensor& tensor) noexcept {
  if (!network_.require(condition == nullptr, "setCondition", "to be called once")) return nullptr;
  auto* layer = network_.insert<ConditionLayer>("setCondition", {&tensor}, 0, this);
  condition = layer;
  return layer;
}

nvinfer1::IIfConditionalOutputLayer* ConditionalHandle::addOutput(
    ITensor& trueSubgraphOutput, ITensor& falseSubgraphOutput) noexcept {
  return network_.insert_listed<ConditionalOutputLayer>(
      outputs, "addOutput", {&trueSubgraphOutput, &falseSubgraphOutput}, 1, this);
}

void ConditionalHandle::setName(const char* name) noexcept {
  network_.reporter().guarded_call("setName", [&] { name_ = name == nullptr ? "" : name; });
}

nvinfer1::IIfConditionalInputLayer* ConditionalHandle::addInput(ITensor& input) noexcept {
  return network_.insert_listed<ConditionalInputLayer>(inputs, "addInput", {&input}, 1, this);
}

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const If&) {
  return std::make_unique<WholeConditional>(network);
}

IIfConditional* Network::addIfConditional() noexcept {
  return reporter_->guarded("addIfConditional", nullptr, [&]() -> IIfConditional* {
    control_->conditionals.push_back(std::make_unique<ConditionalHandle>(*this));
    return control_->conditionals.back().get();
  });
}

}  // namespace tenon::network
