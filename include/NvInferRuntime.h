#pragma once

/// TensorRT 10.16 surface: running plans: runtime, engine, execution context, and what an
/// application implements for them.

#include "NvInferLegacyDims.h"
#include "NvInferRuntimeCommon.h"
#include "impl/NvInferTables.h"

// Default implementations of deprecated methods call each other.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace nvinfer1 {

class INoCopy;
enum class EngineCapability : int32_t;
struct Weights;
class IHostMemory;
enum class DimensionOperation : int32_t;
enum class TensorLocation : int32_t;
class IDimensionExpr;
class IExprBuilder;
struct DimsExprs;
struct DynamicPluginTensorDesc;
class IPluginV2DynamicExt;
enum class SeekPosition : int32_t;
class IPluginResourceContext;
enum class WeightsRole : int32_t;
enum class DeviceType : int32_t;
enum class TempfileControlFlag : int32_t;
enum class TensorFormat : int32_t;
enum class AllocatorFlag : int32_t;
class ILogger;
class IRuntime;
class IRefitter;
enum class OptProfileSelector : int32_t;
class IOptimizationProfile;
enum class TacticSource : int32_t;
enum class ProfilingVerbosity : int32_t;
enum class SerializationFlag : int32_t;
class ISerializationConfig;
enum class ExecutionContextAllocationStrategy : int32_t;
class IRuntimeConfig;
enum class EngineStat : int32_t;
class ICudaEngine;
class IExecutionContext;
enum class LayerInformationFormat : int32_t;
class IEngineInspector;
class ILoggerFinder;

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

class IStreamReader;
class IStreamWriter;
class IStreamReaderV2;
class IPluginV3OneCore;
class IPluginV3OneBuild;
class IPluginV3OneRuntime;
class IProfiler;
class IGpuAllocator;
class IOutputAllocator;
class IDebugListener;
class IGpuAsyncAllocator;
class IPluginCreatorV3One;

}  // namespace nvinfer1::v_1_0

namespace nvinfer1::v_2_0 {

class IPluginV3OneBuild;

}  // namespace nvinfer1::v_2_0

namespace nvinfer1 {

using IStreamReader = v_1_0::IStreamReader;
using IStreamWriter = v_1_0::IStreamWriter;
using IStreamReaderV2 = v_1_0::IStreamReaderV2;
using IPluginV3OneCore = v_1_0::IPluginV3OneCore;
using IPluginV3OneBuild = v_1_0::IPluginV3OneBuild;
using IPluginV3OneRuntime = v_1_0::IPluginV3OneRuntime;
using IPluginV3OneBuildV2 = v_2_0::IPluginV3OneBuild;
using IProfiler = v_1_0::IProfiler;
using IOutputAllocator = v_1_0::IOutputAllocator;
using IDebugListener = v_1_0::IDebugListener;
using IGpuAsyncAllocator = v_1_0::IGpuAsyncAllocator;
using IPluginCreatorV3One = v_1_0::IPluginCreatorV3One;
using TempfileControlFlags = uint32_t;
using AllocatorFlags = uint32_t;
using TacticSources = uint32_t;
using SerializationFlags = uint32_t;
enum class HardwareCompatibilityLevel : int32_t;
/// Base of the objects that the library makes: neither copied nor moved, freed with delete.
class INoCopy {
 public:
  virtual ~INoCopy() = default;

 protected:
  INoCopy() = default;
  INoCopy(const INoCopy&) = delete;
  INoCopy& operator=(const INoCopy&) = delete;
  INoCopy(INoCopy&&) = delete;
  INoCopy& operator=(INoCopy&&) = delete;
};

/// Which runtime an engine is for. Only kSTANDARD is built.
enum class EngineCapability : int32_t {
  kSTANDARD = 0,
  kSAFETY = 1,
  kDLA_STANDALONE = 2,
};
template <>
constexpr int32_t EnumMax<EngineCapability>() noexcept {
  return 3;
}

/// Values that the application owns until the network is built.
struct Weights {
  DataType type;
  const void* values;
  int64_t count;
};

/// Bytes that the library made, freed with the object.
class IHostMemory : public INoCopy {
 public:
  void* data() const noexcept;
  std::size_t size() const noexcept;
  DataType type() const noexcept;

 protected:
  apiv::VHostMemory* mImpl{nullptr};
};

/// Arithmetic of extents.
enum class DimensionOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kEQUAL = 5,
  kLESS = 6,
  kFLOOR_DIV = 7,
  kCEIL_DIV = 8,
};
template <>
constexpr int32_t EnumMax<DimensionOperation>() noexcept {
  return 9;
}

/// Where a tensor's memory is.
enum class TensorLocation : int32_t {
  kDEVICE = 0,
  kHOST = 1,
};
template <>
constexpr int32_t EnumMax<TensorLocation>() noexcept {
  return 2;
}

/// An extent of a plugin's output, as an expression of its inputs'.
class IDimensionExpr : public INoCopy {
 public:
  bool isConstant() const noexcept;
  int64_t getConstantValue() const noexcept;
  bool isSizeTensor() const noexcept;

