#include "network/network.h"

#include <algorithm>
#include <iterator>

#include "base/ascii.h"
#include "network/convert.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon::network {
namespace {

/// Among those of bodies, too.
bool has_constant(const Graph& graph, std::string_view name) {
  return std::ranges::any_of(graph.nodes(), [name](const auto& node) {
    const bool is_it =
        node->template is<Constant>() && (node->output()->name == name || node->name == name);
    return is_it || std::ranges::any_of(node->bodies, [name](const auto& body) {
             return has_constant(*body, name);
           });
  });
}

/// Whether refitting knows weights by that name, of the application's names or the graph's, for
/// which layers are made that are not yet.
template <class Names, class Make>
bool knows_weights(std::string_view name, const Names& names, const Graph& graph, Make make) {
  const auto has_name = [&](const auto& named) { return named.second == name; };
  return std::ranges::any_of(names, has_name) || has_constant(graph, name) ||
         (make() && has_constant(graph, name));
}

}  // namespace

Network::Network(IBuilder& builder, std::shared_ptr<Reporter> reporter,
                 NetworkDefinitionCreationFlags flags)
    : Reported(std::move(reporter)),
      builder_(builder),
      flags_(flags),
      graph_(std::make_unique<Graph>()),
      control_(std::make_unique<ControlFlow>()) {}

Network::~Network() = default;

TensorHandle* Network::new_handle(Value* value, LayerCore* layer) const {
  auto handle = std::make_unique<TensorHandle>(const_cast<Network&>(*this), value, layer);
  make_room(handles_);
  by_value_[value] = handle.get();
  handles_.push_back(std::move(handle));
  return handles_.back().get();
}

TensorHandle* Network::handle(const Value* value) const {
  const auto found = by_value_.find(value);
  return found == by_value_.end() ? nullptr : found->second;
}

TensorHandle* Network::own(ITensor& tensor, const char* method) const {
  auto* handle = dynamic_cast<TensorHandle*>(&tensor);
  const bool ours = handle != nullptr && &handle->network() == this;
  return require(ours, method, "tensors of this network") ? handle : nullptr;
}

bool Network::require(bool condition, const char* method, std::string_view requirement) const {
  if (!condition)
    reporter_->guarded_call(
        method, [&] { reporter_->report(user_error("{} requires {}", method, requirement)); });
  return condition;
}

std::string Network::weights_name(const Weights& weights, const std::string& layer,
                                  std::string_view role) const {
  const auto found = weight_names_.find(weights.values);
  if (found != weight_names_.end()) return found->second;
  // Programs that gave their weights no names look for them by these, which are TensorRT's.
  std::string name = layer + ' ';
  std::ranges::transform(role, std::back_inserter(name), to_upper);
  return name;
}

Weights Network::hold(const Value* value) {
  const Weights weights = held_weights_.hold(value == nullptr ? nullptr : value->constant());
  if (weights.values != nullptr && !value->name.empty())
    weight_names_.try_emplace(weights.values, value->name);
  return weights;
}

Shape Network::input_shape(const std::string& name, const nvinfer1::Dims& dims) {
  Shape shape;
  for (int i = 0; i < dims.nbDims; ++i)
    shape.push_back(dims.d[i] >= 0 ? Dim(dims.d[i]) : Dim::symbol(fmt::format("{}_{}", name, i)));
  return shape;
}

bool Network::computes_in_32_bits(DataType type) const {
  const bool strong = getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  return !strong && is_half(type);
}

ITensor* Network::addInput(const char* name, nvinfer1::DataType type,
                           const nvinfer1::Dims& dimensions) noexcept {
  if (!require(name != nullptr && *name != '\0', "addInput", "a name") ||
      !require(is_valid(type), "addInput", "a data type") ||
      !require(dimensions.nbDims >= 0 && dimensions.nbDims <= Dims::MAX_DIMS, "addInput",
               "at most 8 axes") ||
      !require(std::all_of(dimensions.d, dimensions.d + dimensions.nbDims,
                           [](int64_t extent) { return extent >= -1; }),
               "addInput", "extents of at least 0, or -1 where they are dynamic"))
    return nullptr;
  return reporter_->guarded("addInput", nullptr, [&]() -> ITensor* {
    const bool taken = std::ranges::any_of(
        inputs_, [&](const TensorHandle* input) { return input->value()->name == name; });
    if (!require(!taken, "addInput",
                 taken ? fmt::format("a name that is not taken, and there is an input '{}'", name)
                       : std::string()))
      return nullptr;
    make_room(inputs_);
    return new_input(name, type, input_shape(name, dimensions));
  });
}

/// Without strong typing a type of 16 bits is the application's buffer's, not the layers'.
ITensor* Network::new_input(const char* name, nvinfer1::DataType type, Shape shape) {
  const bool is_bound = computes_in_32_bits(from_public(type));
  const DataType own = is_bound ? DataType::kFloat32 : from_public(type);
  Value* value = graph_->add_input(name, {own, std::move(shape)});
  try {
    inputs_.push_back(new_handle(value, nullptr));
  } catch (...) {
    by_value_.erase(value);
    graph_->erase_input(value->index());
    throw;
  }
  if (is_bound) inputs_.back()->setType(type);
  return inputs_.back();
}

