#pragma once

/// TensorRT 10.16 surface: reading ONNX models into networks.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "NvInfer.h"

namespace nvonnxparser {

enum class ErrorCode : int;
enum class OnnxParserFlag : int32_t;
class IParserError;
class IParser;
class IParserRefitter;

using OnnxParserFlags = uint32_t;
}  // namespace nvonnxparser

inline constexpr int32_t NV_ONNX_PARSER_VERSION{100};
using SubGraph_t = std::pair<std::vector<size_t>, bool>;
using SubGraphCollection_t = std::vector<SubGraph_t>;
namespace nvonnxparser {

/// Kinds of errors that an IErrorRecorder is told.
enum class ErrorCode : int {
  kSUCCESS = 0,
  kINTERNAL_ERROR = 1,
  kMEM_ALLOC_FAILED = 2,
  kMODEL_DESERIALIZE_FAILED = 3,
  kINVALID_VALUE = 4,
  kINVALID_GRAPH = 5,
  kINVALID_NODE = 6,
  kUNSUPPORTED_GRAPH = 7,
  kUNSUPPORTED_NODE = 8,
  kUNSUPPORTED_NODE_ATTR = 9,
  kUNSUPPORTED_NODE_INPUT = 10,
  kUNSUPPORTED_NODE_DATATYPE = 11,
  kUNSUPPORTED_NODE_DYNAMIC = 12,
  kUNSUPPORTED_NODE_SHAPE = 13,
  kREFIT_FAILED = 14,
};
template <typename T>
constexpr int32_t EnumMax() noexcept;
template <>
constexpr int32_t EnumMax<ErrorCode>() noexcept {
  return 15;
}

/// Switches of the parser.
enum class OnnxParserFlag : int32_t {
  kNATIVE_INSTANCENORM = 0,
  kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1,
  kREPORT_CAPABILITY_DLA = 2,
  kENABLE_PLUGIN_OVERRIDE = 3,
  kADJUST_FOR_DLA = 4,
};
template <>
constexpr int32_t EnumMax<OnnxParserFlag>() noexcept {
  return 5;
}

/// One problem that the parser met.
class IParserError {
 public:
  virtual ErrorCode code() const = 0;
  virtual const char* desc() const = 0;
  virtual const char* file() const = 0;
  virtual int line() const = 0;
  virtual const char* func() const = 0;
  virtual int node() const = 0;
  virtual const char* nodeName() const = 0;
  virtual const char* nodeOperator() const = 0;
  virtual const char* const* localFunctionStack() const = 0;
  virtual int32_t localFunctionStackSize() const = 0;
  virtual ~IParserError() noexcept = default;

 protected:
  IParserError() = default;
  IParserError(const IParserError&) = default;
  IParserError& operator=(const IParserError&) = default;
  IParserError(IParserError&&) = default;
  IParserError& operator=(IParserError&&) = default;
};

/// Reads ONNX models into a network.
class IParser {
 public:
  /// Reads a serialized model; false with errors in getError() when it could not be read or holds
  /// unsupported nodes.
  virtual bool parse(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                     const char* model_path = nullptr) noexcept = 0;
  /// Reads a model file; external weights are found beside it.
  virtual bool parseFromFile(const char* onnxModelFile, int verbosity) noexcept = 0;
  TRT_DEPRECATED virtual bool supportsModel(const void* serialized_onnx_model,
                                            size_t serialized_onnx_model_size,
                                            SubGraphCollection_t& sub_graph_collection,
                                            const char* model_path = nullptr) noexcept = 0;
  TRT_DEPRECATED virtual bool parseWithWeightDescriptors(
      const void* serialized_onnx_model, size_t serialized_onnx_model_size) noexcept = 0;
  virtual bool supportsOperator(const char* op_name) const noexcept = 0;
  virtual int getNbErrors() const noexcept = 0;
  virtual const IParserError* getError(int index) const noexcept = 0;
  virtual void clearErrors() noexcept = 0;
  virtual ~IParser() noexcept = default;
  virtual const char* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept = 0;
  virtual void setFlags(OnnxParserFlags onnxParserFlags) noexcept = 0;
  virtual OnnxParserFlags getFlags() const noexcept = 0;
  virtual void clearFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  virtual void setFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  virtual bool getFlag(OnnxParserFlag onnxParserFlag) const noexcept = 0;
  virtual const nvinfer1::ITensor* getLayerOutputTensor(const char* name, int64_t i) noexcept = 0;
  virtual bool supportsModelV2(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                               const char* modelPath = nullptr) noexcept = 0;
  virtual int64_t getNbSubgraphs() noexcept = 0;
  virtual bool isSubgraphSupported(const int64_t index) noexcept = 0;
  virtual int64_t* getSubgraphNodes(const int64_t index, int64_t& subgraphLength) noexcept = 0;
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  virtual bool parseModelProto() noexcept = 0;
  virtual bool setBuilderConfig(const nvinfer1::IBuilderConfig* const builderConfig) noexcept = 0;

 protected:
  IParser() = default;
  IParser(const IParser&) = default;
  IParser& operator=(const IParser&) = default;
  IParser(IParser&&) = default;
  IParser& operator=(IParser&&) = default;
};

/// Puts the weights of an ONNX model into an engine that was built to be refitted.
class IParserRefitter {
 public:
  virtual bool refitFromBytes(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool refitFromFile(const char* onnxModelFile) noexcept = 0;
  virtual int32_t getNbErrors() const noexcept = 0;
  virtual const IParserError* getError(int32_t index) const noexcept = 0;
  virtual void clearErrors() = 0;
  virtual ~IParserRefitter() noexcept = default;
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  virtual bool refitModelProto() noexcept = 0;

 protected:
  IParserRefitter() = default;
  IParserRefitter(const IParserRefitter&) = default;
  IParserRefitter& operator=(const IParserRefitter&) = default;
  IParserRefitter(IParserRefitter&&) = default;
  IParserRefitter& operator=(IParserRefitter&&) = default;
};

}  // namespace nvonnxparser

extern "C" {
TENSORRTAPI void* createNvOnnxParser_INTERNAL(void* network, void* logger, int version) noexcept;
TENSORRTAPI void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger,
                                                      int32_t version) noexcept;
TENSORRTAPI int getNvOnnxParserVersion() noexcept;
}

namespace nvonnxparser {
namespace {

/// A parser into the network, which must outlive it; null with an error logged when that fails.
inline IParser* createParser(nvinfer1::INetworkDefinition& network,
                             nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParser*>(
      createNvOnnxParser_INTERNAL(&network, &logger, NV_ONNX_PARSER_VERSION));
}

inline IParserRefitter* createParserRefitter(nvinfer1::IRefitter& refitter,
                                             nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParserRefitter*>(
      createNvOnnxParserRefitter_INTERNAL(&refitter, &logger, NV_ONNX_PARSER_VERSION));
}

}  // namespace
}  // namespace nvonnxparser
