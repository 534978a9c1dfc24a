#pragma once

/// TensorRT 10.16 surface: the older plugin interfaces (IPluginV2 and its kin).

#include "NvInferPluginBase.h"

struct cudnnContext;
struct cublasContext;

namespace nvinfer1 {

enum class TensorFormat : int32_t;
struct PluginTensorDesc;
enum class PluginVersion : uint8_t;
enum class PluginCreatorVersion : int32_t;
class IPluginV2;
class IPluginV2Ext;
class IPluginV2IOExt;

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

class IPluginCreator;

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {
class IGpuAllocator;
}  // namespace v_1_0
}  // namespace nvinfer1
namespace nvinfer1 {
using IGpuAllocator = v_1_0::IGpuAllocator;
using IPluginCreator = v_1_0::IPluginCreator;
using PluginFormat = TensorFormat;
constexpr int32_t kPLUGIN_VERSION_PYTHON_BIT{0x40};
/// An operand with concrete extents.
struct PluginTensorDesc {
  Dims dims;
  DataType type;
  TensorFormat format;
  float scale;
};

/// Generation of an IPluginV2.
enum class PluginVersion : uint8_t {
  /// IPluginV2.
  kV2 TRT_DEPRECATED_ENUM = 0,
  /// IPluginV2Ext.
  kV2_EXT TRT_DEPRECATED_ENUM = 1,
  /// IPluginV2IOExt.
  kV2_IOEXT TRT_DEPRECATED_ENUM = 2,
  /// IPluginV2DynamicExt.
  kV2_DYNAMICEXT TRT_DEPRECATED_ENUM = 3,
  /// IPluginV2DynamicExt, implemented in Python.
  kV2_DYNAMICEXT_PYTHON TRT_DEPRECATED_ENUM = 67,
};
template <> constexpr int32_t EnumMax<PluginVersion>() noexcept {
  return 5;
}

/// Generation of a creator.
enum class PluginCreatorVersion : int32_t {
  /// IPluginCreator.
  kV1 TRT_DEPRECATED_ENUM = 0,
  /// IPluginCreator, implemented in Python.
  kV1_PYTHON TRT_DEPRECATED_ENUM = 64,
};
template <> constexpr int32_t EnumMax<PluginCreatorVersion>() noexcept {
  return 2;
}

/// Base of the second generation. Classes from IPluginV2Ext on can be added to networks.
class IPluginV2 {
 public:
  /// Returns the plugin's generation and the headers' version that it was compiled with. Each
  /// generation's class overrides it.
  virtual int32_t getTensorRTVersion() const noexcept { return NV_TENSORRT_VERSION; }
  /// Returns the plugin's name, equal to getPluginName() of its creator.
  virtual const AsciiChar* getPluginType() const noexcept = 0;
  /// Returns the plugin's version, such as "1": with name and namespace the key in the registry.
  /// The text must live as long as the object.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  /// Returns the number of outputs, at least 1.
  virtual int32_t getNbOutputs() const noexcept = 0;
  /// Returns an output's dimensions without the batch, from the inputs' dimensions without the
  /// batch. IPluginV2DynamicExt has a method of its own.
  virtual Dims getOutputDimensions(int32_t index, const Dims* inputs,
                                   int32_t nbInputDims) noexcept = 0;
  /// Returns whether all operands may have a type and format; all formats are asked for.
  /// IPluginV2IOExt and IPluginV2DynamicExt have methods of their own.
  virtual bool supportsFormat(DataType type, PluginFormat format) const noexcept = 0;
  /// Would tell the operands of a plain IPluginV2. Not called: such plugins cannot be added.
  virtual void configureWithFormat(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims,
                                   int32_t nbOutputs, DataType type, PluginFormat format,
                                   int32_t maxBatchSize) noexcept = 0;
  /// Gets ready to run; called once for each copy that runs, before enqueue(). Returns 0 on
  /// success; other values fail the engine.
  virtual int32_t initialize() noexcept = 0;
  /// Frees everything that initialize() acquired; called once before destroy().
  virtual void terminate() noexcept = 0;
  /// Returns the bytes of scratch memory that enqueue() needs for a batch.
  virtual size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept = 0;
  /// Computes a batch. On a GPU the addresses are device memory, and the work is put on `stream`
  /// without waiting for it; on a CPU they are host memory, `stream` is null, and the results are
  /// there on return. Returns 0 on success; other values fail the run.
  virtual int32_t enqueue(int32_t batchSize, const void* const* inputs, void* const* outputs,
                          void* workspace, cudaStream_t stream) noexcept = 0;
  /// Returns the bytes that serialize() writes.
  virtual size_t getSerializationSize() const noexcept = 0;
  /// Writes the plugin's settings, exactly getSerializationSize() bytes; the creator reads them in
  /// deserializePlugin().
  virtual void serialize(void* buffer) const noexcept = 0;
  /// Frees the object.
  virtual void destroy() noexcept = 0;
  /// Returns a copy with the same settings and namespace, which the library frees with destroy();
  /// null on failure.
  virtual IPluginV2* clone() const noexcept = 0;
  /// Sets the namespace that the object is registered in; the library calls it with the namespace
  /// of the registration. The text is valid during the call only.
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;
  /// Returns the namespace, "" where none was set. The text must live until the next
  /// setPluginNamespace().
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  virtual ~IPluginV2() noexcept = default;