 protected:
  apiv::VDimensionExpr* mImpl{nullptr};
};

/// Makes expressions; it owns them. Size tensors are not supported.
class IExprBuilder : public INoCopy {
 public:
  const IDimensionExpr* constant(int64_t value) noexcept;
  const IDimensionExpr* operation(DimensionOperation op, const IDimensionExpr& first,
                                  const IDimensionExpr& second) noexcept;
  const IDimensionExpr* declareSizeTensor(int32_t outputIndex, const IDimensionExpr& opt,
                                          const IDimensionExpr& upper);

 protected:
  apiv::VExprBuilder* mImpl{nullptr};
};

/// A shape of expressions.
struct DimsExprs {
  int32_t nbDims;
  const IDimensionExpr* d[8];
};

/// An operand with the range of its extents.
struct DynamicPluginTensorDesc {
  PluginTensorDesc desc;
  Dims min;
  Dims max;
  Dims opt;
};

/// A plugin of the second generation for dynamic shapes. enqueue() on a CPU gets host memory and no
/// stream.
class IPluginV2DynamicExt : public IPluginV2Ext {
 public:
  static constexpr int32_t kFORMAT_COMBINATION_LIMIT{100};
  IPluginV2DynamicExt* clone() const noexcept override = 0;
  virtual DimsExprs getOutputDimensions(int32_t outputIndex, const DimsExprs* inputs,
                                        int32_t nbInputs, IExprBuilder& exprBuilder) noexcept = 0;
  virtual bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) noexcept = 0;
  virtual void configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                               const DynamicPluginTensorDesc* out, int32_t nbOutputs) noexcept = 0;
  virtual size_t getWorkspaceSize(const PluginTensorDesc* inputs, int32_t nbInputs,
                                  const PluginTensorDesc* outputs,
                                  int32_t nbOutputs) const noexcept = 0;
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;
  ~IPluginV2DynamicExt() noexcept override = default;

 protected:
  IPluginV2DynamicExt() = default;
  IPluginV2DynamicExt(const IPluginV2DynamicExt&) = default;
  IPluginV2DynamicExt& operator=(const IPluginV2DynamicExt&) = default;
  IPluginV2DynamicExt(IPluginV2DynamicExt&&) = default;
  IPluginV2DynamicExt& operator=(IPluginV2DynamicExt&&) = default;
  int32_t getTensorRTVersion() const noexcept override {
    return (3 << 24) | (NV_TENSORRT_VERSION & 0xFFFFFF);
  }

 private:
  // Of implicit batches; nothing calls them.
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*,
                       const bool*, const bool*, PluginFormat, int32_t) noexcept final {}
  bool supportsFormat(DataType, PluginFormat) const noexcept final { return false; }
  Dims getOutputDimensions(int32_t, const Dims*, int32_t) noexcept final { return Dims{-1, {}}; }
  bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept final {
    return false;
  }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept final { return false; }
  size_t getWorkspaceSize(int32_t) const noexcept final { return 0; }
  int32_t enqueue(int32_t, const void* const*, void* const*, void*, cudaStream_t) noexcept final {
    return 1;
  }
};

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

/// Source of a plan's bytes.
class IStreamReader : public IVersionedInterface {
 public:
  ~IStreamReader() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IStreamReader", 1, 0};
  }
  virtual int64_t read(void* destination, int64_t nbBytes) = 0;

 protected:
  IStreamReader() = default;
  IStreamReader(const IStreamReader&) = default;
  IStreamReader& operator=(const IStreamReader&) = default;
  IStreamReader(IStreamReader&&) = default;
  IStreamReader& operator=(IStreamReader&&) = default;
};

/// Receives a plan's bytes.
class IStreamWriter : public IVersionedInterface {
 public:
  ~IStreamWriter() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IStreamWriter", 1, 0};
  }
  virtual int64_t write(const void* data, int64_t nbBytes) = 0;

 protected:
  IStreamWriter() = default;
  IStreamWriter(const IStreamWriter&) = default;
  IStreamWriter& operator=(const IStreamWriter&) = default;
  IStreamWriter(IStreamWriter&&) = default;
  IStreamWriter& operator=(IStreamWriter&&) = default;
};

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {

/// What a stream's offset counts from.
enum class SeekPosition : int32_t {
  kSET = 0,
  kCUR = 1,
  kEND = 2,
};
template <>
constexpr int32_t EnumMax<SeekPosition>() noexcept {
  return 3;
}

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

/// Source of a plan's bytes with seeking.
class IStreamReaderV2 : public IVersionedInterface {
 public:
  ~IStreamReaderV2() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IStreamReaderV2", 1, 0};
  }
  virtual int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept = 0;
  virtual bool seek(int64_t offset, SeekPosition where) noexcept = 0;

 protected:
  IStreamReaderV2() = default;
  IStreamReaderV2(const IStreamReaderV2&) = default;
  IStreamReaderV2& operator=(const IStreamReaderV2&) = default;
  IStreamReaderV2(IStreamReaderV2&&) = default;
  IStreamReaderV2& operator=(IStreamReaderV2&&) = default;
};

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {

/// What a plugin may use of a context.
class IPluginResourceContext {
 public:
  virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual ~IPluginResourceContext() noexcept = default;

 protected:
  IPluginResourceContext() = default;
  IPluginResourceContext(const IPluginResourceContext&) = default;
  IPluginResourceContext& operator=(const IPluginResourceContext&) = default;
  IPluginResourceContext(IPluginResourceContext&&) = default;
  IPluginResourceContext& operator=(IPluginResourceContext&&) = default;
};

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

/// Name, version and namespace of a plugin.
class IPluginV3OneCore : public v_1_0::IPluginCapability {
 public:
  ~IPluginV3OneCore() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_CORE", 1, 0};
  }
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;

 protected:
  IPluginV3OneCore() = default;
  IPluginV3OneCore(const IPluginV3OneCore&) = default;
  IPluginV3OneCore& operator=(const IPluginV3OneCore&) = default;
  IPluginV3OneCore(IPluginV3OneCore&&) = default;
  IPluginV3OneCore& operator=(IPluginV3OneCore&&) = default;
};

