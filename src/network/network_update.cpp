// How the layers of a network become nodes of its graph.
#include <algorithm>
#include <set>

#include "base/guard.h"
#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"
#include "network/widening.h"
#include "ops/control_flow.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon::network {
namespace {

using Taken = std::map<std::string, int>;

/// Results are found by name, and tensors of layers that a parser adds have none.
void give_name(const Graph& graph, Value& value) {
  if (!value.name.empty() || value.producer() == nullptr) return;
  std::set<std::string_view> taken;
  for (const auto& node : graph.nodes())
    for (const Value* other : node->outputs()) taken.insert(other->name);
  const std::string wanted = fmt::format("{}_output", value.producer()->name);
  std::string name = wanted;
  for (int count = 1; taken.contains(name); ++count) name = fmt::format("{}_{}", wanted, count);
  value.name = name;
}

/// "(Unnamed Layer* 3) [Convolution]", as the surface has it.
std::string default_name(size_t index, const ILayer& layer) {
  static constexpr std::string_view kNames[] = {
#define TENON_LAYER_NAME(name) name,
#include "network/layer_names.def"
  };
  const auto* normalization = dynamic_cast<const nvinfer1::INormalizationLayer*>(&layer);
  const bool second = normalization != nullptr && normalization->isV2();
  return fmt::format("(Unnamed Layer* {}) [{}{}]", index,
                     kNames[static_cast<size_t>(layer.getType())], second ? "V2" : "");
}

/// An imported node reads its layer's operands as they are.
void read_operands(const LayerCore& layer) {
  Node& node = *layer.nodes()[0];
  for (size_t i = 0; i < layer.operands().size(); ++i) {
    const TensorHandle* operand = layer.operands()[i];
    Value* value = operand == nullptr ? nullptr : operand->value();
    const auto index = static_cast<int>(i);
    if (node.input(index) != value) node.set_input(index, value);
  }
}

/// Operands of a model's node whose types have changed since the import, and the types that the
/// node takes: bodies keep the model's types.
std::vector<std::pair<int, tenon::DataType>> operands_to_cast(const Node& node) {
  std::vector<std::pair<int, tenon::DataType>> casts;
  if (!is_control_flow(node)) {
    for (const int i : narrow_beside_wide(node.kind(), node.inputs()))
      casts.emplace_back(i, tenon::DataType::kFloat32);
    return casts;
  }
  const int first = node.is<If>() ? 1 : 0;
  for (int i = first; i < static_cast<int>(node.inputs().size()); ++i) {
    if (!node.has_input(i)) continue;
    const auto inside = node.bodies[0]->inputs()[static_cast<size_t>(i - first)]->type.type;
    const auto outside = node.input(i)->type.type;
    if (inside != outside && is_real(inside) && is_real(outside)) casts.emplace_back(i, inside);
  }
  return casts;
}

std::vector<Node*> cast_operands(Node& node) {
  std::vector<Node*> casts;
  for (const auto& [i, type] : operands_to_cast(node)) {
    Value* operand = node.input(i);
    Node* cast = casts.emplace_back(node.graph().add_node(std::make_unique<Cast>(type), {operand}));
    cast->output()->type = {type, operand->type.shape};
    node.set_input(i, cast->output());
  }
  return casts;
}

/// Whether every reader of the constant takes it as its weights.
bool is_weights(const Node& node) {
  if (!node.is<Constant>() || node.output()->uses().empty()) return false;
  return std::all_of(
      node.output()->uses().begin(), node.output()->uses().end(), [](const Use& use) {
        return use.index > 0 &&
               (use.node->kind() == OpKind::kConv || use.node->kind() == OpKind::kDeconv ||
                use.node->kind() == OpKind::kBatchNorm);
      });
}

}  // namespace

