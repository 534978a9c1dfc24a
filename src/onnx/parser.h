#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "NvOnnxParser.h"
#include "base/function_ref.h"
#include "network/network.h"
#include "onnx/importer.h"
#include "onnx/loaded_model.h"
#include "onnx/parser_error.h"

namespace tenon::importer {

using namespace nvonnxparser;  // The surface's own names, in the class that implements it.

/// IParser: imports a model and hands its graph to the network.
class Parser final : public IParser {
 public:
  Parser(network::Network& network, nvinfer1::ILogger& logger);

  bool parse(const void* model, size_t size, const char* path) noexcept override;
  bool parseFromFile(const char* path, int verbosity) noexcept override;
  bool supportsModel(const void* model, size_t size, SubGraphCollection_t& groups,
                     const char* path) noexcept override;
  bool parseWithWeightDescriptors(const void* model, size_t size) noexcept override;
  bool supportsOperator(const char* name) const noexcept override;
  int getNbErrors() const noexcept override { return errors_.size(); }
  const IParserError* getError(int index) const noexcept override { return errors_.get(index); }
  void clearErrors() noexcept override { errors_.clear(); }
  const char* const* getUsedVCPluginLibraries(int64_t& count) const noexcept override;
  void setFlags(OnnxParserFlags flags) noexcept override;
  OnnxParserFlags getFlags() const noexcept override { return flags_; }
  void clearFlag(OnnxParserFlag flag) noexcept override;
  void setFlag(OnnxParserFlag flag) noexcept override;
  bool getFlag(OnnxParserFlag flag) const noexcept override;
  const nvinfer1::ITensor* getLayerOutputTensor(const char* name, int64_t i) noexcept override;
  bool supportsModelV2(const void* model, size_t size, const char* path) noexcept override;
  int64_t getNbSubgraphs() noexcept override { return static_cast<int64_t>(groups_.size()); }
  bool isSubgraphSupported(const int64_t index) noexcept override;
  int64_t* getSubgraphNodes(const int64_t index, int64_t& length) noexcept override;
  bool loadModelProto(const void* model, size_t size, const char* path) noexcept override;
  bool loadInitializer(const char* name, const void* data, size_t size) noexcept override;
  bool parseModelProto() noexcept override;
  bool setBuilderConfig(const nvinfer1::IBuilderConfig* const config) noexcept override;

 private:
  /// Reports flags that there are not.
  bool is_flag(const char* method, OnnxParserFlag flag) noexcept;
  bool guarded(FunctionRef<bool()> f) noexcept;
  bool find_supported(const ImportRequest& request);
  ImportRequest request(const void* model, size_t size, const char* path) const;
  void configure(ImportOptions& options) const;
  bool import_into_network(const ImportRequest& request);
  bool import_into_network(const ImportRequest& request, std::vector<ImportProblem>& problems);
  bool check_border(const Graph& graph);
  void log_metadata(const std::string& path, const ModelMetadata& metadata);

  network::Network& network_;
  OnnxParserFlags flags_ = 1U << static_cast<uint32_t>(OnnxParserFlag::kNATIVE_INSTANCENORM);
  ParserErrors errors_;
  std::map<std::string, std::vector<Value*>, std::less<>> node_outputs_;
  std::vector<std::vector<int64_t>> groups_;
  bool groups_supported_ = false;
  LoadedModel loaded_;
};

}  // namespace tenon::importer