class IPluginV3OneBuild : public v_1_0::IPluginCapability {
 public:
  static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT{100};
  ~IPluginV3OneBuild() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 1, 0};
  }
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* out,
                                  int32_t nbOutputs) noexcept = 0;
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs,
                                     const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs,
                                  const DimsExprs* shapeInputs, int32_t nbShapeInputs,
                                  DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;
  virtual bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual size_t getWorkspaceSize(const DynamicPluginTensorDesc* /*inputs*/, int32_t /*nbInputs*/,
                                  const DynamicPluginTensorDesc* /*outputs*/,
                                  int32_t /*nbOutputs*/) const noexcept {
    return 0;
  }
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept {
    return 0;
  }
  virtual int32_t getNbTactics() noexcept { return 0; }
  virtual const char* getTimingCacheID() noexcept { return nullptr; }
  virtual int32_t getFormatCombinationLimit() noexcept { return kDEFAULT_FORMAT_COMBINATION_LIMIT; }
  virtual const char* getMetadataString() noexcept { return nullptr; }

 protected:
  IPluginV3OneBuild() = default;
  IPluginV3OneBuild(const IPluginV3OneBuild&) = default;
  IPluginV3OneBuild& operator=(const IPluginV3OneBuild&) = default;
  IPluginV3OneBuild(IPluginV3OneBuild&&) = default;
  IPluginV3OneBuild& operator=(IPluginV3OneBuild&&) = default;
};

/// What runs: enqueue() is called by one thread at a time for each object, on a CPU with host
/// memory and no stream; it returns 0, or the run fails.
class IPluginV3OneRuntime : public v_1_0::IPluginCapability {
 public:
  ~IPluginV3OneRuntime() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_RUNTIME", 1, 0};
  }
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
  virtual int32_t onShapeChange(const PluginTensorDesc* in, int32_t nbInputs,
                                const PluginTensorDesc* out, int32_t nbOutputs) noexcept = 0;
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;
  virtual v_1_0::IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;

 protected:
  IPluginV3OneRuntime() = default;
  IPluginV3OneRuntime(const IPluginV3OneRuntime&) = default;
  IPluginV3OneRuntime& operator=(const IPluginV3OneRuntime&) = default;
  IPluginV3OneRuntime(IPluginV3OneRuntime&&) = default;
  IPluginV3OneRuntime& operator=(IPluginV3OneRuntime&&) = default;
};

}  // namespace nvinfer1::v_1_0

namespace nvinfer1::v_2_0 {

class IPluginV3OneBuild : public v_1_0::IPluginV3OneBuild {
 public:
  ~IPluginV3OneBuild() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 2, 0};
  }
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }

 protected:
  IPluginV3OneBuild() = default;
  IPluginV3OneBuild(const IPluginV3OneBuild&) = default;
  IPluginV3OneBuild& operator=(const IPluginV3OneBuild&) = default;
  IPluginV3OneBuild(IPluginV3OneBuild&&) = default;
  IPluginV3OneBuild& operator=(IPluginV3OneBuild&&) = default;
};

}  // namespace nvinfer1::v_2_0

namespace nvinfer1::v_1_0 {

/// Is told the time of every layer after an inference.
class IProfiler {
 public:
  /// Called once a layer, in execution order; `ms` is in milliseconds.
  virtual void reportLayerTime(const char* layerName, float ms) noexcept = 0;
  virtual ~IProfiler() noexcept = default;