bool Network::attach(const char* method, std::unique_ptr<LayerCore> layer,
                     std::span<ITensor* const> operands, int results) {
  for (ITensor* tensor : operands) {
    if (!require(tensor != nullptr, method, "tensors, and one is null")) return false;
    TensorHandle* handle = own(*tensor, method);
    if (handle == nullptr) return false;
    layer->operands_.push_back(handle);
  }
  layer->name_ = default_name(listed_.size(), layer->layer());
  // Until it is asked for types the layer has a node without meaning, for its outputs to exist.
  Node* node = graph_->add_node(std::make_unique<Identity>(), {}, results, layer->name_);
  try {
    layer->nodes_ = {node};
    make_outputs(*layer, *node);
    make_room(listed_);
    make_room(layers_);
  } catch (...) {
    detach(*layer, *node);
    throw;
  }
  ++stale_;
  listed_.push_back(layer.get());
  layers_.push_back(std::move(layer));
  return true;
}

void Network::make_outputs(LayerCore& layer, Node& node) {
  owners_[&node] = &layer;
  for (Value* output : node.outputs()) {
    const int i = output->index();
    output->name = i == 0 ? layer.name_ + "_output" : fmt::format("{}_output ({})", layer.name_, i);
    layer.results_.push_back(new_handle(output, &layer));
  }
}

/// Takes back a layer that memory did not suffice for.
void Network::detach(const LayerCore& layer, Node& node) {
  owners_.erase(&node);
  for (const Value* output : node.outputs()) by_value_.erase(output);
  std::erase_if(handles_, [&](const auto& handle) { return handle->producer() == &layer; });
  graph_->erase(&node);
}

void Network::adopt_layer(Node& node) {
  std::unique_ptr<LayerCore> layer = adopt_node(*this, node);
  layer->name_ = node.name;
  layer->metadata_ = metadata_of(node);
  layer->nodes_ = {&node};
  layer->imported_ = true;
  layer->state_ = LayerCore::State::kClean;
  for (Value* input : node.inputs())
    layer->operands_.push_back(input == nullptr ? nullptr : handle(input));
  for (Value* output : node.outputs()) layer->results_.push_back(new_handle(output, layer.get()));
  owners_[&node] = layer.get();
  if (!is_weights(node)) listed_.push_back(layer.get());
  layers_.push_back(std::move(layer));
}

Status Network::adopt(std::unique_ptr<Graph> graph) {
  if (!layers_.empty() || !inputs_.empty())
    return user_error("the network is not empty: parse into a new one");
  TENON_TRY(graph->sort());
  graph_.swap(graph);
  const Status adopted = guarded("parsing", [&]() -> Status {
    if (name_.empty()) name_ = graph_->name;
    for (Value* input : graph_->inputs()) inputs_.push_back(new_handle(input, nullptr));
    for (const auto& node : graph_->nodes()) adopt_layer(*node);
    return {};
  });
  if (adopted.ok()) return {};
  // Empty again, as before: half a model would be worse than none.
  listed_.clear();
  layers_.clear();
  inputs_.clear();
  owners_.clear();
  by_value_.clear();
  handles_.clear();
  graph_.swap(graph);
  return adopted;
}

void Network::mark_stale(LayerCore& layer) {
  if (layer.state_ == LayerCore::State::kStale) return;
  const bool failed = layer.state_ == LayerCore::State::kFailed;
  layer.state_ = LayerCore::State::kStale;
  layer.reported_ = false;
  ++stale_;
  if (!failed) return;
  // Layers that failed because of this one are tried again.
  for (const auto& other : layers_)
    if (other->state_ == LayerCore::State::kFailed) mark_stale(*other);
}

void Network::mark_users_stale(const Value& value) {
  for (const Use& use : value.uses()) {
    const auto owner = owners_.find(use.node);
    if (owner != owners_.end()) mark_stale(*owner->second);
  }
}

Value* Network::stand_in(TensorType type) {
  return graph_->add_input({}, std::move(type));
}