 protected:
  IPluginV2() = default;
  IPluginV2(const IPluginV2&) = default;
  IPluginV2& operator=(const IPluginV2&) = default;
  IPluginV2(IPluginV2&&) = default;
  IPluginV2& operator=(IPluginV2&&) = default;
};

/// Second generation with output types. Dimensions are told without the batch, which is the first
/// axis of every operand; all other extents must be constant.
class IPluginV2Ext : public IPluginV2 {
 public:
  /// Returns the type of an output from the inputs' types, `index` from 0 to getNbOutputs() - 1.
  virtual DataType getOutputDataType(int32_t index, const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;
  /// Would say that an output is the same for each element of a batch. Not called: every output has
  /// the batch.
  TRT_DEPRECATED virtual bool isOutputBroadcastAcrossBatch(int32_t outputIndex,
                                                           const bool* inputIsBroadcasted,
                                                           int32_t nbInputs) const noexcept = 0;
  /// Would say that an input may be the same for each element of a batch. Not called: every input
  /// has the batch.
  TRT_DEPRECATED virtual bool canBroadcastInputAcrossBatch(int32_t inputIndex) const noexcept = 0;
  /// Tells the dimensions without the batch and the types of the operands, and the batch. Nothing
  /// is broadcast, and one format is that of all. Arrays are valid during the call only.
  virtual void configurePlugin(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims,
                               int32_t nbOutputs, const DataType* inputTypes,
                               const DataType* outputTypes, const bool* inputIsBroadcast,
                               const bool* outputIsBroadcast, PluginFormat floatFormat,
                               int32_t maxBatchSize) noexcept = 0;
  ~IPluginV2Ext() noexcept override = default;
  /// Offers handles of cuDNN and cuBLAS, and an allocator, before the first enqueue() of a context.
  /// This library passes null for all three. May be left as it is.
  virtual void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept {}
  /// Called when the context that attachToContext() was for is freed. May be left as it is.
  virtual void detachFromContext() noexcept {}
  /// Returns a copy with the same settings and namespace, which the library frees with destroy();
  /// null on failure.
  IPluginV2Ext* clone() const noexcept override = 0;

 protected:
  IPluginV2Ext() = default;
  IPluginV2Ext(const IPluginV2Ext&) = default;
  IPluginV2Ext& operator=(const IPluginV2Ext&) = default;
  IPluginV2Ext(IPluginV2Ext&&) = default;
  IPluginV2Ext& operator=(IPluginV2Ext&&) = default;
  int32_t getTensorRTVersion() const noexcept override {
    return (1 << 24) | (NV_TENSORRT_VERSION & 0xFFFFFF);
  }
  void configureWithFormat(const Dims*, int32_t, const Dims*, int32_t, DataType, PluginFormat,
                           int32_t) noexcept override {}
};

/// Second generation with a type for each operand. Dimensions are told without the batch, which is
/// the first axis of every operand; all other extents must be constant.
class IPluginV2IOExt : public IPluginV2Ext {
 public:
  /// Tells the operands, with dimensions without the batch. Arrays are valid during the call only.
  virtual void configurePlugin(const PluginTensorDesc* in, int32_t nbInput,
                               const PluginTensorDesc* out, int32_t nbOutput) noexcept = 0;
  /// Returns whether operand `pos` may have the type and format in `inOut[pos]`, given those in
  /// front of it, which are fixed. Inputs come first; dimensions are without the batch, and all
  /// formats are asked for.
  virtual bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) const noexcept = 0;
  ~IPluginV2IOExt() noexcept override = default;

 protected:
  IPluginV2IOExt() = default;
  IPluginV2IOExt(const IPluginV2IOExt&) = default;
  IPluginV2IOExt& operator=(const IPluginV2IOExt&) = default;
  IPluginV2IOExt(IPluginV2IOExt&&) = default;
  IPluginV2IOExt& operator=(IPluginV2IOExt&&) = default;
  int32_t getTensorRTVersion() const noexcept override {
    return (2 << 24) | (NV_TENSORRT_VERSION & 0xFFFFFF);
  }

 private:
  // Of implicit batches; nothing calls them.
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*,
                       const bool*, const bool*, PluginFormat, int32_t) noexcept final {}
  bool supportsFormat(DataType, PluginFormat) const noexcept final { return false; }
};

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Makes plugins of the second generation. Must outlive its registration.
class IPluginCreator : public v_1_0::IPluginCreatorInterface {
 public:
  /// Returns the plugin's name: with version and namespace the key in the registry. The text must
  /// live as long as the object.
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  /// Returns the plugin's version, such as "1": with name and namespace the key in the registry.
  /// The text must live as long as the object.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  /// Returns the names and types of the fields that createPlugin() reads. The parser looks up
  /// attributes of a node by them; data may be null. The collection belongs to the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;
  /// Makes a plugin from fields, named `name` in messages; null on failure. `fc` and its data are
  /// valid during the call only. The caller owns the plugin and frees it with destroy().
  virtual IPluginV2* createPlugin(const AsciiChar* name,
                                  const PluginFieldCollection* fc) noexcept = 0;
  /// Makes a plugin from the bytes that its serialize() wrote, when a plan is loaded; null on
  /// failure. The bytes are valid during the call only.
  virtual IPluginV2* deserializePlugin(const AsciiChar* name, const void* serialData,
                                       size_t serialLength) noexcept = 0;
  /// Sets the namespace that the object is registered in; the library calls it with the namespace
  /// of the registration. The text is valid during the call only.
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;
  /// Returns the namespace, "" where none was set. The text must live until the next
  /// setPluginNamespace().
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  ~IPluginCreator() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN CREATOR_V1", 1, 0};
  }

 protected:
  IPluginCreator() = default;
  IPluginCreator(const IPluginCreator&) = default;
  IPluginCreator& operator=(const IPluginCreator&) = default;
  IPluginCreator(IPluginCreator&&) = default;
  IPluginCreator& operator=(IPluginCreator&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1
