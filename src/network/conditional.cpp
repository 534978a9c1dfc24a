#include "network/conditional.h"

#include "network/adopt.h"
#include "network/network.h"

namespace tenon::network {
namespace {

class WholeConditional;

/// Of a conditional that came as one node: it takes no layers.
class WholeConditionalHandle final : public surface::Implementation<nvinfer1::IIfConditional> {
 public:
  WholeConditional* layer = nullptr;

  nvinfer1::IConditionLayer* setCondition(ITensor&) noexcept override { return refuse(); }
  nvinfer1::IIfConditionalOutputLayer* addOutput(ITensor&, ITensor&) noexcept override {
    return refuse();
  }
  nvinfer1::IIfConditionalInputLayer* addInput(ITensor&) noexcept override { return refuse(); }
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override;

 private:
  std::nullptr_t refuse() const noexcept;
};

class WholeConditional final
    : public ConditionalBoundary<nvinfer1::IConditionLayer, LayerType::kCONDITION> {
 public:
  WholeConditional(Network& network, nvinfer1::IIfConditional* conditional)
      : ConditionalBoundary(network, conditional) {
    forbid_changes();
  }
  void refuse() const { (void)editable(); }
  std::vector<Value*> lower(Emitter&) override { return {}; }
};

void WholeConditionalHandle::setName(const char* name) noexcept {
  layer->set_name(name);
}
const char* WholeConditionalHandle::getName() const noexcept {
  return layer->name().c_str();
}
std::nullptr_t WholeConditionalHandle::refuse() const noexcept {
  layer->refuse();
  return nullptr;
}

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
  auto handle = std::make_unique<WholeConditionalHandle>();
  auto layer = std::make_unique<WholeConditional>(network, handle.get());
  handle->layer = layer.get();
  network.keep(std::move(handle));
  return layer;
}

IIfConditional* Network::addIfConditional() noexcept {
  return reporter_->guarded("addIfConditional", nullptr, [&]() -> IIfConditional* {
    control_->conditionals.push_back(std::make_unique<ConditionalHandle>(*this));
    return control_->conditionals.back().get();
  });
}

}  // namespace tenon::network