Status Network::refresh_operands(LayerCore& layer) {
  for (size_t i = 0; i < layer.lowered_operands(); ++i) {
    const TensorHandle* operand = layer.operands_[i];
    LayerCore* producer = operand == nullptr ? nullptr : operand->producer();
    if (producer == nullptr) continue;
    if (producer->visiting_)
      return user_error("layer '{}': its inputs depend on its outputs", layer.name_);
    refresh(*producer);
    if (producer->state_ == LayerCore::State::kFailed)
      return Error{producer->error_.kind,
                   fmt::format("layer '{}': its input '{}' is not valid: {}", layer.name_,
                               operand->getName(), producer->error_.message)};
  }
  return {};
}

/// Puts the new nodes in the place of the old ones, of which nodes among the new ones stay.
void Network::replace_nodes(LayerCore& layer, std::vector<Node*> nodes,
                            const std::vector<Value*>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    TensorHandle& handle = *layer.results_[i];
    Value* old = handle.value();
    if (old == values[i]) continue;
    by_value_.erase(old);
    handle.rebind(values[i]);
    by_value_[values[i]] = &handle;
    graph_->replace_uses(old, values[i]);
    if (!(old->type == values[i]->type) || old->elements != values[i]->elements)
      mark_users_stale(*values[i]);
    if (old->producer() == nullptr) graph_->erase_input(old->index());
  }
  std::swap(layer.nodes_, nodes);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (std::ranges::find(layer.nodes_, *node) != layer.nodes_.end()) continue;
    owners_.erase(*node);
    graph_->erase(*node);
  }
  for (const Node* node : layer.nodes_) owners_[node] = &layer;
  layer.name_nodes();
}

Status Network::lower(LayerCore& layer) {
  FoldCache folded;
  Emitter e(*graph_, folded, layer.name_);
  e.set_widens(!getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  std::vector<Value*> values;
  try {
    values = layer.lower(e);
  } catch (...) {
    for (auto node = e.emitted().rbegin(); node != e.emitted().rend(); ++node) graph_->erase(*node);
    throw;
  }
  if (e.ok() && values.size() != layer.results_.size())
    e.fail(internal_error("{} outputs were made in place of {}", values.size(),
                          layer.results_.size()));
  for (size_t i = 0; e.ok() && i < values.size(); ++i) {
    for (const DataType type : layer.casts(i, e.type(values[i])))
      values[i] = e.cast(values[i], type);
    // A handle is of one layer: a value that is passed through gets a node.
    if (e.ok() && by_value_.count(values[i]) != 0 && by_value_[values[i]] != layer.results_[i])
      values[i] = e.add(Identity{}, {values[i]});
  }
  if (!e.ok()) {
    const std::vector<Node*>& made = e.emitted();
    for (auto node = made.rbegin(); node != made.rend(); ++node) graph_->erase(*node);
    return Error{e.error().kind, fmt::format("layer '{}': {}", layer.name_, e.message())};
  }
  replace_nodes(layer, e.emitted(), values);
  return {};
}

/// The value that stands for an output of an imported node: the node's own, or casts of it.
Value* Network::typed_output(LayerCore& layer, size_t index, std::vector<Node*>& nodes) {
  Value* value = layer.nodes_[0]->output(static_cast<int>(index));
  for (const DataType type : layer.casts(index, value->type.type)) {
    Node* cast = graph_->add_node(std::make_unique<Cast>(type), {value});
    cast->output()->type = {type, value->type.shape};
    nodes.push_back(cast);
    value = cast->output();
  }
  return value;
}

/// An imported node whose inputs changed, or the types that its outputs are wanted in.
Status Network::infer_imported(LayerCore& layer) {
  Node& node = *layer.nodes_[0];
  std::vector<TensorType> before;
  for (const Value* output : node.outputs()) before.push_back(output->type);
  read_operands(layer);
  std::vector<Node*> nodes;
  if (!getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED))
    nodes = cast_operands(node);
  if (Status status = infer_node(node); !status.ok()) {
    read_operands(layer);
    for (Node* cast : nodes) graph_->erase(cast);
    return status;
  }
  nodes.insert(nodes.begin(), &node);
  std::vector<Value*> values;
  std::vector<Node*> first_casts;  ///< Null: the output has none.
  for (size_t i = 0; i < before.size(); ++i) {
    const size_t made = nodes.size();
    values.push_back(typed_output(layer, i, nodes));
    first_casts.push_back(nodes.size() > made ? nodes[made] : nullptr);
  }
  replace_nodes(layer, std::move(nodes), values);
  for (size_t i = 0; i < before.size(); ++i) {
    Value& own = *node.output(static_cast<int>(i));
    // All that read the output read the cast now, the cast included.
    if (first_casts[i] != nullptr) first_casts[i]->set_input(0, &own), own.name.clear();
    if (!(before[i] == own.type)) mark_users_stale(*values[i]);
  }
  return {};
}

