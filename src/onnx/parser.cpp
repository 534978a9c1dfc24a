#include "onnx/parser.h"

#include <algorithm>
#include <cstring>

#include "onnx/model_file.h"
#include "onnx/node_order.h"
#include "onnx/type_reader.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

std::string folder_of(const char* path) {
  const std::string text = path == nullptr ? "" : path;
  const size_t slash = text.rfind('/');
  return slash == std::string::npos ? std::string() : text.substr(0, slash + 1);
}

uint32_t bit(OnnxParserFlag flag) {
  return 1U << static_cast<uint32_t>(flag);
}

/// Runs of nodes in topological order between the ones that cannot be imported.
std::vector<std::vector<int64_t>> groups_without(const std::vector<int>& order,
                                                 const std::vector<ImportProblem>& problems) {
  std::vector<std::vector<int64_t>> groups(1);
  for (int index : order) {
    const bool bad = std::any_of(problems.begin(), problems.end(),
                                 [index](const ImportProblem& p) { return p.node_index == index; });
    if (!bad) groups.back().push_back(index);
    if (bad && !groups.back().empty()) groups.emplace_back();
  }
  if (groups.back().empty()) groups.pop_back();
  return groups;
}

}  // namespace

ParserError::ParserError(ImportProblem problem)
    : problem_(std::move(problem)), text_(to_string(problem_)) {
  for (const std::string& entry : problem_.function_stack) stack_.push_back(entry.c_str());
}

const char* ParserError::file() const {
  return problem_.node_index < 0 ? problem_.node_name.c_str() : "";
}

Parser::Parser(network::Network& network, nvinfer1::ILogger& logger)
    : network_(network), logger_(logger) {}

ImportRequest Parser::request(const void* model, size_t size, const char* path) const {
  ImportRequest request;
  if (model != nullptr) request.bytes = {static_cast<const std::byte*>(model), size};
  request.directory = folder_of(path);
  request.options.log = &network_.reporter();
  return request;
}

void Parser::report(const std::vector<ImportProblem>& problems) {
  for (const ImportProblem& problem : problems) {
    errors_.push_back(std::make_unique<ParserError>(problem));
    logger_.log(nvinfer1::ILogger::Severity::kERROR, errors_.back()->desc());
  }
}

bool Parser::refuse(ImportCode code, std::string message) {
  report({{code, -1, "", "", std::move(message), {}}});
  return false;
}

void Parser::log_metadata(const std::string& path, const ModelMetadata& metadata) {
  network::Reporter& log = network_.reporter();
  const auto opset = metadata.opsets.find("");
  const std::string line(64, '-');
  log.info("{}", line);
  if (!path.empty()) log.info("Input filename:   {}", path);
  log.info("ONNX IR version:  0.0.{}", metadata.ir_version);
  log.info("Opset version:    {}", opset == metadata.opsets.end() ? 0 : opset->second);
  log.info("Producer name:    {}", metadata.producer_name);
  log.info("Producer version: {}", metadata.producer_version);
  log.info("Domain:           {}", metadata.domain);
  log.info("Model version:    {}", metadata.model_version);
  log.info("{}", line);
}

bool Parser::import_into_network(const ImportRequest& request) {
  if (network_.getNbLayers() != 0)
    return refuse(ImportCode::kInvalidValue, "the network is not empty: parse into a new one");
  std::vector<ImportProblem> problems;
  Result<ImportedModel> model = import_model(request, &problems);
  if (!model.ok()) {
    report(problems);
    return false;
  }
  log_metadata(request.path, model->metadata);
  if (Status status = network_.adopt(std::move(model->graph)); !status.ok())
    return refuse(ImportCode::kInvalidValue, status.error().message);
  node_outputs_ = std::move(model->node_outputs);
  return true;
}

bool Parser::parse(const void* model, size_t size, const char* path) noexcept {
  return import_into_network(request(model, size, path));
}

bool Parser::parseFromFile(const char* path, int) noexcept {
  if (path == nullptr) return refuse(ImportCode::kInvalidValue, "the file name is null");
  ImportRequest from_file = request(nullptr, 0, nullptr);
  from_file.path = path;
  return import_into_network(from_file);
}

bool Parser::parseWithWeightDescriptors(const void*, size_t) noexcept {
  return refuse(ImportCode::kUnsupportedGraph,
                "weight descriptors are not read; use loadModelProto and loadInitializer");
}

bool Parser::supportsOperator(const char* name) const noexcept {
  return name != nullptr && supports_operator(name);
}

const IParserError* Parser::getError(int index) const noexcept {
  return index < 0 || index >= getNbErrors() ? nullptr : errors_[static_cast<size_t>(index)].get();
}

const char* const* Parser::getUsedVCPluginLibraries(int64_t& count) const noexcept {
  count = 0;
  return nullptr;
}

