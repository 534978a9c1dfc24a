#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/code_place.h"
#include "base/log.h"
#include "base/status.h"
#include "ir/graph.h"

namespace onnx {
class ModelProto;
}

namespace tenon {

/// The kind of error, with the numeric values of nvonnxparser::ErrorCode.
enum class ImportCode {
  kSuccess = 0,
  kInternalError = 1,
  kMemAllocFailed = 2,
  kModelDeserializeFailed = 3,
  kInvalidValue = 4,
  kInvalidGraph = 5,
  kInvalidNode = 6,
  kUnsupportedGraph = 7,
  kUnsupportedNode = 8,
  kUnsupportedNodeAttr = 9,
  kUnsupportedNodeInput = 10,
  kUnsupportedNodeDatatype = 11,
  kUnsupportedNodeDynamic = 12,
  kUnsupportedNodeShape = 13,
  kRefitFailed = 14,
};
/// "UNSUPPORTED_NODE" and so on.
std::string_view name_of(ImportCode code);

/// One thing that keeps a model from being imported.
struct ImportProblem {
  ImportCode code = ImportCode::kInternalError;
  int node_index = -1;    ///< In the main graph (for inner nodes, of the node around); -1: none.
  std::string node_name;  ///< Or the tensor, where no node is at fault.
  std::string op_type;
  std::string message;                      ///< The error and advice.
  std::vector<std::string> function_stack;  ///< "node (function)", outermost first.
  CodePlace where = CodePlace::here();      ///< The place that found it.
};
/// "node 3 "conv1" (Conv): ..."
std::string to_string(const ImportProblem& problem);

namespace importer {
class NodeImporter;
}

struct ImportOptions {
  bool double_as_float = false;  ///< DOUBLE stands for f32 everywhere; weights are clamped.
  int max_depth = 24;            ///< Of graphs nested in graphs.
  int64_t max_nodes =
      0;  ///< After expansion of functions; 0: 100,000 plus one a byte of the model.
  /// Graph inputs (or initializers) given by the caller; such inputs become constants.
  std::map<std::string, Tensor, std::less<>> values;
  /// Types of the elements of inputs that are sequences, which become inputs "name[0]",
  /// "name[1]", ...; of one that is an optional, an empty list says that it has no element.
  std::map<std::string, std::vector<TensorType>, std::less<>> lists;
  /// Imports a node that a plugin answers for, failures included; false: none does.
  std::function<bool(importer::NodeImporter&)> plugin;
  /// Whether `plugin` may answer for an operator of this name.
  std::function<bool(std::string_view op_type)> has_plugin;
  /// Behind a message that no plugin answers for an operator: " (...)", or nothing.
  std::function<std::string(const std::string& op_type)> plugin_hint;
  bool plugins_first = false;  ///< Ask `plugin` before our own operators.
  Logger* log = nullptr;
};

/// Where the model is: in a file, or in memory with the directory its external data lies in.
struct ImportRequest {
  std::string path;
  std::span<const std::byte> bytes;  ///< Used when `path` is empty.
  /// In place of both where it is given. It may be larger than a message that protobuf writes; the
  /// graph shares its weights.
  std::shared_ptr<::onnx::ModelProto> model;
  std::string directory;  ///< Of external data; that of `path` when empty.
  ImportOptions options;
};

struct ModelMetadata {
  std::string producer_name, producer_version, domain, graph_name;
  int64_t ir_version = 0, model_version = 0;
  std::map<std::string, int64_t> opsets;  ///< By domain; "" is ai.onnx.
  std::map<std::string, std::string> properties;
};

/// How a network that TensorRT wrote as a file wants a layer computed and its outputs kept.
struct LayerHint {
  std::string node;
  std::vector<Value*> outputs;
  std::optional<DataType> precision;
  std::vector<double> least, greatest;  ///< Of the first outputs, the bounds of their numbers.
  std::vector<std::string> places;      ///< Of outputs: "device" or "host".
};

/// A model as network-level IR: valid, types and shapes inferred, nothing optimized.
struct ImportedModel {
  std::unique_ptr<Graph> graph;
  std::map<std::string, Value*, std::less<>> values;  ///< By ONNX name, main graph.
  /// Outputs by (ONNX name of the) node, main graph.
  std::map<std::string, std::vector<Value*>, std::less<>> node_outputs;
  std::vector<LayerHint> hints;  ///< Of the main graph's nodes, where the producer is TensorRT.
  ModelMetadata metadata;
};

/// Reads an ONNX model. On failure the error lists every problem found, and `problems`, if given,
/// receives them one by one.
Result<ImportedModel> import_model(const ImportRequest& request,
                                   std::vector<ImportProblem>* problems = nullptr);

/// Whether operators of this type are imported (in any opset).
bool supports_operator(std::string_view op_type);

}  // namespace tenon