void Network::refresh(LayerCore& layer) {
  if (layer.state_ != LayerCore::State::kStale) return;
  layer.visiting_ = true;
  Status status;
  try {
    status = refresh_operands(layer);
    if (status.ok()) status = layer.imported_ ? infer_imported(layer) : lower(layer);
  } catch (...) {
    layer.visiting_ = false;  // It is tried again when it is asked for.
    throw;
  }
  layer.visiting_ = false;
  --stale_;
  layer.state_ = status.ok() ? LayerCore::State::kClean : LayerCore::State::kFailed;
  if (!status.ok()) layer.error_ = status.error();
}

Status Network::update_all() {
  // Inputs set later may make layers stale that come earlier, hence the repetition.
  for (size_t round = 0; stale_ > 0 && round <= layers_.size(); ++round)
    for (size_t i = 0; stale_ > 0 && i < layers_.size(); ++i) refresh(*layers_[i]);
  for (const auto& layer : layers_)
    if (layer->state_ == LayerCore::State::kFailed) return layer->error_;
  return {};
}

bool Network::update(LayerCore& layer) {
  const auto make_all = [this] { return update_all().ok(); };
  if (stale_ > 0) reporter_->guarded("making the network's layers", false, make_all);
  if (layer.state_ != LayerCore::State::kFailed) return true;
  if (!layer.reported_) reporter_->report(layer.error_);
  layer.reported_ = true;
  return false;
}

/// Conversions at the inputs and outputs whose types the application has chosen.
Status Network::apply_bindings(Graph& graph) const {
  for (const TensorHandle* input : inputs_) {
    const std::optional<Binding> binding = input->binding();
    if (!binding.has_value()) continue;
    for (Value* value : graph.inputs())
      if (value->name == input->value()->name) TENON_TRY(bind_input(graph, *value, *binding));
  }
  for (int i = 0; i < getNbOutputs(); ++i) {
    const TensorHandle* output = handle(graph_->outputs()[static_cast<size_t>(i)]);
    const std::optional<Binding> binding = output->binding();
    if (binding.has_value()) TENON_TRY(bind_output(graph, i, *binding));
  }
  return graph.sort();
}

Result<std::unique_ptr<Graph>> Network::finished_graph() {
  if (graph_->outputs().empty())
    return user_error("the network has no output: mark one with markOutput");
  TENON_TRY(update_all());
  TENON_TRY(graph_->sort());
  for (const TensorHandle* debug : debug_) give_name(*graph_, *debug->value());
  for (Value* output : graph_->outputs()) give_name(*graph_, *output);
  std::vector<std::pair<const Value*, Value*>> mapping;
  std::unique_ptr<Graph> graph = graph_->clone(&mapping);
  graph->name = name_;
  for (const TensorHandle* debug : debug_)
    for (const auto& [from, to] : mapping)
      if (from == debug->value() && !debug->isNetworkInput() && !graph->is_output(to))
        graph->add_output(to);
  TENON_TRY(control_->assemble(*graph, mapping, inputs_));
  TENON_TRY(apply_bindings(*graph));
  TENON_TRY(infer_graph(*graph));
  return graph;
}

}  // namespace tenon::network
