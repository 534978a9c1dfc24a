#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx/importer.h"
#include "onnx/node_importer.h"
#include "onnx/tensor_reader.h"

namespace onnx {
class FunctionProto;
class GraphProto;
class NodeProto;
class TensorProto;
class SparseTensorProto;
}  // namespace onnx

namespace tenon::importer {

/// A sequence or an optional, which exist only while a model is imported: their elements are values
/// of the graph, and their lengths are known. A token, which is no value of any graph, stands for
/// one wherever names are bound to values.
struct ValueList {
  std::vector<Value*> items;
  bool present = true;  ///< False for an optional without an element.
};

using Opsets = std::map<std::string, int64_t>;

/// A name as messages show it, cut where it is very long.
std::string cut(const std::string& text);

/// Name of an element of a sequence that is a graph input or output.
std::string element_name(const std::string& list, size_t index);

/// State shared by all graphs of one model during its import.
struct ModelContext {
  const ImportOptions& options;
  TensorReader& tensors;
  std::map<std::string, const ::onnx::FunctionProto*> functions;  ///< By "domain:name:overload".
  std::vector<ImportProblem> problems;
  int64_t nodes_left = 0;
  int top_level_node = -1;
  std::vector<std::string> function_stack;
  std::map<std::string, std::vector<Value*>, std::less<>> node_outputs;
  bool reads_hints = false;  ///< The model was written by TensorRT.
  std::vector<LayerHint> hints;
  Graph tokens;
  std::unordered_map<const Value*, ValueList> lists;  ///< By token.

  Value* add_list(ValueList list);
  /// Null for values that are no tokens.
  const ValueList* list(const Value* value) const;
  const ::onnx::FunctionProto* find_function(const ::onnx::NodeProto& node) const;
  void report(ImportCode code, std::string node, std::string op_type, std::string message,
              CodePlace where = CodePlace::here());
};

/// A call of a local function: the values of its attribute references.
struct FunctionFrame {
  const ::onnx::FunctionProto* function = nullptr;
  const FunctionFrame* caller = nullptr;
  std::map<std::string, const ::onnx::AttributeProto*, std::less<>> attributes;
  Opsets opsets;
  std::string prefix;  ///< Of names of nodes and values inside.
  int depth = 0;
};

/// Names given to the nodes of one graph.
class NameTable {
 public:
  std::string unique(std::string name);

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, int> next_;
};

/// A nested graph after import, with its captures from outside.
struct ImportedBody {
  std::unique_ptr<Graph> graph;
  std::vector<std::string> capture_names;
  std::vector<Value*> captures;  ///< Values of the outer graph, in order of the body's last inputs.
};

/// Imports the nodes of one scope (a graph, or a function's body inlined in one) into an IR graph.
/// A node that fails is reported and its outputs are marked broken; nodes that depend on them are
/// skipped, everything else goes on, so that independent problems are all found.
class GraphImporter {
 public:
  /// A graph of its own; `outer` is the scope around a nested graph.
  GraphImporter(ModelContext& context, Graph& graph, const FunctionFrame& frame,
                GraphImporter* outer);
  /// The body of a function, inlined into the caller's graph.
  GraphImporter(GraphImporter& caller, const FunctionFrame& frame);

  ModelContext& context() { return context_; }
  Graph& graph() { return graph_; }
  const FunctionFrame& frame() const { return frame_; }
  FoldCache& folded() { return *folded_; }

  /// A null value marks the name as broken.
  void bind(const std::string& name, Value* value) { values_[name] = value; }
  /// The value of that name (null when broken), or nothing when there is none.
  std::optional<Value*> find(const std::string& name);
  /// Initializers become constants when something uses them.
  void declare_initializers(const ::onnx::GraphProto& graph);
  template <class Nodes> void import_nodes(const Nodes& nodes, bool top_level);
  /// Makes the named values outputs of the graph. False when one is broken or missing.
  bool set_outputs(const ::onnx::GraphProto& graph);

  /// A nested graph whose formal inputs have the given types; `captures` are taken in any case.
  std::optional<ImportedBody> import_body(const ::onnx::GraphProto& proto,
                                          const std::vector<TensorType>& inputs,
                                          const std::vector<std::string>& captures);
  /// A nested graph inlined here with its inputs bound to `inputs`; empty when it failed.
  std::vector<Value*> inline_body(const ::onnx::GraphProto& proto,
                                  const std::vector<Value*>& inputs);
  const std::unordered_map<std::string, Value*>& values() const { return values_; }

 private:
  struct Initializer {
    const ::onnx::TensorProto* dense = nullptr;
    const ::onnx::SparseTensorProto* sparse = nullptr;
  };

  bool add_output(Value* value, const std::string& name);
  void rename_input(Value& input);
  void import_node(const ::onnx::NodeProto& node);
  void import_unguarded(const ::onnx::NodeProto& node);
  bool spend_node(const ::onnx::NodeProto& node);
  std::optional<std::vector<Value*>> operands(const ::onnx::NodeProto& node);
  void import_function(const ::onnx::NodeProto& node, const ::onnx::FunctionProto& function,
                       const std::vector<Value*>& inputs);
  bool import_plugin(const ::onnx::NodeProto& node, const std::vector<Value*>& inputs);
  void import_operator(const ::onnx::NodeProto& node, const OpRow& row, std::vector<Value*> inputs);
  /// Binds the results of an import, or reports its error.
  void conclude(NodeImporter& importer);
  void finish(const ::onnx::NodeProto& node, const std::vector<Node*>& emitted,
              const std::vector<Value*>& results);
  void mark_broken(const ::onnx::NodeProto& node);
  void report(const ::onnx::NodeProto& node, ImportCode code, std::string message,
              CodePlace where = CodePlace::here());
  std::string display_name(const ::onnx::NodeProto& node) const;
  std::string scoped(const std::string& name) const;
  Value* capture(const std::string& name, Value* outer);
  Value* load(const std::string& name, const Initializer& initializer);

  ModelContext& context_;
  Graph& graph_;
  const FunctionFrame& frame_;
  GraphImporter* outer_;
  std::unique_ptr<NameTable> own_names_;
  std::unique_ptr<FoldCache> own_folded_;
  NameTable* names_;
  FoldCache* folded_;
  int depth_ = 0;
  std::unordered_map<std::string, Value*> values_;
  std::unordered_map<std::string, Initializer> initializers_;
  std::unordered_set<std::string> absent_;  ///< Inputs of a function that the call leaves out.
  std::vector<std::string> capture_names_;
  std::vector<Value*> captures_;
};

}  // namespace tenon::importer