 protected:
  IProfiler() = default;
  IProfiler(const IProfiler&) = default;
  IProfiler& operator=(const IProfiler&) = default;
  IProfiler(IProfiler&&) = default;
  IProfiler& operator=(IProfiler&&) = default;
};

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {

/// What weights are for a layer.
enum class WeightsRole : int32_t {
  kKERNEL = 0,
  kBIAS = 1,
  kSHIFT = 2,
  kSCALE = 3,
  kCONSTANT = 4,
  kANY = 5,
};
template <>
constexpr int32_t EnumMax<WeightsRole>() noexcept {
  return 6;
}

/// What a layer runs on.
enum class DeviceType : int32_t {
  kGPU = 0,
  kDLA = 1,
  kCPU = 2,  ///< Of this library: the processor.
};
template <>
constexpr int32_t EnumMax<DeviceType>() noexcept {
  return 2;
}

/// What the runtime may do about files.
enum class TempfileControlFlag : int32_t {
  kALLOW_IN_MEMORY_FILES = 0,
  kALLOW_TEMPORARY_FILES = 1,
};
template <>
constexpr int32_t EnumMax<TempfileControlFlag>() noexcept {
  return 2;
}

/// Order and packing of elements in memory. Inputs and outputs of plans are linear.
enum class TensorFormat : int32_t {
  kLINEAR = 0,
  kCHW2 = 1,
  kHWC8 = 2,
  kCHW4 = 3,
  kCHW16 = 4,
  kCHW32 = 5,
  kDHWC8 = 6,
  kCDHW32 = 7,
  kHWC = 8,
  kDLA_LINEAR = 9,
  kDLA_HWC4 = 10,
  kHWC16 = 11,
  kDHWC = 12,
};
template <>
constexpr int32_t EnumMax<TensorFormat>() noexcept {
  return 13;
}

/// Properties of an allocation.
enum class AllocatorFlag : int32_t {
  kRESIZABLE = 0,
};
template <>
constexpr int32_t EnumMax<AllocatorFlag>() noexcept {
  return 1;
}

/// Receives messages. Must be thread-safe and outlive every object made with it.
class ILogger {
 public:
  enum class Severity : int32_t {
    kINTERNAL_ERROR = 0,
    kERROR = 1,
    kWARNING = 2,
    kINFO = 3,
    kVERBOSE = 4,
  };
  /// Called for each message of that severity; `msg` is valid during the call only.
  virtual void log(ILogger::Severity severity, const AsciiChar* msg) noexcept = 0;
  virtual ~ILogger() noexcept = default;

 protected:
  ILogger() = default;
  ILogger(const ILogger&) = default;
  ILogger& operator=(const ILogger&) = default;
  ILogger(ILogger&&) = default;
  ILogger& operator=(ILogger&&) = default;
};

template <>
constexpr int32_t EnumMax<ILogger::Severity>() noexcept {
  return 5;
}

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

/// Device memory for the library. Must be thread-safe.
class IGpuAllocator : public IVersionedInterface {
 public:
  TRT_DEPRECATED virtual void* allocate(const uint64_t size, const uint64_t alignment,
                                        const AllocatorFlags flags) noexcept = 0;
  ~IGpuAllocator() noexcept override = default;
  virtual void* reallocate(void* const, uint64_t, uint64_t) noexcept { return nullptr; }
  TRT_DEPRECATED virtual bool deallocate(void* const memory) noexcept = 0;
  virtual void* allocateAsync(const uint64_t size, const uint64_t alignment,
                              const AllocatorFlags flags, cudaStream_t) noexcept {
    return allocate(size, alignment, flags);
  }
  virtual bool deallocateAsync(void* const memory, cudaStream_t) noexcept {
    return deallocate(memory);
  }
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IGpuAllocator", 1, 0};
  }

 protected:
  IGpuAllocator() = default;
  IGpuAllocator(const IGpuAllocator&) = default;
  IGpuAllocator& operator=(const IGpuAllocator&) = default;
  IGpuAllocator(IGpuAllocator&&) = default;
  IGpuAllocator& operator=(IGpuAllocator&&) = default;
};

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {

/// Loads plans. Thread-safe.
class IRuntime : public INoCopy {
 public:
  void setDLACore(int32_t dlaCore) noexcept;
  int32_t getDLACore() const noexcept;
  int32_t getNbDLACores() const noexcept;
  void setGpuAllocator(IGpuAllocator* allocator) noexcept;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  IErrorRecorder* getErrorRecorder() const noexcept;
  /// The engine of a plan, or null with an error logged when the plan is damaged or made for
  /// another device or version.
  ICudaEngine* deserializeCudaEngine(const void* blob, std::size_t size) noexcept;
  /// The engine of a plan, or null with an error logged when the plan is damaged or made for
  /// another device or version.
  TRT_DEPRECATED ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader);
  /// The engine of a plan, or null with an error logged when the plan is damaged or made for
  /// another device or version.
  ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader);
  ILogger* getLogger() const noexcept;
  bool setMaxThreads(int32_t maxThreads) noexcept;
  int32_t getMaxThreads() const noexcept;
  void setTemporaryDirectory(const char* path) noexcept;
  const char* getTemporaryDirectory() const noexcept;
  void setTempfileControlFlags(TempfileControlFlags flags) noexcept;
  TempfileControlFlags getTempfileControlFlags() const noexcept;
  IPluginRegistry& getPluginRegistry() noexcept;
  IRuntime* loadRuntime(const char* path) noexcept;
  void setEngineHostCodeAllowed(bool allowed) noexcept;
  bool getEngineHostCodeAllowed() const noexcept;