void Network::markOutput(ITensor& tensor) noexcept {
  const TensorHandle* handle = own(tensor, "markOutput");
  if (handle == nullptr) return;
  reporter_->guarded_call("markOutput", [&] {
    if (handle->isNetworkInput())
      reporter_->report(
          user_error("markOutput: '{}' is an input of the network, and engines tell their tensors "
                     "by name: put an identity between (addIdentity)",
                     handle->getName()));
    else if (!graph_->is_output(handle->value()))
      graph_->add_output(handle->value());
  });
}

void Network::unmarkOutput(ITensor& tensor) noexcept {
  const TensorHandle* handle = own(tensor, "unmarkOutput");
  if (handle == nullptr) return;
  reporter_->guarded_call("unmarkOutput", [&] {
    const std::vector<Value*> outputs = graph_->outputs();
    graph_->clear_outputs();
    for (Value* output : outputs)
      if (output != handle->value()) graph_->add_output(output);
  });
}

void Network::removeTensor(ITensor& tensor) noexcept {
  const TensorHandle* handle = own(tensor, "removeTensor");
  if (handle == nullptr) return;
  unmarkOutput(tensor);
  unmarkDebug(tensor);
  const auto input = std::find(inputs_.begin(), inputs_.end(), handle);
  const bool used = std::any_of(layers_.begin(), layers_.end(), [&](const auto& layer) {
    const auto& operands = layer->operands();
    return std::find(operands.begin(), operands.end(), handle) != operands.end();
  });
  if (!require(!used, "removeTensor", "a tensor that no layer reads") || input == inputs_.end())
    return;
  graph_->erase_input(handle->value()->index());
  inputs_.erase(input);
}

bool Network::markDebug(ITensor& tensor) noexcept {
  const TensorHandle* handle = own(tensor, "markDebug");
  if (handle == nullptr) return false;
  if (isDebugTensor(tensor)) return true;
  return reporter_->guarded_call("markDebug", [&] { debug_.push_back(handle); });
}
bool Network::unmarkDebug(ITensor& tensor) noexcept {
  return std::erase(debug_, &tensor) > 0;
}
bool Network::isDebugTensor(const ITensor& tensor) const noexcept {
  return std::find(debug_.begin(), debug_.end(), &tensor) != debug_.end();
}
bool Network::markUnfusedTensorsAsDebugTensors() noexcept {
  shows_unfused_ = true;
  return true;
}
bool Network::unmarkUnfusedTensorsAsDebugTensors() noexcept {
  shows_unfused_ = false;
  return true;
}

int32_t Network::getNbLayers() const noexcept {
  return static_cast<int32_t>(listed_.size());
}
ILayer* Network::getLayer(int32_t index) const noexcept {
  return index < 0 || index >= getNbLayers() ? nullptr : &listed_[index]->layer();
}
int32_t Network::getNbInputs() const noexcept {
  return static_cast<int32_t>(inputs_.size());
}
ITensor* Network::getInput(int32_t index) const noexcept {
  return index < 0 || index >= getNbInputs() ? nullptr : inputs_[index];
}
int32_t Network::getNbOutputs() const noexcept {
  return static_cast<int32_t>(graph_->outputs().size());
}
ITensor* Network::getOutput(int32_t index) const noexcept {
  return index < 0 || index >= getNbOutputs() ? nullptr : handle(graph_->outputs()[index]);
}

void Network::setName(const char* name) noexcept {
  reporter_->guarded_call("setName", [&] { name_ = name == nullptr ? "" : name; });
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
bool Network::setWeightsName(Weights weights, const char* name) noexcept {
  if (!require(weights.values != nullptr, "setWeightsName", "weights")) return false;
  const auto set = [&] {
    if (name == nullptr)
      weight_names_.erase(weights.values);
    else
      weight_names_[weights.values] = name;
  };
  if (!reporter_->guarded_call("setWeightsName", set)) return false;
  for (const auto& layer : layers_)
    if (!layer->is_imported()) layer->touch();
  return true;
}
IBuilder& Network::getBuilder() const noexcept {
  return builder_;
}
bool Network::markWeightsRefittable(const char* name) noexcept {
  const auto make = [this] { return stale_ > 0 && update_all().ok(); };
  const auto is_known = [&] { return knows_weights(name, weight_names_, *graph_, make); };
  if (!require(name != nullptr, "markWeightsRefittable", "a name") ||
      !require(reporter_->guarded("markWeightsRefittable", false, is_known),
               "markWeightsRefittable", "the name of weights of the network"))
    return false;
  return reporter_->guarded_call("markWeightsRefittable", [&] { refittable_.insert(name); });
}
bool Network::unmarkWeightsRefittable(const char* name) noexcept {
  const auto make = [this] { return stale_ > 0 && update_all().ok(); };
  return reporter_->guarded("unmarkWeightsRefittable", false, [&] {
    if (name == nullptr || !knows_weights(name, weight_names_, *graph_, make)) return false;
    refittable_.erase(name);
    return true;
  });
}
bool Network::areWeightsMarkedRefittable(const char* name) const noexcept {
  return reporter_->guarded("areWeightsMarkedRefittable", false,
                            [&] { return name != nullptr && refittable_.count(name) > 0; });
}

}  // namespace tenon::network
