// The outputs of a graph, and graphs within graphs.
#include <unordered_set>

#include "onnx/graph_importer.h"
#include "onnx_proto/onnx.pb.h"
#include "ops/structure.h"

namespace tenon::importer {

/// Engines tell their tensors by name, so an input that is an output too is called otherwise.
void GraphImporter::rename_input(Value& input) {
  const std::string old = input.name;
  input.name = "__" + old;
  if (context_.options.log != nullptr)
    context_.options.log->warning("'{}' is an input and an output: the input is called '{}' here",
                                  old, input.name);
}

/// Every output is a value of its own with the output's name, made by a node of this graph.
bool GraphImporter::add_output(Value* value, const std::string& name) {
  if (value->name != scoped(name) || !value->producer() || value->constant() ||
      graph_.is_output(value)) {
    if (!outer_ && !value->producer() && value->name == name) rename_input(*value);
    Emitter emitter(graph_, *folded_);
    value = emitter.add(Identity{}, {value});
    if (!value) return false;
    value->name = name;
    value->producer()->name = names_->unique("ONNXTRT_output_" + name);
    value->producer()->origins = {name};
  }
  graph_.add_output(value);
  return true;
}

/// The elements of a sequence become outputs of their own, "name[0]", "name[1]", ...
bool GraphImporter::set_outputs(const ::onnx::GraphProto& proto) {
  bool complete = true;
  std::unordered_set<std::string> names;
  for (const auto& output : proto.output()) {
    if (!outer_ && !names.insert(output.name()).second) {
      context_.report(ImportCode::kInvalidGraph, cut(output.name()), "",
                      fmt::format("output \"{}\" is listed twice", cut(output.name())));
      return false;
    }
    std::optional<Value*> value = find(output.name());
    if (!value)
      context_.report(
          ImportCode::kInvalidGraph, cut(output.name()), "",
          fmt::format("output \"{}\" is neither an input, an initializer nor an output of a node",
                      cut(output.name())));
    complete = complete && value && *value;
    if (!complete) continue;
    const ValueList* list = context_.list(*value);
    if (!list) {
      complete = add_output(*value, output.name());
      continue;
    }
    if (outer_)
      context_.report(ImportCode::kUnsupportedGraph, cut(output.name()), "",
                      "a body that stays a body gives a sequence or an optional");
    if (outer_) return false;
    for (size_t i = 0; complete && i < list->items.size(); ++i)
      complete = add_output(list->items[i], element_name(output.name(), i));
  }
  return complete;
}

std::optional<ImportedBody> GraphImporter::import_body(const ::onnx::GraphProto& proto,
                                                       const std::vector<TensorType>& inputs,
                                                       const std::vector<std::string>& captures) {
  ImportedBody body;
  body.graph = std::make_unique<Graph>();
  body.graph->name = proto.name();
  body.graph->symbol_ranges = graph_.symbol_ranges;
  GraphImporter inner(context_, *body.graph, frame_, this);
  if (inner.depth_ > context_.options.max_depth) {
    context_.report(ImportCode::kUnsupportedGraph, cut(proto.name()), "",
                    fmt::format("graphs are nested more than {} deep", context_.options.max_depth));
    return std::nullopt;
  }
  const size_t before = context_.problems.size();
  for (size_t i = 0; i < inputs.size(); ++i)
    inner.bind(proto.input(static_cast<int>(i)).name(),
               body.graph->add_input(proto.input(static_cast<int>(i)).name(), inputs[i]));
  inner.declare_initializers(proto);
  for (const std::string& name : captures) {
    std::optional<Value*> value = find(name);
    if (value && *value) inner.bind(name, inner.capture(name, *value));
  }
  inner.import_nodes(proto.node(), false);
  if (!inner.set_outputs(proto) || context_.problems.size() > before) return std::nullopt;
  for (const auto& [symbol, range] : body.graph->symbol_ranges)
    graph_.symbol_ranges.emplace(symbol, range);
  body.capture_names = std::move(inner.capture_names_);
  body.captures = std::move(inner.captures_);
  return body;
}

std::vector<Value*> GraphImporter::inline_body(const ::onnx::GraphProto& proto,
                                               const std::vector<Value*>& inputs) {
  GraphImporter inner(*this, frame_);
  inner.outer_ = this;
  inner.depth_ = depth_ + 1;
  const size_t before = context_.problems.size();
  if (inner.depth_ > context_.options.max_depth)
    context_.report(ImportCode::kUnsupportedGraph, cut(proto.name()), "",
                    fmt::format("graphs are nested more than {} deep", context_.options.max_depth));
  for (int i = 0; i < proto.input_size() && static_cast<size_t>(i) < inputs.size(); ++i)
    inner.bind(proto.input(i).name(), inputs[static_cast<size_t>(i)]);
  inner.declare_initializers(proto);
  if (context_.problems.size() == before) inner.import_nodes(proto.node(), false);
  std::vector<Value*> outputs;
  for (const auto& output : proto.output())
    outputs.push_back(inner.find(output.name()).value_or(nullptr));
  for (Value* output : outputs)
    if (!output || context_.problems.size() > before) return {};
  return outputs;
}

}  // namespace tenon::importer