void Parser::clearFlag(OnnxParserFlag flag) noexcept {
  flags_ &= ~bit(flag);
}
void Parser::setFlag(OnnxParserFlag flag) noexcept {
  flags_ |= bit(flag);
}
bool Parser::getFlag(OnnxParserFlag flag) const noexcept {
  return (flags_ & bit(flag)) != 0;
}

const nvinfer1::ITensor* Parser::getLayerOutputTensor(const char* name, int64_t i) noexcept {
  const auto found = name == nullptr ? node_outputs_.end() : node_outputs_.find(name);
  if (found == node_outputs_.end() || i < 0 || i >= static_cast<int64_t>(found->second.size()))
    return nullptr;
  Value* value = found->second[static_cast<size_t>(i)];
  return value == nullptr ? nullptr : network_.handle(value);
}

bool Parser::supportsModelV2(const void* model, size_t size, const char* path) noexcept {
  groups_.clear();
  groups_supported_ = false;
  std::vector<ImportProblem> problems;
  const ImportRequest from_memory = request(model, size, path);
  const bool imported = import_model(from_memory, &problems).ok();
  report(problems);
  auto proto = parse_model(from_memory.bytes);
  if (!proto.ok()) return false;
  Result<std::vector<int>> order = node_order((*proto)->graph().node());
  if (!order.ok()) return false;
  groups_ = groups_without(*order, problems);
  groups_supported_ = imported && groups_.size() == 1;
  return groups_supported_;
}

bool Parser::supportsModel(const void* model, size_t size, SubGraphCollection_t& groups,
                           const char* path) noexcept {
  const bool supported = supportsModelV2(model, size, path);
  for (const std::vector<int64_t>& group : groups_)
    groups.emplace_back(std::vector<size_t>(group.begin(), group.end()), groups_supported_);
  return supported;
}

bool Parser::isSubgraphSupported(const int64_t index) noexcept {
  return index >= 0 && index < getNbSubgraphs() && groups_supported_;
}

int64_t* Parser::getSubgraphNodes(const int64_t index, int64_t& length) noexcept {
  if (index < 0 || index >= getNbSubgraphs()) return nullptr;
  std::vector<int64_t>& group = groups_[static_cast<size_t>(index)];
  length = static_cast<int64_t>(group.size());
  return group.data();
}

bool Parser::loadModelProto(const void* model, size_t size, const char* path) noexcept {
  const ImportRequest from_memory = request(model, size, path);
  if (auto proto = parse_model(from_memory.bytes); !proto.ok())
    return refuse(ImportCode::kModelDeserializeFailed, proto.error().message);
  loaded_.assign(from_memory.bytes.begin(), from_memory.bytes.end());
  loaded_path_ = path == nullptr ? "" : path;
  loaded_values_.clear();
  return true;
}

/// The type and extents are the model's, the bytes the caller's; they are copied.
bool Parser::loadInitializer(const char* name, const void* data, size_t size) noexcept {
  auto proto = parse_model(loaded_);
  if (!proto.ok() || name == nullptr || data == nullptr)
    return refuse(ImportCode::kInvalidValue,
                  "loadInitializer needs a loaded model, a name and data");
  for (const auto& tensor : (*proto)->graph().initializer()) {
    if (tensor.name() != name) continue;
    const std::optional<DataType> type = data_type_of(tensor.data_type());
    Extents extents(tensor.dims().begin(), tensor.dims().end());
    if (!type || !std::all_of(extents.begin(), extents.end(), [](int64_t n) { return n >= 0; }))
      return refuse(ImportCode::kInvalidValue,
                    fmt::format("initializer \"{}\" has no valid type", name));
    // Compared before allocating, so that absurd extents cannot ask for absurd memory.
    double bytes = byte_size(*type);
    for (int64_t extent : extents) bytes *= static_cast<double>(extent);
    if (bytes != static_cast<double>(size))
      return refuse(
          ImportCode::kInvalidValue,
          fmt::format("initializer \"{}\" takes {} bytes, but {} were given", name, bytes, size));
    Tensor value(*type, std::move(extents));
    if (size > 0) std::memcpy(value.mutable_bytes(), data, size);
    loaded_values_[name] = std::move(value);
    return true;
  }
  return refuse(ImportCode::kInvalidValue,
                fmt::format("the model has no initializer \"{}\"", name));
}

bool Parser::parseModelProto() noexcept {
  ImportRequest from_memory = request(loaded_.data(), loaded_.size(), loaded_path_.c_str());
  from_memory.options.values = loaded_values_;
  return import_into_network(from_memory);
}

bool Parser::setBuilderConfig(const nvinfer1::IBuilderConfig* const config) noexcept {
  return config != nullptr;
}

}  // namespace tenon::importer