 protected:
  apiv::VRuntime* mImpl{nullptr};
};

/// Replaces weights of an engine.
class IRefitter : public INoCopy {
 public:
  bool setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept;
  /// Optimizes the network again with the weights set; contexts must be idle. The engine is
  /// unchanged after an error.
  bool refitCudaEngine() noexcept;
  int32_t getMissing(int32_t size, const char** layerNames, WeightsRole* roles) noexcept;
  int32_t getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept;
  TRT_DEPRECATED bool setDynamicRange(const char* tensorName, float min, float max) noexcept;
  TRT_DEPRECATED float getDynamicRangeMin(const char* tensorName) const noexcept;
  TRT_DEPRECATED float getDynamicRangeMax(const char* tensorName) const noexcept;
  TRT_DEPRECATED int32_t getTensorsWithDynamicRange(int32_t size,
                                                    const char** tensorNames) const noexcept;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  IErrorRecorder* getErrorRecorder() const noexcept;
  bool setNamedWeights(const char* name, Weights weights) noexcept;
  /// Returns how many there are, and writes at most `size` names, which live as long as the
  /// refitter.
  int32_t getMissingWeights(int32_t size, const char** weightsNames) noexcept;
  int32_t getAllWeights(int32_t size, const char** weightsNames) noexcept;
  ILogger* getLogger() const noexcept;
  bool setMaxThreads(int32_t maxThreads) noexcept;
  int32_t getMaxThreads() const noexcept;
  bool setNamedWeights(const char* name, Weights weights, TensorLocation location) noexcept;
  Weights getNamedWeights(const char* weightsName) const noexcept;
  TensorLocation getWeightsLocation(const char* weightsName) const noexcept;
  bool unsetNamedWeights(const char* weightsName) noexcept;
  void setWeightsValidation(bool weightsValidation) noexcept;
  bool getWeightsValidation() const noexcept;
  /// Optimizes the network again with the weights set; contexts must be idle. The engine is
  /// unchanged after an error.
  bool refitCudaEngineAsync(cudaStream_t stream) noexcept;
  /// Type and count that setNamedWeights wants; count -1 for unknown names.
  Weights getWeightsPrototype(const char* weightsName) const noexcept;

 protected:
  apiv::VRefitter* mImpl{nullptr};
};

/// Which of a profile's shapes is meant.
enum class OptProfileSelector : int32_t {
  kMIN = 0,
  kOPT = 1,
  kMAX = 2,
};
template <>
constexpr int32_t EnumMax<OptProfileSelector>() noexcept {
  return 3;
}

/// Ranges of the extents of dynamic inputs.
class IOptimizationProfile : public INoCopy {
 public:
  bool setDimensions(const char* inputName, OptProfileSelector select, const Dims& dims) noexcept;
  Dims getDimensions(const char* inputName, OptProfileSelector select) const noexcept;
  TRT_DEPRECATED bool setShapeValues(const char* inputName, OptProfileSelector select,
                                     const int32_t* values, int32_t nbValues) noexcept;
  int32_t getNbShapeValues(const char* inputName) const noexcept;
  TRT_DEPRECATED const int32_t* getShapeValues(const char* inputName,
                                               OptProfileSelector select) const noexcept;
  bool setExtraMemoryTarget(float target) noexcept;
  float getExtraMemoryTarget() const noexcept;
  bool isValid() const noexcept;
  bool setShapeValuesV2(const char* inputName, OptProfileSelector select, const int64_t* values,
                        int32_t nbValues) noexcept;
  const int64_t* getShapeValuesV2(const char* inputName, OptProfileSelector select) const noexcept;

 protected:
  apiv::VOptimizationProfile* mImpl{nullptr};
};

/// Libraries that tactics come from.
enum class TacticSource : int32_t {
  kCUBLAS TRT_DEPRECATED_ENUM = 0,
  kCUBLAS_LT TRT_DEPRECATED_ENUM = 1,
  kCUDNN TRT_DEPRECATED_ENUM = 2,
  kEDGE_MASK_CONVOLUTIONS = 3,
  kJIT_CONVOLUTIONS = 4,
};
template <>
constexpr int32_t EnumMax<TacticSource>() noexcept {
  return 5;
}

/// How much of its layers a plan tells.
enum class ProfilingVerbosity : int32_t {
  kLAYER_NAMES_ONLY = 0,
  kNONE = 1,
  kDETAILED = 2,
};
template <>
constexpr int32_t EnumMax<ProfilingVerbosity>() noexcept {
  return 3;
}

/// What is left out of, or put into, a written plan.
enum class SerializationFlag : int32_t {
  kEXCLUDE_WEIGHTS = 0,
  kEXCLUDE_LEAN_RUNTIME = 1,
  kINCLUDE_REFIT = 2,
};
template <>
constexpr int32_t EnumMax<SerializationFlag>() noexcept {
  return 3;
}

