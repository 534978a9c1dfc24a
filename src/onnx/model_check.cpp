#include "onnx/model_check.h"

#include <unordered_set>

#include "base/printable.h"
#include "onnx/op_table.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

using Opsets = std::map<std::string, int64_t>;
using Functions = std::map<std::string, const ::onnx::FunctionProto*>;
using Nodes = ::google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

constexpr int kMaxOpsetImports = 1024;
constexpr int64_t kOldestOpset = 7;
constexpr int64_t kNewestOpset = 28;

std::string cut(const std::string& text) {
  return text.size() > 200 ? std::string(clipped(text, 200)) + "..." : text;
}

class Checker {
 public:
  Checker(const ImportOptions& options, Functions functions)
      : options_(options), functions_(std::move(functions)) {}

  void check_graph(const ::onnx::GraphProto& graph, const Opsets& opsets, int depth) {
    if (depth > options_.max_depth)
      return report(ImportCode::kUnsupportedGraph, cut(graph.name()), "",
                    fmt::format("graphs are nested more than {} deep", options_.max_depth));
    check_names(graph);
    if (depth == 0) check_bindings(graph);
    check_nodes(graph.node(), opsets, depth);
  }

  void check_nodes(const Nodes& nodes, const Opsets& opsets, int depth) {
    for (int i = 0; i < nodes.size(); ++i) {
      if (depth == 0) index_ = i;
      check_node(nodes.Get(i), opsets);
      for (const auto& attribute : nodes.Get(i).attribute()) {
        if (attribute.has_g()) check_graph(attribute.g(), opsets, depth + 1);
        for (const auto& graph : attribute.graphs()) check_graph(graph, opsets, depth + 1);
      }
    }
  }

  void set_function(const std::string& name) {
    stack_ = {name};
    index_ = -1;
  }
  std::vector<ImportProblem> take() { return std::move(problems_); }

 private:
  void report(ImportCode code, std::string name, std::string op_type, std::string message) {
    problems_.push_back(
        {code, index_, std::move(name), std::move(op_type), std::move(message), stack_});
  }

  void check_names(const ::onnx::GraphProto& graph) {
    std::unordered_set<std::string_view> names, initializers;
    for (const auto& input : graph.input())
      if (!names.insert(input.name()).second) duplicate(input.name(), "graph input");
    for (const auto& tensor : graph.initializer())
      if (!initializers.insert(tensor.name()).second) duplicate(tensor.name(), "initializer");
    names.insert(initializers.begin(), initializers.end());
    for (const auto& node : graph.node())
      for (const std::string& output : node.output())
        if (!output.empty() && names.contains(output)) duplicate(output, "node output");
  }

  /// The application names inputs and outputs by texts that a zero byte ends.
  void check_bindings(const ::onnx::GraphProto& graph) {
    for (const auto* values : {&graph.input(), &graph.output()})
      for (const auto& value : *values)
        if (const size_t zero = value.name().find('\0'); zero != std::string::npos)
          report(ImportCode::kInvalidGraph, cut(value.name().substr(0, zero)), "",
                 fmt::format("the name of input or output \"{}...\" holds a zero byte, so that no "
                             "application can ask for it; give it another name",
                             cut(value.name().substr(0, zero))));
  }

  void duplicate(const std::string& name, std::string_view what) {
    report(ImportCode::kInvalidGraph, cut(name), "",
           fmt::format(
               "{} \"{}\" has a name that another tensor of the graph has; names must be unique",
               what, cut(name)));
  }

  void check_node(const ::onnx::NodeProto& node, const Opsets& opsets) {
    const std::string name =
        node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    if (node.op_type().empty())
      return report(ImportCode::kInvalidNode, cut(name), "", "the node has no operator type");
    if (functions_.contains(node.domain() + ":" + node.op_type() + ":" + node.overload())) return;
    const auto version = opsets.find(node.domain() == "ai.onnx" ? std::string() : node.domain());
    if (find_row(node.domain(), node.op_type(), version == opsets.end() ? 0 : version->second))
      return;
    if (options_.has_plugin && options_.has_plugin(node.op_type())) return;
    report(ImportCode::kUnsupportedNode, cut(name), cut(node.op_type()),
           refusal(node, version == opsets.end() ? 0 : version->second));
  }

  std::string refusal(const ::onnx::NodeProto& node, int64_t opset) const {
    if (find_any_row(node.domain(), node.op_type()))
      return fmt::format(
          "operator \"{}\" is not imported in opset {}; convert the model to another opset",
          cut(node.op_type()), opset);
    return fmt::format(
        "operator \"{}\" of domain \"{}\" is not known; register a plugin of that name, or define "
        "it as a local function of the model{}",
        cut(node.op_type()), cut(node.domain()),
        options_.plugin_hint ? options_.plugin_hint(node.op_type()) : std::string());
  }

  const ImportOptions& options_;
  Functions functions_;
  std::vector<ImportProblem> problems_;
  std::vector<std::string> stack_;
  int index_ = -1;
};

void warn_about_opsets(const Opsets& opsets, Logger* log) {
  const auto standard = opsets.find("");
  if (!log || standard == opsets.end()) return;
  if (standard->second < kOldestOpset)
    log->warning("the model uses opset {}; opsets before {} are not tested", standard->second,
                 kOldestOpset);
  if (standard->second > kNewestOpset)
    log->warning("the model uses opset {}, newer than the newest known one, {}", standard->second,
                 kNewestOpset);
}

}  // namespace

std::map<std::string, const ::onnx::FunctionProto*> functions_of(const ::onnx::ModelProto& model) {
  Functions functions;
  for (const auto& function : model.functions())
    functions.emplace(function.domain() + ":" + function.name() + ":" + function.overload(),
                      &function);
  return functions;
}

std::map<std::string, int64_t> opsets_of(const ::onnx::ModelProto& model) {
  Opsets opsets;
  for (const auto& opset : model.opset_import())
    opsets[opset.domain() == "ai.onnx" ? std::string() : opset.domain()] = opset.version();
  opsets.emplace("", kNewestOpset);
  return opsets;
}

std::vector<ImportProblem> check_model(const ::onnx::ModelProto& model,
                                       const ImportOptions& options) {
  const auto one = [](ImportCode code, std::string message) {
    return std::vector<ImportProblem>{{code, -1, "", "", std::move(message), {}}};
  };
  if (!model.has_graph())
    return one(ImportCode::kInvalidGraph, "the model has no graph; is it an ONNX model?");
  // Every model since IR version 3 names its operator sets; one that does not was cut off before
  // its end.
  if (model.opset_import_size() == 0 && model.ir_version() >= 3)
    return one(ImportCode::kInvalidGraph, "the model names no opset; is the file truncated?");
  if (model.opset_import_size() > kMaxOpsetImports)
    return one(ImportCode::kUnsupportedGraph,
               fmt::format("the model imports {} operator sets; {} are the most",
                           model.opset_import_size(), kMaxOpsetImports));
  if (model.graph().output_size() == 0)
    return one(ImportCode::kInvalidGraph, "the graph has no outputs");
  Opsets opsets = opsets_of(model);
  warn_about_opsets(opsets, options.log);
  Checker checker(options, functions_of(model));
  checker.check_graph(model.graph(), opsets, 0);
  for (const auto& function : model.functions()) {
    Opsets inner = opsets;
    for (const auto& opset : function.opset_import())
      inner[opset.domain() == "ai.onnx" ? std::string() : opset.domain()] = opset.version();
    checker.set_function(cut(function.name()));
    checker.check_nodes(function.node(), inner, 1);
  }
  return checker.take();
}

}  // namespace tenon::importer
