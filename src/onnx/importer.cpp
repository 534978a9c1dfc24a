#include "onnx/importer.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/counted.h"
#include "base/guard.h"
#include "onnx/graph_importer.h"
#include "onnx/model_check.h"
#include "onnx/model_file.h"
#include "onnx/type_reader.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon {
namespace importer {
namespace {

using ::onnx::ModelProto;

/// Nodes that an import may make of functions, unrolled loops and the like, beyond one for each
/// byte of the model: a small file must not unfold into a graph that fills the memory.
constexpr int64_t kBaseNodes = 100'000;

struct ModelFile {
  std::shared_ptr<ModelProto> proto;
  std::string directory;
  int64_t bytes = 0;
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash + 1);
}

Result<ModelFile> read_model(const ImportRequest& request) {
  ModelFile file;
  file.directory = request.directory;
  if (request.model != nullptr) {
    file.proto = request.model;
    file.bytes = static_cast<int64_t>(file.proto->ByteSizeLong());
    return file;
  }
  if (request.path.empty()) {
    TENON_ASSIGN(file.proto, parse_model(request.bytes));
    file.bytes = static_cast<int64_t>(request.bytes.size());
    return file;
  }
  TENON_ASSIGN(MappedBytes bytes, map_file(request.path));
  auto proto = parse_model({bytes.data, bytes.size});
  if (!proto.ok()) return std::move(proto).error().with_context(request.path);
  file.proto = std::move(*proto);
  file.bytes = static_cast<int64_t>(bytes.size);
  if (file.directory.empty()) file.directory = folder_of(request.path);
  return file;
}

ModelMetadata metadata_of(const ModelProto& proto) {
  ModelMetadata result;
  result.producer_name = proto.producer_name();
  result.producer_version = proto.producer_version();
  result.domain = proto.domain();
  result.graph_name = proto.graph().name();
  result.ir_version = proto.ir_version();
  result.model_version = proto.model_version();
  for (const auto& opset : proto.opset_import())
    result.opsets[opset.domain() == "ai.onnx" ? std::string() : opset.domain()] = opset.version();
  for (const auto& entry : proto.metadata_props()) result.properties[entry.key()] = entry.value();
  return result;
}

/// An optional tensor is there unless the caller says that it is not.
Result<Value*> add_input(GraphImporter& importer, const ::onnx::ValueInfoProto& input) {
  ModelContext& context = importer.context();
  const auto given = context.options.lists.find(input.name());
  const bool is_given = given != context.options.lists.end();
  const ::onnx::TypeProto* type = &input.type();
  const bool is_optional = type->has_optional_type();
  if (is_optional) type = &type->optional_type().elem_type();
  if (is_optional && is_given && given->second.empty()) return context.add_list({{}, false});
  if (type->has_sequence_type() && is_given) {
    ValueList list;
    for (size_t i = 0; i < given->second.size(); ++i)
      list.items.push_back(
          importer.graph().add_input(element_name(input.name(), i), given->second[i]));
    return context.add_list(std::move(list));
  }
  TENON_ASSIGN(TensorType tensor, tensor_type_of(*type, input.name(), importer.graph()));
  if (context.options.double_as_float && tensor.type == DataType::kFloat64)
    tensor.type = DataType::kFloat32;
  return importer.graph().add_input(input.name(), std::move(tensor));
}

void add_inputs(GraphImporter& importer, const ::onnx::GraphProto& proto) {
  ModelContext& context = importer.context();
  std::unordered_set<std::string_view> weights;
  for (const auto& tensor : proto.initializer()) weights.insert(tensor.name());
  for (const auto& tensor : proto.sparse_initializer()) weights.insert(tensor.values().name());
  for (const auto& [name, tensor] : context.options.values) {
    Value* value = importer.graph().add_constant(tensor, name);
    value->producer()->name = name;
    importer.bind(name, value);
  }
  for (const auto& input : proto.input()) {
    if (weights.contains(input.name()) || context.options.values.contains(input.name())) continue;
    Result<Value*> value = add_input(importer, input);
    if (value.ok()) {
      importer.bind(input.name(), *value);
      continue;
    }
    const bool unsupported = value.error().kind == ErrorKind::kUnsupported;
    context.report(unsupported ? ImportCode::kUnsupportedGraph : ImportCode::kInvalidGraph,
                   cut(input.name()), "", value.error().message);
    importer.bind(input.name(), nullptr);
  }
}

const Value* output_named(const Graph& graph, const std::string& name) {
  for (const Value* output : graph.outputs())
    if (output->name == name) return output;
  return nullptr;
}

/// A declared output must not contradict the computed one.
void check_output_types(ModelContext& context, const Graph& graph,
                        const ::onnx::GraphProto& proto) {
  for (int i = 0; i < proto.output_size(); ++i) {
    const auto& type = proto.output(i).type();
    const std::optional<DataType> declared = data_type_of(type.tensor_type().elem_type());
    const Value* output = output_named(graph, proto.output(i).name());
    if (!output) continue;
    const DataType found = output->type.type;
    if (!type.has_tensor_type() || !declared || *declared == found) continue;
    if (context.options.double_as_float && *declared == DataType::kFloat64) continue;
    context.report(ImportCode::kInvalidGraph, cut(proto.output(i).name()), "",
                   fmt::format("output \"{}\" is declared as {}, but its node computes {}",
                               cut(proto.output(i).name()), name_of(*declared), name_of(found)));
  }
}

/// In the order of the nodes; a node that was reported keeps its first problem.
void merge_problems(std::vector<ImportProblem>& problems, std::vector<ImportProblem> more) {
  std::unordered_set<std::string> reported;
  for (const ImportProblem& problem : problems)
    reported.insert(fmt::format("{} {}", problem.node_index, problem.op_type));
  for (ImportProblem& problem : more)
    if (problem.node_index < 0 ||
        !reported.contains(fmt::format("{} {}", problem.node_index, problem.op_type)))
      problems.push_back(std::move(problem));
  std::stable_sort(problems.begin(), problems.end(),
                   [](const auto& a, const auto& b) { return a.node_index < b.node_index; });
}

/// An error without a message stands for `problems`, which its caller sums up.
Result<ImportedModel> import_file(const ModelFile& file, const ImportOptions& options,
                                  std::vector<ImportProblem>& problems) {
  const ModelProto& proto = *file.proto;
  problems = check_model(proto, options);
  // Unknown operators do not end the import, which finds other errors too.
  const bool sound = std::all_of(
      problems.begin(), problems.end(),
      [](const ImportProblem& problem) { return problem.code == ImportCode::kUnsupportedNode; });
  if (!sound) return user_error("");
  ExternalDataFolder folder(file.directory);
  TensorReader tensors(file.proto, folder, options.double_as_float);
  ModelContext context{options, tensors};
  context.nodes_left = options.max_nodes > 0 ? options.max_nodes : kBaseNodes + file.bytes;
  context.functions = functions_of(proto);
  context.reads_hints = proto.producer_name() == "TensorRT";
  FunctionFrame frame;
  frame.opsets = opsets_of(proto);

  ImportedModel model;
  model.metadata = metadata_of(proto);
  model.graph = std::make_unique<Graph>();
  model.graph->name = proto.graph().name();
  GraphImporter importer(context, *model.graph, frame, nullptr);
  add_inputs(importer, proto.graph());
  importer.declare_initializers(proto.graph());
  importer.import_nodes(proto.graph().node(), true);
  if (importer.set_outputs(proto.graph())) check_output_types(context, *model.graph, proto.graph());
  merge_problems(problems, std::move(context.problems));
  if (!problems.empty()) return user_error("");
  for (const auto& [name, value] : importer.values())
    if (value && !context.list(value)) model.values.emplace(name, value);
  for (auto& [name, values] : context.node_outputs)
    if (std::none_of(values.begin(), values.end(),
                     [&](auto* value) { return context.list(value); }))
      model.node_outputs.emplace(name, std::move(values));
  model.hints = std::move(context.hints);
  return model;
}

Error summary(const std::vector<ImportProblem>& problems) {
  constexpr size_t kShown = 50;
  std::string text =
      fmt::format("the model cannot be imported ({})", counted(problems.size(), "problem"));
  for (size_t i = 0; i < problems.size() && i < kShown; ++i)
    text += "\n  " + to_string(problems[i]);
  if (problems.size() > kShown) text += fmt::format("\n  and {} more", problems.size() - kShown);
  bool user = false;
  for (const ImportProblem& problem : problems)
    user = user || problem.code < ImportCode::kUnsupportedGraph;
  return {user ? ErrorKind::kUser : ErrorKind::kUnsupported, std::move(text)};
}

}  // namespace
}  // namespace importer