/// How an engine is written.
class ISerializationConfig : public INoCopy {
 public:
  bool setFlags(SerializationFlags serializationFlags) noexcept;
  SerializationFlags getFlags() const noexcept;
  bool clearFlag(SerializationFlag serializationFlag) noexcept;
  bool setFlag(SerializationFlag serializationFlag) noexcept;
  bool getFlag(SerializationFlag serializationFlag) const noexcept;

 protected:
  apiv::VSerializationConfig* mImpl{nullptr};
};

/// Who gives a context its memory. With kUSER_MANAGED runs fail until setDeviceMemoryV2.
enum class ExecutionContextAllocationStrategy : int32_t {
  kSTATIC = 0,
  kON_PROFILE_CHANGE = 1,
  kUSER_MANAGED = 2,
};
template <>
constexpr int32_t EnumMax<ExecutionContextAllocationStrategy>() noexcept {
  return 3;
}

/// How contexts are made.
class IRuntimeConfig : public INoCopy {
 public:
  void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy strategy) noexcept;
  ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept;

 protected:
  apiv::VRuntimeConfig* mImpl{nullptr};
};

/// Figures of an engine, in bytes.
enum class EngineStat : int32_t {
  kTOTAL_WEIGHTS_SIZE = 0,
  kSTRIPPED_WEIGHTS_SIZE = 1,
};
template <>
constexpr int32_t EnumMax<EngineStat>() noexcept {
  return 2;
}

/// A loaded plan. Thread-safe except for setters.
class ICudaEngine : public INoCopy {
 public:
  Dims getTensorShape(const char* tensorName) const noexcept;
  DataType getTensorDataType(const char* tensorName) const noexcept;
  int32_t getNbLayers() const noexcept;
  /// The plan's bytes.
  IHostMemory* serialize() const noexcept;
  /// A context with its own memory, or null with an error logged.
  IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy =
          ExecutionContextAllocationStrategy::kSTATIC) noexcept;
  TensorLocation getTensorLocation(const char* tensorName) const noexcept;
  bool isShapeInferenceIO(const char* tensorName) const noexcept;
  TensorIOMode getTensorIOMode(const char* tensorName) const noexcept;
  const char* getAliasedInputTensor(const char* tensorName) const noexcept;
  TRT_DEPRECATED IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept;
  /// A context with its own memory, or null with an error logged.
  IExecutionContext* createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept;
  IRuntimeConfig* createRuntimeConfig() noexcept;
  TRT_DEPRECATED size_t getDeviceMemorySize() const noexcept;
  TRT_DEPRECATED size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept;
  int64_t getDeviceMemorySizeV2() const noexcept;
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept;
  bool isRefittable() const noexcept;
  int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept;
  int32_t getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept;
  int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept;
  int32_t getTensorComponentsPerElement(const char* tensorName,
                                        int32_t profileIndex) const noexcept;
  TensorFormat getTensorFormat(const char* tensorName) const noexcept;
  TensorFormat getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept;
  const char* getTensorFormatDesc(const char* tensorName) const noexcept;
  const char* getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept;
  int32_t getTensorVectorizedDim(const char* tensorName) const noexcept;
  int32_t getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept;
  const char* getName() const noexcept;
  int32_t getNbOptimizationProfiles() const noexcept;
  Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                       OptProfileSelector select) const noexcept;
  TRT_DEPRECATED const int32_t* getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                                       OptProfileSelector select) const noexcept;
  EngineCapability getEngineCapability() const noexcept;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  IErrorRecorder* getErrorRecorder() const noexcept;
  TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept;
  TacticSources getTacticSources() const noexcept;
  ProfilingVerbosity getProfilingVerbosity() const noexcept;
  IEngineInspector* createEngineInspector() const noexcept;
  int32_t getNbIOTensors() const noexcept;
  const char* getIOTensorName(int32_t index) const noexcept;
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept;
  int32_t getNbAuxStreams() const noexcept;
  ISerializationConfig* createSerializationConfig() noexcept;
  IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept;
  TRT_DEPRECATED bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept;
  TRT_DEPRECATED int64_t getWeightStreamingBudget() const noexcept;
  TRT_DEPRECATED int64_t getMinimumWeightStreamingBudget() const noexcept;
  int64_t getStreamableWeightsSize() const noexcept;
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept;
  int64_t getWeightStreamingBudgetV2() const noexcept;
  int64_t getWeightStreamingAutomaticBudget() const noexcept;
  int64_t getWeightStreamingScratchMemorySize() const noexcept;
  bool isDebugTensor(const char* name) const noexcept;
  const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                          OptProfileSelector select) const noexcept;
  int64_t getEngineStat(EngineStat stat) const noexcept;

 protected:
  apiv::VCudaEngine* mImpl{nullptr};
};

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

