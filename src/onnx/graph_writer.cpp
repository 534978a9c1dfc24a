#include "onnx/graph_writer.h"

#include <algorithm>

#include "ir/dim.h"
#include "onnx/export_types.h"
#include "onnx/node_exporter.h"
#include "onnx/tensor_writer.h"
#include "ops/dims.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon::importer {

std::string ModelWriter::unused(std::set<std::string>& names, std::string wish) {
  if (wish.empty()) wish = "t";
  std::string name = wish;
  for (int number = 1; !names.insert(name).second; ++number)
    name = fmt::format("{}_{}", wish, number);
  return name;
}

::onnx::AttributeProto& AddedNode::add(std::string_view name) {
  ::onnx::AttributeProto& attribute = *node_.add_attribute();
  attribute.set_name(std::string(name));
  return attribute;
}

AddedNode& AddedNode::integer(std::string_view name, int64_t value) {
  auto& attribute = add(name);
  attribute.set_type(::onnx::AttributeProto::INT);
  attribute.set_i(value);
  return *this;
}

AddedNode& AddedNode::real(std::string_view name, double value) {
  auto& attribute = add(name);
  attribute.set_type(::onnx::AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
  return *this;
}

AddedNode& AddedNode::text(std::string_view name, std::string_view value) {
  auto& attribute = add(name);
  attribute.set_type(::onnx::AttributeProto::STRING);
  attribute.set_s(std::string(value));
  return *this;
}

AddedNode& AddedNode::integers(std::string_view name, const std::vector<int64_t>& values) {
  if (values.empty()) return *this;
  auto& attribute = add(name);
  attribute.set_type(::onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
  return *this;
}

AddedNode& AddedNode::reals(std::string_view name, const std::vector<double>& values) {
  if (values.empty()) return *this;
  auto& attribute = add(name);
  attribute.set_type(::onnx::AttributeProto::FLOATS);
  for (const double value : values) attribute.add_floats(static_cast<float>(value));
  return *this;
}

AddedNode& AddedNode::texts(std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return *this;
  auto& attribute = add(name);
  attribute.set_type(::onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) attribute.add_strings(value);
  return *this;
}

AddedNode& AddedNode::tensor(std::string_view name, const Tensor& value) {
  auto& attribute = add(name);
  attribute.set_type(::onnx::AttributeProto::TENSOR);
  write_tensor(value, *attribute.mutable_t());
  return *this;
}

AddedNode& AddedNode::graph(std::string_view name, ::onnx::GraphProto value) {
  auto& attribute = add(name);
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = std::move(value);
  return *this;
}

std::string GraphWriter::name_of(const Value* value) const {
  if (value == nullptr) return "";
  const auto found = names_.find(value);
  if (found != names_.end()) return found->second;
  return around_ == nullptr ? "" : around_->name_of(value);
}

void GraphWriter::note_extents(const Value* value, const std::string& name) {
  for (size_t axis = 0; axis < value->type.shape.size(); ++axis)
    if (const auto symbol = value->type.shape[axis].as_symbol())
      places_.emplace(*symbol, std::pair(name, static_cast<int>(axis)));
}

void GraphWriter::declare(const Value* value, const std::string& name) {
  names_[value] = name;
  note_extents(value, name);
}

const std::string& GraphWriter::declare(const Value* value) {
  reserve(value);
  note_extents(value, names_[value]);
  return names_[value];
}

void GraphWriter::reserve(const Value* value) {
  if (!names_.contains(value)) names_[value] = ModelWriter::unused(model_.tensors, value->name);
}

bool GraphWriter::rename_last(const std::string& now, const std::string& wanted,
                              const std::string& node) {
  if (nodes_.empty()) return false;
  ::onnx::NodeProto& last = *nodes_.Mutable(nodes_.size() - 1);
  if (last.output_size() != 1 || last.output(0) != now) return false;
  last.set_output(0, wanted);
  if (!node.empty()) last.set_name(ModelWriter::unused(model_.nodes, node));
  return true;
}

std::pair<std::string, int> GraphWriter::place_of(const std::string& symbol) const {
  const auto found = places_.find(symbol);
  if (found != places_.end()) return found->second;
  return around_ == nullptr ? std::pair(std::string(), 0) : around_->place_of(symbol);
}

std::string GraphWriter::fresh(std::string_view wish) {
  return ModelWriter::unused(model_.tensors, std::string(wish));
}

std::string GraphWriter::constant(const Tensor& tensor, const std::string& wish) {
  const std::string name = fresh(wish);
  if (graph_ == nullptr) {
    add("Constant", {}, {name}).tensor("value", tensor);
    return name;
  }
  auto& proto = *graph_->add_initializer();
  proto.set_name(name);
  write_tensor(tensor, proto);
  return name;
}

AddedNode GraphWriter::add(std::string_view type, std::vector<std::string> inputs,
                           std::vector<std::string> outputs, const std::string& name) {
  ::onnx::NodeProto& node = *nodes_.Add();
  node.set_op_type(std::string(type));
  written_.emplace_back(type);
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  for (std::string& input : inputs) node.add_input(std::move(input));
  for (std::string& output : outputs) node.add_output(std::move(output));
  if (!name.empty()) node.set_name(ModelWriter::unused(model_.nodes, name));
  return AddedNode(node);
}

AddedNode GraphWriter::add(std::string_view type, std::vector<std::string> inputs) {
  return add(type, std::move(inputs), {fresh(type)});
}

bool GraphWriter::lacks_extents(const Node& node) const {
  const Dims* const dims = node.as<Dims>();
  return dims != nullptr && std::ranges::any_of(dims->expressions, [this](const std::string& text) {
           const Result<Dim> extent = Dim::parse(text);
           return extent.ok() &&
                  std::ranges::any_of(extent->symbols(), [this](const std::string& symbol) {
                    return place_of(symbol).first.empty();
                  });
         });
}

void GraphWriter::write_nodes(const Graph& graph) {
  // Extents that data decide are those of a tensor; nodes that count them may stand ahead of it.
  std::vector<const Node*> waiting;
  const auto write_waiting = [&](const auto& is_ready) {
    std::erase_if(waiting, [&](const Node* node) {
      const bool ready = is_ready(*node);
      if (ready) write_node(*node);
      return ready;
    });
  };
  for (const auto& node : graph.nodes()) {
    if (lacks_extents(*node)) {
      waiting.push_back(node.get());
      continue;
    }
    write_waiting([&](const Node& dims) {
      return std::ranges::any_of(dims.output()->uses(), [&](const Use& use) {
        return use.node == node.get() || &use.node->graph() != &graph;
      });
    });
    write_node(*node);
    write_waiting([this](const Node& dims) { return !lacks_extents(dims); });
  }
  write_waiting([](const Node&) { return true; });
}

void GraphWriter::note_opset(const Node& node) {
  bool has_brain = false;
  const auto look = [&](const Value* value) {
    if (value == nullptr) return;
    has_brain |= value->type.type == DataType::kBFloat16;
    model_.need_opset(opset_of(value->type.type));
  };
  std::ranges::for_each(node.inputs(), look);
  std::ranges::for_each(node.outputs(), look);
  for (const std::string& type : written_)
    if (has_brain) model_.need_opset(opset_for_brain(type));
}

void GraphWriter::write_node(const Node& node) {
  if (const Tensor* tensor = node.op->constant_value()) {
    const std::string& wish = node.output()->name;
    declare(node.output(), constant(*tensor, wish.empty() ? node.name : wish));
    return;
  }
  written_.clear();
  NodeExporter exporter(*this, node);
  for (const Value* output : node.outputs()) exporter.declare_output(*output);
  export_node(exporter);
  note_opset(node);
  if (graph_ == nullptr || around_ != nullptr) return;
  for (const Value* output : node.outputs())
    if (!node.graph().is_output(output))
      write_value_info(name_of(output), output->type, *graph_->add_value_info());
}

}  // namespace tenon::importer