std::string_view name_of(ImportCode code) {
  constexpr std::string_view kNames[] = {"SUCCESS",
                                         "INTERNAL_ERROR",
                                         "MEM_ALLOC_FAILED",
                                         "MODEL_DESERIALIZE_FAILED",
                                         "INVALID_VALUE",
                                         "INVALID_GRAPH",
                                         "INVALID_NODE",
                                         "UNSUPPORTED_GRAPH",
                                         "UNSUPPORTED_NODE",
                                         "UNSUPPORTED_NODE_ATTR",
                                         "UNSUPPORTED_NODE_INPUT",
                                         "UNSUPPORTED_NODE_DATATYPE",
                                         "UNSUPPORTED_NODE_DYNAMIC",
                                         "UNSUPPORTED_NODE_SHAPE",
                                         "REFIT_FAILED"};
  return kNames[static_cast<int>(code)];
}

std::string to_string(const ImportProblem& problem) {
  std::string text = fmt::format("{}: ", name_of(problem.code));
  if (problem.node_index >= 0) text += fmt::format("node {} ", problem.node_index);
  if (!problem.node_name.empty()) text += fmt::format("\"{}\" ", problem.node_name);
  if (!problem.op_type.empty()) text += fmt::format("({}) ", problem.op_type);
  if (!problem.function_stack.empty())
    text += fmt::format("in {} ", fmt::join(problem.function_stack, " > "));
  if (text.back() == ' ' && text[text.size() - 2] != ':') text.back() = ':', text += ' ';
  return text + problem.message;
}

namespace {

/// " of 100 bytes", where that is known.
std::string size_of(const ImportRequest& request) {
  std::error_code unknown;
  const uint64_t bytes = request.path.empty() ? request.bytes.size()
                                              : std::filesystem::file_size(request.path, unknown);
  return unknown ? "" : fmt::format(" of {} bytes", bytes);
}

}  // namespace

Result<ImportedModel> import_model(const ImportRequest& request,
                                   std::vector<ImportProblem>* problems) {
  std::vector<ImportProblem> found;
  std::vector<ImportProblem>& list = problems ? *problems : found;
  list.clear();
  Result<importer::ModelFile> file = guarded(fmt::format("reading the model{}", size_of(request)),
                                             [&] { return importer::read_model(request); });
  if (!file.ok()) {
    list.push_back({ImportCode::kModelDeserializeFailed, -1, "", "", file.error().message, {}});
    return file.error();
  }
  Result<ImportedModel> model = guarded(
      "importing the model", [&] { return importer::import_file(*file, request.options, list); });
  if (model.ok()) return model;
  if (list.empty())
    list.push_back({ImportCode::kMemAllocFailed, -1, "", "", model.error().message, {}});
  return importer::summary(list);
}

}  // namespace tenon
