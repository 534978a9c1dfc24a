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

namespace nvinfer1::v_1_0 {

class IPluginCreator;

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {}  // namespace nvinfer1
namespace nvinfer1::v_1_0 {
class IGpuAllocator;
}
namespace nvinfer1 {
using IGpuAllocator = v_1_0::IGpuAllocator;
using IPluginCreator = v_1_0::IPluginCreator;
using PluginFormat = TensorFormat;
inline constexpr int32_t kPLUGIN_VERSION_PYTHON_BIT{0x40};
/// An operand with concrete extents.
struct PluginTensorDesc {
  Dims dims;
  DataType type;
  TensorFormat format;
  float scale;
};

/// Generation of an IPluginV2.
enum class PluginVersion : uint8_t {
  kV2 TRT_DEPRECATED_ENUM = 0,
  kV2_EXT TRT_DEPRECATED_ENUM = 1,
  kV2_IOEXT TRT_DEPRECATED_ENUM = 2,
  kV2_DYNAMICEXT TRT_DEPRECATED_ENUM = 3,
  kV2_DYNAMICEXT_PYTHON TRT_DEPRECATED_ENUM = 67,
};
template <>
constexpr int32_t EnumMax<PluginVersion>() noexcept {
  return 5;
}

/// Generation of a creator.
enum class PluginCreatorVersion : int32_t {
  kV1 TRT_DEPRECATED_ENUM = 0,
  kV1_PYTHON TRT_DEPRECATED_ENUM = 64,
};
template <>
constexpr int32_t EnumMax<PluginCreatorVersion>() noexcept {
  return 2;
}

/// Base of the second generation. Only IPluginV2DynamicExt can be added: the others have implicit
/// batches.
class IPluginV2 {
 public:
  virtual int32_t getTensorRTVersion() const noexcept { return NV_TENSORRT_VERSION; }
  virtual const AsciiChar* getPluginType() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual Dims getOutputDimensions(int32_t index, const Dims* inputs,
                                   int32_t nbInputDims) noexcept = 0;
  virtual bool supportsFormat(DataType type, PluginFormat format) const noexcept = 0;
  virtual void configureWithFormat(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims,
                                   int32_t nbOutputs, DataType type, PluginFormat format,
                                   int32_t maxBatchSize) noexcept = 0;
  virtual int32_t initialize() noexcept = 0;
  virtual void terminate() noexcept = 0;
  virtual size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept = 0;
  virtual int32_t enqueue(int32_t batchSize, const void* const* inputs, void* const* outputs,
                          void* workspace, cudaStream_t stream) noexcept = 0;
  virtual size_t getSerializationSize() const noexcept = 0;
  virtual void serialize(void* buffer) const noexcept = 0;
  virtual void destroy() noexcept = 0;
  virtual IPluginV2* clone() const noexcept = 0;
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  virtual ~IPluginV2() noexcept = default;

 protected:
  IPluginV2() = default;
  IPluginV2(const IPluginV2&) = default;
  IPluginV2& operator=(const IPluginV2&) = default;
  IPluginV2(IPluginV2&&) = default;
  IPluginV2& operator=(IPluginV2&&) = default;
};

/// Second generation with output types.
class IPluginV2Ext : public IPluginV2 {
 public:
  virtual DataType getOutputDataType(int32_t index, const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;
  TRT_DEPRECATED virtual bool isOutputBroadcastAcrossBatch(int32_t outputIndex,
                                                           const bool* inputIsBroadcasted,
                                                           int32_t nbInputs) const noexcept = 0;
  TRT_DEPRECATED virtual bool canBroadcastInputAcrossBatch(int32_t inputIndex) const noexcept = 0;
  virtual void configurePlugin(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims,
                               int32_t nbOutputs, const DataType* inputTypes,
                               const DataType* outputTypes, const bool* inputIsBroadcast,
                               const bool* outputIsBroadcast, PluginFormat floatFormat,
                               int32_t maxBatchSize) noexcept = 0;
  ~IPluginV2Ext() noexcept override = default;
  virtual void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept {}
  virtual void detachFromContext() noexcept {}
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

/// Second generation with a type for each operand.
class IPluginV2IOExt : public IPluginV2Ext {
 public:
  virtual void configurePlugin(const PluginTensorDesc* in, int32_t nbInput,
                               const PluginTensorDesc* out, int32_t nbOutput) noexcept = 0;
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

namespace nvinfer1::v_1_0 {

/// Makes plugins of the second generation. Must outlive its registration.
class IPluginCreator : public v_1_0::IPluginCreatorInterface {
 public:
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;
  virtual IPluginV2* createPlugin(const AsciiChar* name,
                                  const PluginFieldCollection* fc) noexcept = 0;
  virtual IPluginV2* deserializePlugin(const AsciiChar* name, const void* serialData,
                                       size_t serialLength) noexcept = 0;
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  ~IPluginCreator() noexcept override = default;
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

}  // namespace nvinfer1::v_1_0
