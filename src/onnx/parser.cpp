#include "onnx/parser.h"

#include <algorithm>

#include "base/guard.h"
#include "network/convert.h"
#include "onnx/layer_hints.h"
#include "onnx/model_file.h"
#include "onnx/node_importer.h"
#include "onnx/node_order.h"
#include "onnx/plugin_lookup.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

using nvonnxparser::EnumMax;

constexpr int32_t kFlagCount = EnumMax<OnnxParserFlag>();

bool is_known(OnnxParserFlag flag) {
  return static_cast<int32_t>(flag) >= 0 && static_cast<int32_t>(flag) < kFlagCount;
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

Parser::Parser(network::Network& network, nvinfer1::ILogger& logger)
    : network_(network), errors_(logger) {}

ImportRequest Parser::request(const void* model, size_t size, const char* path) const {
  ImportRequest request;
  if (model != nullptr) request.bytes = {static_cast<const std::byte*>(model), size};
  request.directory = folder_of(path);
  configure(request.options);
  return request;
}

void Parser::configure(ImportOptions& options) const {
  options.log = &network_.reporter();
  options.double_as_float = true;
  options.plugins_first = getFlag(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE);
  nvinfer1::IPluginRegistry& registry = network_.getBuilder().getPluginRegistry();
  options.plugin = [&registry](NodeImporter& node) { return import_plugin(node, registry); };
  options.plugin_hint = [](const std::string& name) { return plugin_hint(name); };
  options.has_plugin = [&registry](std::string_view name) { return has_creator(registry, name); };
}

/// Applications can bind types that the surface has a word for.
bool Parser::check_border(const Graph& graph) {
  auto check = [this](const Value& value, const char* role) {
    if (!network::to_public(value.type.type))
      return errors_.refuse(ImportCode::kUnsupportedNodeDatatype,
                            fmt::format("{} \"{}\" has type {}, which applications cannot bind; "
                                        "add a Cast in the model",
                                        role, value.name, name_of(value.type.type)));
    if (value.type.shape.size() > nvinfer1::Dims::MAX_DIMS)
      return errors_.refuse(
          ImportCode::kUnsupportedNodeShape,
          fmt::format("{} \"{}\" has {} axes; at most {} can be bound", role, value.name,
                      value.type.shape.size(), nvinfer1::Dims::MAX_DIMS));
    return true;
  };
  for (const Value* input : graph.inputs())
    if (!check(*input, "input")) return false;
  for (const Value* output : graph.outputs())
    if (!check(*output, "output")) return false;
  return true;
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
    return errors_.refuse(
        ImportCode::kInvalidValue,
        "the network is not empty (supportsModel() and supportsModelV2() fill it, "
        "too): parse into a new one");
  std::vector<ImportProblem> problems;
  return import_into_network(request, problems);
}

/// Problems are reported, too.
bool Parser::import_into_network(const ImportRequest& request,
                                 std::vector<ImportProblem>& problems) {
  Result<ImportedModel> model = import_model(request, &problems);
  errors_.report(problems);
  if (!model.ok()) return false;
  if (network_.getNbLayers() != 0) return true;
  log_metadata(request.path, model->metadata);
  if (!check_border(*model->graph)) return false;
  if (Status status = network_.adopt(std::move(model->graph)); !status.ok())
    return errors_.refuse(ImportCode::kInvalidValue, status.error().message);
  for (const LayerHint& hint : model->hints) apply_hint(hint, network_, network_.reporter());
  node_outputs_ = std::move(model->node_outputs);
  return true;
}

/// A model that does not fit in memory is a problem like others, without exception.
bool Parser::guarded(FunctionRef<bool()> f) noexcept {
  const Result<bool> done = tenon::guarded("parsing", [&]() -> Result<bool> { return f(); });
  if (done.ok()) return *done;
  const bool memory = done.error().kind == ErrorKind::kResource;
  return errors_.refuse(memory ? ImportCode::kMemAllocFailed : ImportCode::kInternalError,
                        done.error().message);
}

bool Parser::parse(const void* model, size_t size, const char* path) noexcept {
  return guarded([&] { return import_into_network(request(model, size, path)); });
}

bool Parser::parseFromFile(const char* path, int) noexcept {
  if (path == nullptr) return errors_.refuse(ImportCode::kInvalidValue, "the file name is null");
  return guarded([&] {
    ImportRequest from_file = request(nullptr, 0, nullptr);
    from_file.path = path;
    return import_into_network(from_file);
  });
}

bool Parser::parseWithWeightDescriptors(const void* model, size_t size) noexcept {
  return parse(model, size, nullptr);
}

bool Parser::supportsOperator(const char* name) const noexcept {
  return name != nullptr && supports_operator(name);
}

const char* const* Parser::getUsedVCPluginLibraries(int64_t& count) const noexcept {
  count = 0;
  return nullptr;
}

bool Parser::is_flag(const char* method, OnnxParserFlag flag) noexcept {
  return is_known(flag) ||
         errors_.refuse(ImportCode::kInvalidValue, fmt::format("{}({}): there is no such flag",
                                                               method, static_cast<int>(flag)));
}
void Parser::setFlags(OnnxParserFlags flags) noexcept {
  if (flags >> kFlagCount == 0)
    flags_ = flags;
  else
    errors_.refuse(ImportCode::kInvalidValue,
                   fmt::format("setFlags({:#x}): there are {} flags; they stay as they were", flags,
                               kFlagCount));
}
void Parser::clearFlag(OnnxParserFlag flag) noexcept {
  if (is_flag("clearFlag", flag)) flags_ &= ~bit(flag);
}
void Parser::setFlag(OnnxParserFlag flag) noexcept {
  if (is_flag("setFlag", flag)) flags_ |= bit(flag);
}
bool Parser::getFlag(OnnxParserFlag flag) const noexcept {
  return is_known(flag) && (flags_ & bit(flag)) != 0;
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
  return guarded([&] { return find_supported(request(model, size, path)); });
}

bool Parser::find_supported(const ImportRequest& from_memory) {
  std::vector<ImportProblem> problems;
  const bool imported = import_into_network(from_memory, problems);
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
  const Status status =
      tenon::guarded("loadModelProto", [&] { return loaded_.load(model, size, path); });
  return status.ok() || errors_.refuse(ImportCode::kModelDeserializeFailed, status.error().message);
}

bool Parser::loadInitializer(const char* name, const void* data, size_t size) noexcept {
  const Status status =
      tenon::guarded("loadInitializer", [&] { return loaded_.set(name, data, size); });
  return status.ok() || errors_.refuse(ImportCode::kInvalidValue, status.error().message);
}

bool Parser::parseModelProto() noexcept {
  return guarded([&] {
    ImportRequest request = loaded_.request();
    configure(request.options);
    return import_into_network(request);
  });
}

bool Parser::setBuilderConfig(const nvinfer1::IBuilderConfig* const config) noexcept {
  return config != nullptr ||
         errors_.refuse(ImportCode::kInvalidValue, "setBuilderConfig was given no configuration");
}

}  // namespace tenon::importer
