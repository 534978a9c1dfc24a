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

constexpr int32_t NV_ONNX_PARSER_VERSION{100};
using SubGraph_t = std::pair<std::vector<size_t>, bool>;
using SubGraphCollection_t = std::vector<SubGraph_t>;
namespace nvonnxparser {

/// Kinds of errors of the parser.
enum class ErrorCode : int {
  /// No error.
  kSUCCESS = 0,
  /// The library contradicts itself: please report it.
  kINTERNAL_ERROR = 1,
  /// Memory was not to be had.
  kMEM_ALLOC_FAILED = 2,
  /// The bytes are no ONNX model.
  kMODEL_DESERIALIZE_FAILED = 3,
  /// An attribute or tensor has an invalid value.
  kINVALID_VALUE = 4,
  /// The graph contradicts itself.
  kINVALID_GRAPH = 5,
  /// A node contradicts its operator.
  kINVALID_NODE = 6,
  /// The graph has a form that cannot be imported.
  kUNSUPPORTED_GRAPH = 7,
  /// The operator is not known, in this version or domain.
  kUNSUPPORTED_NODE = 8,
  /// An attribute of the node is not supported.
  kUNSUPPORTED_NODE_ATTR = 9,
  /// An input of the node is not supported.
  kUNSUPPORTED_NODE_INPUT = 10,
  /// An element type of the node is not supported.
  kUNSUPPORTED_NODE_DATATYPE = 11,
  /// The node needs extents that are not known.
  kUNSUPPORTED_NODE_DYNAMIC = 12,
  /// The shapes of the node are not supported.
  kUNSUPPORTED_NODE_SHAPE = 13,
  /// Weights do not fit the engine.
  kREFIT_FAILED = 14,
};
template <typename T> constexpr int32_t EnumMax() noexcept;
template <> constexpr int32_t EnumMax<ErrorCode>() noexcept {
  return 15;
}

/// Switches of the parser.
enum class OnnxParserFlag : int32_t {
  /// Instance normalization by the library's own layer.
  kNATIVE_INSTANCENORM = 0,
  /// UINT8 and zero points other than 0 for DLAs; both are imported in any case.
  kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1,
  /// supportsModelV2() asks for a DLA; there is none here.
  kREPORT_CAPABILITY_DLA = 2,
  /// Plugins come before operators of the same name.
  kENABLE_PLUGIN_OVERRIDE = 3,
  /// The network is changed to suit a DLA; there is none here.
  kADJUST_FOR_DLA = 4,
};
template <> constexpr int32_t EnumMax<OnnxParserFlag>() noexcept {
  return 5;
}

/// One problem that the parser met.
class IParserError {
 public:
  /// Returns the kind of error.
  virtual ErrorCode code() const = 0;
  /// Returns the message, which names the node or tensor and the reason.
  virtual const char* desc() const = 0;
  /// Returns the source file of the library that found the error, or "".
  virtual const char* file() const = 0;
  /// Returns the line in file(), or 0.
  virtual int line() const = 0;
  /// Returns the function that found the error, or "".
  virtual const char* func() const = 0;
  /// Returns the index of the node in the model, or -1 where the error belongs to none.
  virtual int node() const = 0;
  /// Returns the name of the node, or "".
  virtual const char* nodeName() const = 0;
  /// Returns the operator of the node, or "".
  virtual const char* nodeOperator() const = 0;
  /// Returns the names of the model's functions that the node stands in, outermost first.
  virtual const char* const* localFunctionStack() const = 0;
  /// Returns the number of names in localFunctionStack().
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
  /// Adds a serialized model to the network, which must be empty. `model_path` (may be null) tells
  /// the folder of external weights. The bytes may be freed when it returns. Returns false, with
  /// errors in getError(), where the model is damaged or holds unsupported nodes.
  virtual bool parse(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                     const char* model_path = nullptr) noexcept = 0;
  /// Adds a model file to the network, which must be empty; external weights are found beside it.
  /// `verbosity` is not read: the logger decides. Returns false, with errors in getError(), where
  /// the model is damaged or holds unsupported nodes.
  virtual bool parseFromFile(const char* onnxModelFile, int verbosity) noexcept = 0;
  /// Writes the groups of nodes that can be imported, and returns whether the whole model can. Use
  /// supportsModelV2().
  TRT_DEPRECATED virtual bool supportsModel(const void* serialized_onnx_model,
                                            size_t serialized_onnx_model_size,
                                            SubGraphCollection_t& sub_graph_collection,
                                            const char* model_path = nullptr) noexcept = 0;
  /// The same as parse() without a path.
  TRT_DEPRECATED virtual bool parseWithWeightDescriptors(
      const void* serialized_onnx_model, size_t serialized_onnx_model_size) noexcept = 0;
  /// Returns whether an ONNX operator of that name can be imported, in some version and with some
  /// attributes.
  virtual bool supportsOperator(const char* op_name) const noexcept = 0;
  /// Returns the number of errors since the last clearErrors().
  virtual int getNbErrors() const noexcept = 0;
  /// Returns an error by its index, which lives until clearErrors(), or null beyond the last.
  virtual const IParserError* getError(int index) const noexcept = 0;
  /// Drops all errors.
  virtual void clearErrors() noexcept = 0;
  virtual ~IParser() noexcept = default;
  /// Returns null and sets the number to 0: no plugin library is needed beside the plan.
  virtual const char* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept = 0;
  /// Sets all flags at once, a bit mask of OnnxParserFlag. Default: kNATIVE_INSTANCENORM.
  virtual void setFlags(OnnxParserFlags onnxParserFlags) noexcept = 0;
  /// Returns all flags at once, a bit mask of OnnxParserFlag. Default: kNATIVE_INSTANCENORM.
  virtual OnnxParserFlags getFlags() const noexcept = 0;
  /// Switches one flag off.
  virtual void clearFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  /// Switches one flag on.
  virtual void setFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  /// Returns whether a flag is on.
  virtual bool getFlag(OnnxParserFlag onnxParserFlag) const noexcept = 0;
  /// Returns output `i` of the node of that name in the model that was parsed, or null.
  virtual const nvinfer1::ITensor* getLayerOutputTensor(const char* name, int64_t i) noexcept = 0;
  /// Returns whether the whole model can be imported; getNbSubgraphs() and the others then tell its
  /// parts. A model that can be is in the network then, and needs no parse(). Since 10.1.
  virtual bool supportsModelV2(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                               const char* modelPath = nullptr) noexcept = 0;
  /// Returns the number of groups of nodes that supportsModelV2() found. Since 10.1.
  virtual int64_t getNbSubgraphs() noexcept = 0;
  /// Returns whether a group of supportsModelV2() is the whole model and can be imported. Since
  /// 10.1.
  virtual bool isSubgraphSupported(const int64_t index) noexcept = 0;
  /// Returns the indices of the nodes of a group in execution order, and their number; null beyond
  /// the last. They live until the next supportsModelV2(). Since 10.1.
  virtual int64_t* getSubgraphNodes(const int64_t index, int64_t& subgraphLength) noexcept = 0;
  /// Takes a serialized model without adding it, so that loadInitializer() can give its external
  /// weights. The bytes are copied. `modelPath` (may be null) tells the folder of external weights.
  /// Since 10.13.
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  /// Gives the bytes of an initializer of the loaded model, which are used in place of its own.
  /// They are not copied and must live until the model is parsed or refitted. Returns false for
  /// unknown names and for another size. Since 10.13.
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  /// Adds the loaded model to the network like parse(). Since 10.13.
  virtual bool parseModelProto() noexcept = 0;
  /// Takes the configuration that the network will be built with. Nothing in the parser depends on
  /// it. Returns false for null. Since 10.15.
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
  /// Hands the weights of a serialized model to the refitter, by name; IRefitter::refitCudaEngine()
  /// puts them into the engine. Returns false, with errors in getError(), where the model fits the
  /// engine in no weight or in a wrong way.
  virtual bool refitFromBytes(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  /// Hands the weights of a model file to the refitter, by name; external weights are found beside
  /// it. IRefitter::refitCudaEngine() puts them into the engine. Returns false, with errors in
  /// getError(), on failure.
  virtual bool refitFromFile(const char* onnxModelFile) noexcept = 0;
  /// Returns the number of errors since the last clearErrors().
  virtual int32_t getNbErrors() const noexcept = 0;
  /// Returns an error by its index, which lives until clearErrors(), or null beyond the last.
  virtual const IParserError* getError(int32_t index) const noexcept = 0;
  /// Drops all errors.
  virtual void clearErrors() = 0;
  virtual ~IParserRefitter() noexcept = default;
  /// Takes a serialized model without adding it, so that loadInitializer() can give its external
  /// weights. The bytes are copied. `modelPath` (may be null) tells the folder of external weights.
  /// Since 10.13.
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  /// Gives the bytes of an initializer of the loaded model, which are used in place of its own.
  /// They are not copied and must live until the model is parsed or refitted. Returns false for
  /// unknown names and for another size. Since 10.13.
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  /// Hands the weights of the loaded model to the refitter like refitFromBytes(). Since 10.13.
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
/// The symbol behind createParser().
TENSORRTAPI void* createNvOnnxParser_INTERNAL(void* network, void* logger, int version) noexcept;
/// The symbol behind createParserRefitter().
TENSORRTAPI void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger,
                                                      int32_t version) noexcept;
/// Returns the version of the parser as major * 10000 + minor * 100 + patch. Thread-safe.
TENSORRTAPI int getNvOnnxParserVersion() noexcept;
}

namespace nvonnxparser {
namespace {

/// Makes a parser that adds to the network, to be freed with delete. The network must be empty when
/// the model is parsed, and outlive the parser. Returns null, with an error logged, for a network
/// of another library.
inline IParser* createParser(nvinfer1::INetworkDefinition& network,
                             nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParser*>(
      createNvOnnxParser_INTERNAL(&network, &logger, NV_ONNX_PARSER_VERSION));
}

/// Makes an object that hands a model's weights to a refitter, to be freed with delete before the
/// refitter. Returns null where the refitter or the logger is null.
inline IParserRefitter* createParserRefitter(nvinfer1::IRefitter& refitter,
                                             nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParserRefitter*>(
      createNvOnnxParserRefitter_INTERNAL(&refitter, &logger, NV_ONNX_PARSER_VERSION));
}

}  // namespace
}  // namespace nvonnxparser