/// Memory for outputs whose extents are known only during a run.
class IOutputAllocator : public IVersionedInterface {
 public:
  ~IOutputAllocator() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IOutputAllocator", 1, 0};
  }
  TRT_DEPRECATED virtual void* reallocateOutput(const char* /*tensorName*/, void* /*currentMemory*/,
                                                uint64_t /*size*/,
                                                uint64_t /*alignment*/) noexcept {
    return nullptr;
  }
  virtual void* reallocateOutputAsync(const char* tensorName, void* currentMemory, uint64_t size,
                                      uint64_t alignment, cudaStream_t) {
    return reallocateOutput(tensorName, currentMemory, size, alignment);
  }
  virtual void notifyShape(const char* tensorName, const Dims& dims) noexcept = 0;

 protected:
  IOutputAllocator() = default;
  IOutputAllocator(const IOutputAllocator&) = default;
  IOutputAllocator& operator=(const IOutputAllocator&) = default;
  IOutputAllocator(IOutputAllocator&&) = default;
  IOutputAllocator& operator=(IOutputAllocator&&) = default;
};

/// Is shown tensors that were marked as debug tensors.
class IDebugListener : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IDebugListener", 1, 0};
  }
  virtual bool processDebugTensor(const void* addr, TensorLocation location, DataType type,
                                  const Dims& shape, const char* name, cudaStream_t stream) = 0;
  ~IDebugListener() noexcept override = default;

 protected:
  IDebugListener() = default;
  IDebugListener(const IDebugListener&) = default;
  IDebugListener& operator=(const IDebugListener&) = default;
  IDebugListener(IDebugListener&&) = default;
  IDebugListener& operator=(IDebugListener&&) = default;
};

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {

/// One thread's use of an engine: shapes, addresses, activation memory. Contexts are independent;
/// one is not to be used from two threads at a time.
class IExecutionContext : public INoCopy {
 public:
  void setDebugSync(bool sync) noexcept;
  bool getDebugSync() const noexcept;
  void setProfiler(IProfiler* profiler) noexcept;
  IProfiler* getProfiler() const noexcept;
  const ICudaEngine& getEngine() const noexcept;
  void setName(const char* name) noexcept;
  const char* getName() const noexcept;
  void setDeviceMemory(void* memory) noexcept;
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept;
  Dims getTensorStrides(const char* tensorName) const noexcept;
  int32_t getOptimizationProfile() const noexcept;
  /// Sets the extents of an input; false when they lie outside the current profile.
  bool setInputShape(const char* tensorName, const Dims& dims) noexcept;
  Dims getTensorShape(const char* tensorName) const noexcept;
  bool allInputDimensionsSpecified() const noexcept;
  TRT_DEPRECATED bool allInputShapesSpecified() const noexcept;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  IErrorRecorder* getErrorRecorder() const noexcept;
  /// Runs the network synchronously; `bindings` in the order of the engine's tensors.
  bool executeV2(void* const* bindings) noexcept;
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept;
  void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept;
  bool getEnqueueEmitsProfile() const noexcept;
  bool reportToProfiler() const noexcept;
  /// Address of an input or output: device memory on a GPU, host memory on a CPU.
  bool setTensorAddress(const char* tensorName, void* data) noexcept;
  const void* getTensorAddress(const char* tensorName) const noexcept;
  bool setOutputTensorAddress(const char* tensorName, void* data) noexcept;
  bool setInputTensorAddress(const char* tensorName, const void* data) noexcept;
  void* getOutputTensorAddress(const char* tensorName) const noexcept;
  int32_t inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept;
  size_t updateDeviceMemorySizeForShapes() noexcept;
  bool setInputConsumedEvent(cudaEvent_t event) noexcept;
  cudaEvent_t getInputConsumedEvent() const noexcept;
  bool setOutputAllocator(const char* tensorName, IOutputAllocator* outputAllocator) noexcept;
  IOutputAllocator* getOutputAllocator(const char* tensorName) const noexcept;
  int64_t getMaxOutputSize(const char* tensorName) const noexcept;
  bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept;
  IGpuAllocator* getTemporaryStorageAllocator() const noexcept;
  /// Runs the network on `stream`. On a CPU the stream is ignored and the results are there on
  /// return.
  bool enqueueV3(cudaStream_t stream) noexcept;
  void setPersistentCacheLimit(size_t size) noexcept;
  size_t getPersistentCacheLimit() const noexcept;
  bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept;
  ProfilingVerbosity getNvtxVerbosity() const noexcept;
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept;
  bool setDebugListener(IDebugListener* listener) noexcept;
  IDebugListener* getDebugListener() noexcept;
  bool setTensorDebugState(const char* name, bool flag) noexcept;
  bool getDebugState(const char* name) const noexcept;
  IRuntimeConfig* getRuntimeConfig() const noexcept;
  bool setAllTensorsDebugState(bool flag) noexcept;
  bool setUnfusedTensorsDebugState(bool flag) noexcept;
  bool getUnfusedTensorsDebugState() const noexcept;
  bool setCommunicator(void* communicator) noexcept;

 protected:
  apiv::VExecutionContext* mImpl{nullptr};
};

/// Text of an inspector: a line, or JSON.
enum class LayerInformationFormat : int32_t {
  kONELINE = 0,
  kJSON = 1,
};
template <>
constexpr int32_t EnumMax<LayerInformationFormat>() noexcept {
  return 2;
}

/// Describes the layers of an engine as text or JSON.
class IEngineInspector : public INoCopy {
 public:
  bool setExecutionContext(const IExecutionContext* context) noexcept;
  const IExecutionContext* getExecutionContext() const noexcept;
  const char* getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept;
  const char* getEngineInformation(LayerInformationFormat format) const noexcept;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  IErrorRecorder* getErrorRecorder() const noexcept;

 protected:
  apiv::VEngineInspector* mImpl{nullptr};
};

/// Gives plugin libraries a logger.
class ILoggerFinder {
 public:
  virtual ILogger* findLogger() = 0;
  virtual ~ILoggerFinder() noexcept = default;

 protected:
  ILoggerFinder() = default;
  ILoggerFinder(const ILoggerFinder&) = default;
  ILoggerFinder& operator=(const ILoggerFinder&) = default;
  ILoggerFinder(ILoggerFinder&&) = default;
  ILoggerFinder& operator=(ILoggerFinder&&) = default;
};

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

/// Allocates device memory in the order of a stream.
class IGpuAsyncAllocator : public v_1_0::IGpuAllocator {
 public:
  ~IGpuAsyncAllocator() noexcept override = default;
  void* allocateAsync(const uint64_t size, const uint64_t alignment, const AllocatorFlags flags,
                      cudaStream_t) noexcept override = 0;
  bool deallocateAsync(void* const memory, cudaStream_t) noexcept override = 0;
  TRT_DEPRECATED void* allocate(const uint64_t size, const uint64_t alignment,
                                const AllocatorFlags flags) noexcept override {
    return allocateAsync(size, alignment, flags, nullptr);
  }
  TRT_DEPRECATED bool deallocate(void* const memory) noexcept override {
    return deallocateAsync(memory, nullptr);
  }
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IGpuAsyncAllocator", 1, 0};
  }

 protected:
  IGpuAsyncAllocator() = default;
  IGpuAsyncAllocator(const IGpuAsyncAllocator&) = default;
  IGpuAsyncAllocator& operator=(const IGpuAsyncAllocator&) = default;
  IGpuAsyncAllocator(IGpuAsyncAllocator&&) = default;
  IGpuAsyncAllocator& operator=(IGpuAsyncAllocator&&) = default;
};

