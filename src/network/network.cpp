#include "network/network.h"

#include "network/convert.h"
#include "ops/table.h"

namespace tenon::network {

Network::Network(IBuilder& builder, std::shared_ptr<Reporter> reporter,
                 NetworkDefinitionCreationFlags flags)
    : builder_(builder),
      reporter_(std::move(reporter)),
      flags_(flags),
      graph_(std::make_unique<Graph>()) {}

Network::~Network() = default;

Status Network::adopt(std::unique_ptr<Graph> graph) {
  if (!graph_->nodes().empty() || !graph_->inputs().empty())
    return user_error("the network is not empty: parse into a new one");
  graph_ = std::move(graph);
  if (name_.empty()) name_ = graph_->name;
  return {};
}

Result<std::unique_ptr<Graph>> Network::finished_graph() {
  if (graph_->outputs().empty())
    return user_error("the network has no output: mark one with markOutput");
  TENON_TRY(graph_->sort());
  if (changed_) TENON_TRY(infer_graph(*graph_));
  changed_ = false;
  return graph_->clone();
}

TensorHandle* Network::handle(Value* value) const {
  auto& handle = tensors_[value];
  if (handle == nullptr)
    handle = std::make_unique<TensorHandle>(const_cast<Network&>(*this), value);
  return handle.get();
}

LayerHandle* Network::handle(Node* node) const {
  auto& handle = layers_[node];
  if (handle == nullptr) handle = std::make_unique<LayerHandle>(const_cast<Network&>(*this), node);
  return handle.get();
}

Shape Network::input_shape(const std::string& name, const nvinfer1::Dims& dims) {
  Shape shape;
  for (int i = 0; i < dims.nbDims; ++i)
    shape.push_back(dims.d[i] >= 0 ? Dim(dims.d[i]) : Dim::symbol(fmt::format("{}_{}", name, i)));
  return shape;
}

ITensor* Network::addInput(const char* name, nvinfer1::DataType type,
                           const nvinfer1::Dims& dimensions) noexcept {
  if (name == nullptr || dimensions.nbDims < 0 || dimensions.nbDims > nvinfer1::Dims::MAX_DIMS) {
    reporter_->report(
        user_error("addInput needs a name and at most {} axes", nvinfer1::Dims::MAX_DIMS));
    return nullptr;
  }
  for (const Value* input : graph_->inputs()) {
    if (input->name != name) continue;
    reporter_->report(user_error("addInput: there is an input '{}' already", name));
    return nullptr;
  }
  return handle(graph_->add_input(name, {from_public(type), input_shape(name, dimensions)}));
}

void Network::markOutput(ITensor& tensor) noexcept {
  Value* value = dynamic_cast<TensorHandle&>(tensor).value();
  if (!graph_->is_output(value)) graph_->add_output(value);
}

void Network::unmarkOutput(ITensor& tensor) noexcept {
  const Value* value = dynamic_cast<TensorHandle&>(tensor).value();
  const std::vector<Value*> outputs = graph_->outputs();
  graph_->clear_outputs();
  for (Value* output : outputs)
    if (output != value) graph_->add_output(output);
}

void Network::removeTensor(ITensor& tensor) noexcept {
  unmarkOutput(tensor);
}

bool Network::markDebug(ITensor&) noexcept {
  return false;
}
bool Network::unmarkDebug(ITensor&) noexcept {
  return false;
}
bool Network::isDebugTensor(const ITensor&) const noexcept {
  return false;
}
bool Network::markUnfusedTensorsAsDebugTensors() noexcept {
  return false;
}
bool Network::unmarkUnfusedTensorsAsDebugTensors() noexcept {
  return false;
}

int32_t Network::getNbLayers() const noexcept {
  return static_cast<int32_t>(graph_->nodes().size());
}
ILayer* Network::getLayer(int32_t index) const noexcept {
  return index < 0 || index >= getNbLayers() ? nullptr : handle(graph_->nodes()[index].get());
}
int32_t Network::getNbInputs() const noexcept {
  return static_cast<int32_t>(graph_->inputs().size());
}
ITensor* Network::getInput(int32_t index) const noexcept {
  return index < 0 || index >= getNbInputs() ? nullptr : handle(graph_->inputs()[index]);
}
int32_t Network::getNbOutputs() const noexcept {
  return static_cast<int32_t>(graph_->outputs().size());
}
ITensor* Network::getOutput(int32_t index) const noexcept {
  return index < 0 || index >= getNbOutputs() ? nullptr : handle(graph_->outputs()[index]);
}

void Network::setName(const char* name) noexcept {
  name_ = name == nullptr ? "" : name;
}
const char* Network::getName() const noexcept {
  return name_.c_str();
}
bool Network::hasImplicitBatchDimension() const noexcept {
  return false;
}
NetworkDefinitionCreationFlags Network::getFlags() const noexcept {
  return flags_;
}
bool Network::getFlag(NetworkDefinitionCreationFlag flag) const noexcept {
  return (flags_ >> static_cast<uint32_t>(flag) & 1U) != 0;
}
bool Network::markOutputForShapes(ITensor& tensor) noexcept {
  markOutput(tensor);
  return true;
}
bool Network::unmarkOutputForShapes(ITensor& tensor) noexcept {
  unmarkOutput(tensor);
  return true;
}
bool Network::setWeightsName(Weights, const char*) noexcept {
  return false;
}
void Network::setErrorRecorder(IErrorRecorder* recorder) noexcept {
  reporter_->set_recorder(recorder);
}
IErrorRecorder* Network::getErrorRecorder() const noexcept {
  return reporter_->recorder();
}
IBuilder& Network::getBuilder() const noexcept {
  return builder_;
}
bool Network::markWeightsRefittable(const char*) noexcept {
  return false;
}
bool Network::unmarkWeightsRefittable(const char*) noexcept {
  return false;
}
bool Network::areWeightsMarkedRefittable(const char*) const noexcept {
  return false;
}

}  // namespace tenon::network
