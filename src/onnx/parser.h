#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "NvOnnxParser.h"
#include "network/network.h"
#include "onnx/importer.h"

namespace tenon::importer {

using namespace nvonnxparser;  // The surface's own names, in the class that implements it.

/// IParserError over one problem of an import.
class ParserError final : public IParserError {
 public:
  explicit ParserError(ImportProblem problem);
  ErrorCode code() const override { return static_cast<ErrorCode>(problem_.code); }
  const char* desc() const override { return text_.c_str(); }
  /// For problems of a tensor, its name.
  const char* file() const override;
  int line() const override { return 0; }
  const char* func() const override { return "import_model"; }
  int node() const override { return problem_.node_index; }
  const char* nodeName() const override { return problem_.node_name.c_str(); }
  const char* nodeOperator() const override { return problem_.op_type.c_str(); }
  const char* const* localFunctionStack() const override { return stack_.data(); }
  int32_t localFunctionStackSize() const override { return static_cast<int32_t>(stack_.size()); }

 private:
  ImportProblem problem_;
  std::string text_;
  std::vector<const char*> stack_;
};

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
  int getNbErrors() const noexcept override { return static_cast<int>(errors_.size()); }
  const IParserError* getError(int index) const noexcept override;
  void clearErrors() noexcept override { errors_.clear(); }
  const char* const* getUsedVCPluginLibraries(int64_t& count) const noexcept override;
  void setFlags(OnnxParserFlags flags) noexcept override { flags_ = flags; }
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
  ImportRequest request(const void* model, size_t size, const char* path) const;
  bool import_into_network(const ImportRequest& request);
  void report(const std::vector<ImportProblem>& problems);
  bool refuse(ImportCode code, std::string message);
  void log_metadata(const std::string& path, const ModelMetadata& metadata);

  network::Network& network_;
  nvinfer1::ILogger& logger_;
  OnnxParserFlags flags_ = 1U << static_cast<uint32_t>(OnnxParserFlag::kNATIVE_INSTANCENORM);
  std::vector<std::unique_ptr<ParserError>> errors_;
  std::map<std::string, std::vector<Value*>, std::less<>> node_outputs_;
  std::vector<std::vector<int64_t>> groups_;
  bool groups_supported_ = false;
  std::vector<std::byte> loaded_;
  std::string loaded_path_;
  std::map<std::string, Tensor, std::less<>> loaded_values_;
};

}  // namespace tenon::importer
