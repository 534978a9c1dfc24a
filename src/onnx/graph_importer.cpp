#include "onnx/graph_importer.h"

#include <algorithm>

#include "base/guard.h"
#include "base/printable.h"
#include "onnx/function_names.h"
#include "onnx/layer_hints.h"
#include "onnx/node_order.h"
#include "onnx/op_table.h"
#include "onnx_proto/onnx.pb.h"
#include "ops/structure.h"

namespace tenon::importer {
namespace {

int64_t opset_of(const Opsets& opsets, const std::string& domain) {
  const auto found = opsets.find(domain == "ai.onnx" ? std::string() : domain);
  return found == opsets.end() ? 0 : found->second;
}

}  // namespace

std::string cut(const std::string& text) {
  return text.size() > 200 ? std::string(clipped(text, 200)) + "..." : text;
}

std::string element_name(const std::string& list, size_t index) {
  return fmt::format("{}[{}]", list, index);
}

const ::onnx::FunctionProto* ModelContext::find_function(const ::onnx::NodeProto& node) const {
  const auto found = functions.find(function_key(node.domain(), node.op_type(), node.overload()));
  return found == functions.end() ? nullptr : found->second;
}

void ModelContext::report(ImportCode code, std::string node, std::string op_type,
                          std::string message, CodePlace where) {
  problems.push_back({code, top_level_node, std::move(node), std::move(op_type), std::move(message),
                      function_stack, where});
}

Value* ModelContext::add_list(ValueList list) {
  Value* token = tokens.add_input("", {DataType::kInt8, {}});
  lists.emplace(token, std::move(list));
  return token;
}

const ValueList* ModelContext::list(const Value* value) const {
  const auto found = lists.find(value);
  return found == lists.end() ? nullptr : &found->second;
}

std::string NameTable::unique(std::string name) {
  if (used_.insert(name).second) return name;
  int& next = next_[name];
  std::string candidate;
  do {
    candidate = fmt::format("{}_{}", name, ++next);
  } while (!used_.insert(candidate).second);
  return candidate;
}

GraphImporter::GraphImporter(ModelContext& context, Graph& graph, const FunctionFrame& frame,
                             GraphImporter* outer)
    : context_(context),
      graph_(graph),
      frame_(frame),
      outer_(outer),
      own_names_(std::make_unique<NameTable>()),
      own_folded_(std::make_unique<FoldCache>()),
      names_(own_names_.get()),
      folded_(own_folded_.get()),
      depth_(outer ? outer->depth_ + 1 : 0) {}

GraphImporter::GraphImporter(GraphImporter& caller, const FunctionFrame& frame)
    : context_(caller.context_),
      graph_(caller.graph_),
      frame_(frame),
      outer_(nullptr),
      names_(caller.names_),
      folded_(caller.folded_),
      depth_(caller.depth_) {}

std::string GraphImporter::display_name(const ::onnx::NodeProto& node) const {
  return node_name(frame_.prefix, node);
}

std::string GraphImporter::scoped(const std::string& name) const {
  return scoped_name(frame_.prefix, name);
}

void GraphImporter::report(const ::onnx::NodeProto& node, ImportCode code, std::string message,
                           CodePlace where) {
  context_.report(code, cut(display_name(node)), cut(node.op_type()), std::move(message), where);
}

void GraphImporter::declare_initializers(const ::onnx::GraphProto& graph) {
  for (const auto& tensor : graph.initializer()) initializers_[tensor.name()].dense = &tensor;
  for (const auto& tensor : graph.sparse_initializer())
    initializers_[tensor.values().name()].sparse = &tensor;
}

Value* GraphImporter::load(const std::string& name, const Initializer& initializer) {
  const Result<Tensor> tensor = guarded("", [&] {
    return initializer.dense ? context_.tensors.read(*initializer.dense)
                             : context_.tensors.read(*initializer.sparse);
  });
  if (!tensor.ok()) {
    const bool unsupported = tensor.error().kind == ErrorKind::kUnsupported;
    context_.report(unsupported ? ImportCode::kUnsupportedGraph : ImportCode::kInvalidValue,
                    cut(name), "", tensor.error().message);
    return nullptr;
  }
  Value* value = graph_.add_constant(*tensor, scoped(name));
  value->producer()->name = names_->unique(scoped(name));
  return value;
}

Value* GraphImporter::capture(const std::string& name, Value* outer) {
  if (context_.list(outer) != nullptr) {
    context_.report(ImportCode::kUnsupportedGraph, cut(name), "",
                    "a sequence or optional is used in a body that runs a number of times, or "
                    "under a condition, that is not known at build time");
    return nullptr;
  }
  if (const Tensor* tensor = outer->constant()) {
    Value* value = graph_.add_constant(*tensor, name);
    value->producer()->name = names_->unique(name);
    return value;
  }
  Value* value = graph_.add_input(name, outer->type);
  value->elements = outer->elements;
  capture_names_.push_back(name);
  captures_.push_back(outer);
  return value;
}

std::optional<Value*> GraphImporter::find(const std::string& name) {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  if (const auto own = initializers_.find(name); own != initializers_.end())
    return values_[name] = load(name, own->second);
  if (!outer_) return std::nullopt;
  const std::optional<Value*> value = outer_->find(name);
  if (!value) return std::nullopt;
  const bool inlined = &outer_->graph_ == &graph_;
  return values_[name] = inlined || !*value ? *value : capture(name, *value);
}

void GraphImporter::mark_broken(const ::onnx::NodeProto& node) {
  for (const std::string& output : node.output())
    if (!output.empty()) values_[output] = nullptr;
}

/// The values a node reads; nothing when one is broken (reported before) or missing.
std::optional<std::vector<Value*>> GraphImporter::operands(const ::onnx::NodeProto& node) {
  std::vector<Value*> inputs;
  bool broken = false;
  for (int i = 0; i < node.input_size(); ++i) {
    const std::string& name = node.input(i);
    const bool absent = name.empty() || absent_.contains(name);
    std::optional<Value*> value = absent ? std::optional<Value*>(nullptr) : find(name);
    if (!value) {
      report(node, ImportCode::kInvalidGraph,
             fmt::format(
                 "input {} \"{}\" is neither a graph input, an initializer nor an output of a node",
                 i, cut(name)));
      return std::nullopt;
    }
    broken = broken || (!absent && !*value);
    inputs.push_back(*value);
  }
  if (broken) return std::nullopt;
  return inputs;
}

bool GraphImporter::spend_node(const ::onnx::NodeProto& node) {
  if (--context_.nodes_left >= 0) return true;
  if (context_.nodes_left == -1)
    report(node, ImportCode::kUnsupportedGraph,
           "the model expands to too many nodes (its functions multiply); raise "
           "ImportOptions::max_nodes if it is meant so");
  return false;
}

void GraphImporter::import_node(const ::onnx::NodeProto& node) {
  const Status status = guarded("", [&]() -> Status {
    import_unguarded(node);
    return {};
  });
  if (status.ok()) return;
  report(node, ImportCode::kMemAllocFailed, status.error().message);
  mark_broken(node);
}

void GraphImporter::import_unguarded(const ::onnx::NodeProto& node) {
  std::optional<std::vector<Value*>> inputs;
  if (spend_node(node)) inputs = operands(node);
  if (!inputs) return mark_broken(node);
  const bool lists = std::any_of(inputs->begin(), inputs->end(), [this](const Value* value) {
    return context_.list(value) != nullptr;
  });
  const bool names_plugin =
      std::any_of(node.attribute().begin(), node.attribute().end(),
                  [](const auto& attribute) { return attribute.name() == "plugin_namespace"; });
  const bool plugin_first = context_.options.plugins_first || names_plugin;
  if (!lists && plugin_first && import_plugin(node, *inputs)) return;
  const ::onnx::FunctionProto* function = context_.find_function(node);
  // A function the model brings for a standard operator's name in another domain is its meaning.
  const OpRow* row =
      function && !node.domain().empty()
          ? nullptr
          : find_row(node.domain(), node.op_type(), opset_of(frame_.opsets, node.domain()));
  if (row && (!lists || row->takes_lists)) return import_operator(node, *row, std::move(*inputs));
  if (function) return import_function(node, *function, *inputs);
  if (lists) {
    report(node, ImportCode::kUnsupportedNodeInput, "an input is a sequence or an optional");
    return mark_broken(node);
  }
  if (import_plugin(node, *inputs)) return;
  report(node, ImportCode::kUnsupportedNode,
         fmt::format("operator \"{}\" of domain \"{}\" is not imported{}", cut(node.op_type()),
                     cut(node.domain()),
                     context_.options.plugin_hint ? context_.options.plugin_hint(node.op_type())
                                                  : std::string()));
  mark_broken(node);
}

void GraphImporter::import_operator(const ::onnx::NodeProto& node, const OpRow& row,
                                    std::vector<Value*> inputs) {
  const int64_t opset = opset_of(frame_.opsets, std::string(row.domain));
  NodeImporter importer(*this, node, opset == 0 ? row.last : opset, std::move(inputs),
                        display_name(node));
  row.import(importer, row);
  conclude(importer);
}

void GraphImporter::conclude(NodeImporter& importer) {
  const ::onnx::NodeProto& node = importer.node();
  for (int i = 0; importer.ok() && i < node.output_size(); ++i)
    if (importer.wants(i) &&
        (static_cast<size_t>(i) >= importer.results().size() || !importer.results()[i]))
      importer.fail(ImportCode::kUnsupportedNode,
                    fmt::format("output {} \"{}\" is not available", i, cut(node.output(i))));
  std::optional<LayerHint> hint;
  if (context_.reads_hints && importer.ok() && depth_ == 0) hint = read_hint(importer);
  if (!importer.ok()) {
    if (importer.code() != ImportCode::kSuccess)
      report(node, importer.code(), importer.message(), importer.found_at());
    return mark_broken(node);
  }
  finish(node, importer.emitted(), importer.results());
  if (!hint) return;
  for (Value* result : importer.results())
    hint->outputs.push_back(context_.list(result) == nullptr ? result : nullptr);
  context_.hints.push_back(*std::move(hint));
}

/// Names the values that a node became, and binds its outputs.
void GraphImporter::finish(const ::onnx::NodeProto& node, const std::vector<Node*>& emitted,
                           const std::vector<Value*>& results) {
  const std::string name = display_name(node);
  const Node* last = emitted.empty() ? nullptr : emitted.back();
  for (Node* one : emitted) {
    const std::string given =
        one == last ? name : fmt::format("ONNXTRT_{}_{}", name, one->op->name());
    one->name = names_->unique(given);
    one->origins = {name};
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty() || static_cast<size_t>(i) >= results.size()) continue;
    Value* value = results[static_cast<size_t>(i)];
    if (value->name.empty()) value->name = scoped(node.output(i));
    values_[node.output(i)] = value;
  }
  if (depth_ == 0 && !frame_.function) context_.node_outputs.emplace(node.name(), results);
}