/// Makes plugins of the third generation. Must outlive its registration.
class IPluginCreatorV3One : public v_1_0::IPluginCreatorInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN CREATOR_V3ONE", 1, 0};
  }
  virtual v_1_0::IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fc,
                                         TensorRTPhase phase) noexcept = 0;
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  ~IPluginCreatorV3One() noexcept override = default;

 protected:
  IPluginCreatorV3One() = default;
  IPluginCreatorV3One(const IPluginCreatorV3One&) = default;
  IPluginCreatorV3One& operator=(const IPluginCreatorV3One&) = default;
  IPluginCreatorV3One(IPluginCreatorV3One&&) = default;
  IPluginCreatorV3One& operator=(IPluginCreatorV3One&&) = default;
};

}  // namespace nvinfer1::v_1_0

#include "impl/NvInferRuntimeForwarding.h"

extern "C" {
TENSORRTAPI void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept;
TENSORRTAPI void* createInferRefitter_INTERNAL(void* engine, void* logger,
                                               int32_t version) noexcept;
/// The registry of all plugins that the process knows.
TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;
/// The logger that the first builder, runtime or refitter was made with, or null.
TENSORRTAPI nvinfer1::ILogger* getLogger() noexcept;
TENSORRTAPI int32_t getInferLibMajorVersion() noexcept;
TENSORRTAPI int32_t getInferLibMinorVersion() noexcept;
TENSORRTAPI int32_t getInferLibPatchVersion() noexcept;
TENSORRTAPI int32_t getInferLibBuildVersion() noexcept;
}

namespace nvinfer1 {
namespace {

/// A runtime, or null with an error logged. Delete it when done.
inline IRuntime* createInferRuntime(ILogger& logger) noexcept {
  return static_cast<IRuntime*>(createInferRuntime_INTERNAL(&logger, NV_TENSORRT_VERSION));
}

/// A refitter of the engine, or null with an error logged.
inline IRefitter* createInferRefitter(ICudaEngine& engine, ILogger& logger) noexcept {
  return static_cast<IRefitter*>(
      createInferRefitter_INTERNAL(&engine, &logger, NV_TENSORRT_VERSION));
}

}  // namespace

/// Registers a plugin creator of type T when constructed.
template <typename T>
class PluginRegistrar {
 public:
  PluginRegistrar() { getPluginRegistry()->registerCreator(instance, ""); }

 private:
  T instance{};
};

}  // namespace nvinfer1

#define REGISTER_TENSORRT_PLUGIN(name) \
  static nvinfer1::PluginRegistrar<name> pluginRegistrar##name {}

#pragma GCC diagnostic pop