bool GraphImporter::import_plugin(const ::onnx::NodeProto& node,
                                  const std::vector<Value*>& inputs) {
  if (!context_.options.plugin) return false;
  NodeImporter importer(*this, node, 0, inputs, display_name(node));
  if (!context_.options.plugin(importer)) return false;
  conclude(importer);
  return true;
}

void GraphImporter::import_function(const ::onnx::NodeProto& node,
                                    const ::onnx::FunctionProto& function,
                                    const std::vector<Value*>& inputs) {
  FunctionFrame frame{&function,       &frame_, {}, {}, call_prefix(display_name(node)),
                      frame_.depth + 1};
  std::string wrong;
  if (frame.depth > kMaxFunctionDepth) wrong = "functions call each other too deep";
  for (const FunctionFrame* outer = &frame_; outer; outer = outer->caller)
    if (outer->function == &function) wrong = "the function calls itself";
  if (node.input_size() > function.input_size())
    wrong = fmt::format("{} inputs are given to a function that takes {}", node.input_size(),
                        function.input_size());
  if (!wrong.empty()) {
    report(node, ImportCode::kInvalidGraph, wrong);
    return mark_broken(node);
  }
  for (const auto& opset : function.opset_import())
    frame.opsets[opset.domain() == "ai.onnx" ? std::string() : opset.domain()] = opset.version();
  for (const auto& [domain, version] : frame_.opsets) frame.opsets.emplace(domain, version);
  for (const auto& attribute : function.attribute_proto())
    frame.attributes[attribute.name()] = &attribute;
  NodeImporter caller(*this, node, 0, {});
  for (const auto& attribute : node.attribute())
    if (const ::onnx::AttributeProto* resolved = caller.attribute(attribute.name()))
      frame.attributes[attribute.name()] = resolved;

  context_.function_stack.push_back(fmt::format(
      "{} ({})", cut(node.name().empty() ? node.op_type() : node.name()), cut(function.name())));
  const size_t before = context_.problems.size();
  GraphImporter body(*this, frame);
  for (int i = 0; i < function.input_size(); ++i) {
    const bool given = i < node.input_size() && !node.input(i).empty();
    // An input that is left out is absent inside as well: its name is known and stands for nothing.
    if (given)
      body.bind(function.input(i), inputs[static_cast<size_t>(i)]);
    else
      body.absent_.insert(function.input(i));
  }
  body.import_nodes(function.node(), false);
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    Value* value = nullptr;
    if (i < function.output_size()) value = body.find(function.output(i)).value_or(nullptr);
    if (!value && context_.problems.size() == before)
      report(node, ImportCode::kInvalidGraph,
             fmt::format("the function does not give output {}", i));
    values_[node.output(i)] = value;
    if (value && value->name.starts_with(frame.prefix)) value->name = scoped(node.output(i));
  }
  context_.function_stack.pop_back();
}

template <class Nodes> void GraphImporter::import_nodes(const Nodes& nodes, bool top_level) {
  Result<std::vector<int>> order = node_order(nodes);
  if (!order.ok())
    return context_.report(ImportCode::kInvalidGraph, cut(frame_.prefix), "",
                           order.error().message);
  for (int index : *order) {
    if (top_level) context_.top_level_node = index;
    import_node(nodes.Get(index));
  }
  if (top_level) context_.top_level_node = -1;
}

template void GraphImporter::import_nodes(
    const ::google::protobuf::RepeatedPtrField<::onnx::NodeProto>&, bool);

}  // namespace tenon::importer
