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
class IPluginFactory;  // Of older releases: applications' headers still name it.
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

namespace nvinfer1 {
namespace v_1_0 {

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

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_2_0 {

class IPluginV3OneBuild;

}  // namespace v_2_0
}  // namespace nvinfer1

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
  /// All layers, on CPUs and GPUs.
  kSTANDARD = 0,
  /// The safety runtime's subset; there is none here.
  kSAFETY = 1,
  /// A loadable for a DLA; there is none here.
  kDLA_STANDALONE = 2,
};
template <> constexpr int32_t EnumMax<EngineCapability>() noexcept {
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
  /// Returns the first of size() bytes, which live as long as the object.
  void* data() const noexcept;
  /// Returns the number of bytes.
  std::size_t size() const noexcept;
  /// Returns the type of the elements: kINT8, since the memory holds bytes.
  DataType type() const noexcept;

 protected:
  apiv::VHostMemory* mImpl{nullptr};
};

/// Arithmetic of extents.
enum class DimensionOperation : int32_t {
  /// a + b.
  kSUM = 0,
  /// a * b.
  kPROD = 1,
  /// The larger one.
  kMAX = 2,
  /// The smaller one.
  kMIN = 3,
  /// a - b.
  kSUB = 4,
  /// 1 where a == b, else 0.
  kEQUAL = 5,
  /// 1 where a < b, else 0.
  kLESS = 6,
  /// a / b, rounded down.
  kFLOOR_DIV = 7,
  /// a / b, rounded up.
  kCEIL_DIV = 8,
};
template <> constexpr int32_t EnumMax<DimensionOperation>() noexcept {
  return 9;
}

/// Where a tensor's memory is.
enum class TensorLocation : int32_t {
  /// In the device's memory; on a CPU in the application's.
  kDEVICE = 0,
  /// In host memory, where shapes are read.
  kHOST = 1,
};
template <> constexpr int32_t EnumMax<TensorLocation>() noexcept {
  return 2;
}

/// An extent of a plugin's output, as an expression of its inputs'.
class IDimensionExpr : public INoCopy {
 public:
  /// Returns whether the value is known while the network is built.
  bool isConstant() const noexcept;
  /// Returns the value where isConstant(), else the least 64-bit integer.
  int64_t getConstantValue() const noexcept;
  /// Returns whether the expression is a size tensor: false, since they are not supported.
  bool isSizeTensor() const noexcept;

 protected:
  apiv::VDimensionExpr* mImpl{nullptr};
};

/// Makes expressions; it owns them. Size tensors are not supported.
class IExprBuilder : public INoCopy {
 public:
  /// Returns an expression for a number. The builder owns it.
  const IDimensionExpr* constant(int64_t value) noexcept;
  /// Returns an expression for an operation on two others; divisions by zero and overflow make the
  /// shape an error. The builder owns it.
  const IDimensionExpr* operation(DimensionOperation op, const IDimensionExpr& first,
                                  const IDimensionExpr& second) noexcept;
  /// Returns an extent that a scalar output holds after the run, `upper` at most.
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
  /// Returns a copy with the same settings and namespace, which the library frees with destroy();
  /// null on failure.
  IPluginV2DynamicExt* clone() const noexcept override = 0;
  /// Returns the dimensions of output `outputIndex` as expressions of the inputs' dimensions, made
  /// with `exprBuilder`.
  virtual DimsExprs getOutputDimensions(int32_t outputIndex, const DimsExprs* inputs,
                                        int32_t nbInputs, IExprBuilder& exprBuilder) noexcept = 0;
  /// Returns whether operand `pos` may have the type and format in `inOut[pos]`, given those in
  /// front of it, which are fixed. Inputs come first. All formats are asked for.
  virtual bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) noexcept = 0;
  /// Tells the operands and the ranges of their extents that the plugin is built for. Descriptions
  /// are valid during the call only. Where it returns a number, 0 is success and others fail the
  /// build.
  virtual void configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                               const DynamicPluginTensorDesc* out, int32_t nbOutputs) noexcept = 0;
  /// Returns the bytes of scratch memory that enqueue() needs for the operands given, at least for
  /// the largest extents of the profile.
  virtual size_t getWorkspaceSize(const PluginTensorDesc* inputs, int32_t nbInputs,
                                  const PluginTensorDesc* outputs,
                                  int32_t nbOutputs) const noexcept = 0;
  /// Computes the outputs. On a GPU the addresses are device memory, and the work is put on
  /// `stream` without waiting for it; on a CPU they are host memory, `stream` is null, and the
  /// results are there on return. Returns 0 on success; other values fail the run. One thread at a
  /// time calls it for an object.
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

namespace nvinfer1 {
namespace v_1_0 {

/// Source of a plan's bytes.
class IStreamReader : public IVersionedInterface {
 public:
  ~IStreamReader() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IStreamReader", 1, 0};
  }
  /// Copies up to `nbBytes` of the plan to `destination`, host memory. Returns the number of bytes,
  /// 0 at the end, or a negative number on failure.
  virtual int64_t read(void* destination, int64_t nbBytes) = 0;

 protected:
  IStreamReader() = default;
  IStreamReader(const IStreamReader&) = default;
  IStreamReader& operator=(const IStreamReader&) = default;
  IStreamReader(IStreamReader&&) = default;
  IStreamReader& operator=(IStreamReader&&) = default;
};

/// Receives a plan's bytes. Since 10.13.
class IStreamWriter : public IVersionedInterface {
 public:
  ~IStreamWriter() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IStreamWriter", 1, 0};
  }
  /// Takes `nbBytes` bytes of the plan, valid during the call only. Returns the number of bytes
  /// taken; fewer, or a negative number, fail the build.
  virtual int64_t write(const void* data, int64_t nbBytes) = 0;

 protected:
  IStreamWriter() = default;
  IStreamWriter(const IStreamWriter&) = default;
  IStreamWriter& operator=(const IStreamWriter&) = default;
  IStreamWriter(IStreamWriter&&) = default;
  IStreamWriter& operator=(IStreamWriter&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

/// Origin of an offset in a stream.
enum class SeekPosition : int32_t {
  /// From the beginning.
  kSET = 0,
  /// From the place that was reached.
  kCUR = 1,
  /// From the end.
  kEND = 2,
};
template <> constexpr int32_t EnumMax<SeekPosition>() noexcept {
  return 3;
}

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Source of a plan's bytes with seeking. Since 10.7.
class IStreamReaderV2 : public IVersionedInterface {
 public:
  ~IStreamReaderV2() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IStreamReaderV2", 1, 0};
  }
  /// Copies up to `nbBytes` of the plan to `destination`, host memory; `stream` is null. Returns
  /// the number of bytes, 0 at the end, or a negative number on failure.
  virtual int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept = 0;
  /// Moves the place that read() goes on from by `offset` bytes relative to `where`. Returns false
  /// on failure. The library reads plans from front to back and does not call it.
  virtual bool seek(int64_t offset, SeekPosition where) noexcept = 0;

 protected:
  IStreamReaderV2() = default;
  IStreamReaderV2(const IStreamReaderV2&) = default;
  IStreamReaderV2& operator=(const IStreamReaderV2&) = default;
  IStreamReaderV2(IStreamReaderV2&&) = default;
  IStreamReaderV2& operator=(IStreamReaderV2&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

/// Objects of a context that a plugin may use.
class IPluginResourceContext {
 public:
  /// Returns the allocator of the application for temporary device memory, or null.
  virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;
  /// Returns the recorder that the plugin may report errors to, or null.
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

namespace nvinfer1 {
namespace v_1_0 {

/// Name, version and namespace of a plugin.
class IPluginV3OneCore : public v_1_0::IPluginCapability {
 public:
  ~IPluginV3OneCore() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_CORE", 1, 0};
  }
  /// Returns the plugin's name: with version and namespace the key in the registry. The text must
  /// live as long as the object.
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  /// Returns the plugin's version, such as "1": with name and namespace the key in the registry.
  /// The text must live as long as the object.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  /// Returns the namespace, "" where there is none. The text must live as long as the object.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;

 protected:
  IPluginV3OneCore() = default;
  IPluginV3OneCore(const IPluginV3OneCore&) = default;
  IPluginV3OneCore& operator=(const IPluginV3OneCore&) = default;
  IPluginV3OneCore(IPluginV3OneCore&&) = default;
  IPluginV3OneCore& operator=(IPluginV3OneCore&&) = default;
};

/// Building with a plugin of the third generation: types, shapes, formats and tactics. The second
/// version adds aliased outputs.
class IPluginV3OneBuild : public v_1_0::IPluginCapability {
 public:
  static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT{100};
  ~IPluginV3OneBuild() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 1, 0};
  }
  /// Tells the operands and the ranges of their extents that the plugin is built for. Descriptions
  /// are valid during the call only. Where it returns a number, 0 is success and others fail the
  /// build.
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* out,
                                  int32_t nbOutputs) noexcept = 0;
  /// Writes the types of all outputs, from those of the inputs. Returns 0 on success.
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs,
                                     const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;
  /// Writes the dimensions of all outputs as expressions, made with `exprBuilder`, of the inputs'
  /// dimensions and of the values of shape inputs. Returns 0 on success.
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs,
                                  const DimsExprs* shapeInputs, int32_t nbShapeInputs,
                                  DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;
  /// Returns whether operand `pos` may have the type and format in `inOut[pos].desc`, given those
  /// in front of it, which are fixed. Inputs come first. All formats are asked for.
  virtual bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) noexcept = 0;
  /// Returns the number of outputs, at least 1.
  virtual int32_t getNbOutputs() const noexcept = 0;
  /// Returns the bytes of scratch memory that enqueue() needs within the ranges given. 0 unless
  /// overridden.
  virtual size_t getWorkspaceSize(const DynamicPluginTensorDesc* /*inputs*/, int32_t /*nbInputs*/,
                                  const DynamicPluginTensorDesc* /*outputs*/,
                                  int32_t /*nbOutputs*/) const noexcept {
    return 0;
  }
  /// Writes the numbers of the plugin's tactics, positive and different, getNbTactics() of them.
  /// Returns 0 on success.
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept {
    return 0;
  }
  /// Returns the number of tactics that the build may time; 0, unless overridden, for a single one
  /// that has no number.
  virtual int32_t getNbTactics() noexcept { return 0; }
  /// Returns a text that tells plugins of one name apart in the timing cache; null, unless
  /// overridden, keeps the plugin out of it.
  virtual const char* getTimingCacheID() noexcept { return nullptr; }
  /// Returns how many combinations of types and formats a build may ask for.
  /// kDEFAULT_FORMAT_COMBINATION_LIMIT unless overridden. Not asked: builds try linear formats
  /// only.
  virtual int32_t getFormatCombinationLimit() noexcept { return kDEFAULT_FORMAT_COMBINATION_LIMIT; }
  /// Returns a text about the plugin, or null, as it is unless overridden. Not asked.
  virtual const char* getMetadataString() noexcept { return nullptr; }

 protected:
  IPluginV3OneBuild() = default;
  IPluginV3OneBuild(const IPluginV3OneBuild&) = default;
  IPluginV3OneBuild& operator=(const IPluginV3OneBuild&) = default;
  IPluginV3OneBuild(IPluginV3OneBuild&&) = default;
  IPluginV3OneBuild& operator=(IPluginV3OneBuild&&) = default;
};

/// Running a plugin of the third generation. enqueue() is called by one thread at a time for each
/// object.
class IPluginV3OneRuntime : public v_1_0::IPluginCapability {
 public:
  ~IPluginV3OneRuntime() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_RUNTIME", 1, 0};
  }
  /// Chooses the tactic that enqueue() uses, one of getValidTactics(), or 0 for the only one.
  /// Returns 0 on success.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
  /// Tells the operands of the next runs, when it is made and after a change of extents. Returns 0
  /// on success; other values fail the run.
  virtual int32_t onShapeChange(const PluginTensorDesc* in, int32_t nbInputs,
                                const PluginTensorDesc* out, int32_t nbOutputs) noexcept = 0;
  /// Computes the outputs. On a GPU the addresses are device memory, and the work is put on
  /// `stream` without waiting for it; on a CPU they are host memory, `stream` is null, and the
  /// results are there on return. Returns 0 on success; other values fail the run. One thread at a
  /// time calls it for an object.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;
  /// Returns a copy of the plugin for an execution context, which the library owns; `context` is
  /// valid as long as the copy. Null fails the context.
  virtual v_1_0::IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;
  /// Returns the fields that the plan keeps, from which the creator makes the plugin again. They
  /// belong to the plugin and are valid until its next call.
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;

 protected:
  IPluginV3OneRuntime() = default;
  IPluginV3OneRuntime(const IPluginV3OneRuntime&) = default;
  IPluginV3OneRuntime& operator=(const IPluginV3OneRuntime&) = default;
  IPluginV3OneRuntime(IPluginV3OneRuntime&&) = default;
  IPluginV3OneRuntime& operator=(IPluginV3OneRuntime&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_2_0 {

/// Building with a plugin of the third generation: types, shapes, formats and tactics. The second
/// version adds aliased outputs.
class IPluginV3OneBuild : public v_1_0::IPluginV3OneBuild {
 public:
  ~IPluginV3OneBuild() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 2, 0};
  }
  /// Returns the index of the input whose memory output `outputIndex` shares, or -1, as it is
  /// unless overridden.
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }

 protected:
  IPluginV3OneBuild() = default;
  IPluginV3OneBuild(const IPluginV3OneBuild&) = default;
  IPluginV3OneBuild& operator=(const IPluginV3OneBuild&) = default;
  IPluginV3OneBuild(IPluginV3OneBuild&&) = default;
  IPluginV3OneBuild& operator=(IPluginV3OneBuild&&) = default;
};

}  // namespace v_2_0
}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Takes the time of each layer after a run.
class IProfiler {
 public:
  /// Takes the time of a layer, `ms` in milliseconds; called once for each layer, in the order of
  /// execution, by the thread that runs or reports. `layerName` is valid during the call only.
  virtual void reportLayerTime(const char* layerName, float ms) noexcept = 0;
  virtual ~IProfiler() noexcept = default;

 protected:
  IProfiler() = default;
  IProfiler(const IProfiler&) = default;
  IProfiler& operator=(const IProfiler&) = default;
  IProfiler(IProfiler&&) = default;
  IProfiler& operator=(IProfiler&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

/// Role of weights in a layer.
enum class WeightsRole : int32_t {
  /// Kernel of a convolution or deconvolution.
  kKERNEL = 0,
  /// Bias of a convolution or deconvolution.
  kBIAS = 1,
  /// Shift of a scale layer.
  kSHIFT = 2,
  /// Scale of a scale layer.
  kSCALE = 3,
  /// Of a constant layer.
  kCONSTANT = 4,
  /// Any of them, for queries.
  kANY = 5,
};
template <> constexpr int32_t EnumMax<WeightsRole>() noexcept {
  return 6;
}

/// Device that a layer runs on.
enum class DeviceType : int32_t {
  /// The device of the build.
  kGPU = 0,
  /// A deep learning accelerator; there is none here.
  kDLA = 1,
  /// The processor; of this library alone.
  kCPU = 2,
};
template <> constexpr int32_t EnumMax<DeviceType>() noexcept {
  return 2;
}

/// Permissions of the runtime for temporary files.
enum class TempfileControlFlag : int32_t {
  /// Files without a name, in memory.
  kALLOW_IN_MEMORY_FILES = 0,
  /// Files in the temporary folder.
  kALLOW_TEMPORARY_FILES = 1,
};
template <> constexpr int32_t EnumMax<TempfileControlFlag>() noexcept {
  return 2;
}

/// Order and packing of elements in memory. Inputs and outputs of plans are linear.
enum class TensorFormat : int32_t {
  /// Row-major without gaps: the format of inputs and outputs here.
  kLINEAR = 0,
  /// Two channels together: [N][(C+1)/2][H][W][2].
  kCHW2 = 1,
  /// Channels innermost, in a multiple of eight: [N][H][W][(C+7)/8*8].
  kHWC8 = 2,
  /// Four channels together: [N][(C+3)/4][H][W][4].
  kCHW4 = 3,
  /// Sixteen channels together: [N][(C+15)/16][H][W][16].
  kCHW16 = 4,
  /// Thirty-two channels together: [N][(C+31)/32][H][W][32].
  kCHW32 = 5,
  /// Channels innermost, in a multiple of eight, with depth: [N][D][H][W][(C+7)/8*8].
  kDHWC8 = 6,
  /// Thirty-two channels together, with depth: [N][(C+31)/32][D][H][W][32].
  kCDHW32 = 7,
  /// Channels innermost: [N][H][W][C].
  kHWC = 8,
  /// Rows of a DLA, at multiples of 64 bytes.
  kDLA_LINEAR = 9,
  /// Images of a DLA, four channels a pixel.
  kDLA_HWC4 = 10,
  /// Channels innermost, in a multiple of sixteen: [N][H][W][(C+15)/16*16].
  kHWC16 = 11,
  /// Channels innermost, with depth: [N][D][H][W][C].
  kDHWC = 12,
};
template <> constexpr int32_t EnumMax<TensorFormat>() noexcept {
  return 13;
}

/// Properties of an allocation.
enum class AllocatorFlag : int32_t {
  /// The memory may be given to reallocate().
  kRESIZABLE = 0,
};
template <> constexpr int32_t EnumMax<AllocatorFlag>() noexcept {
  return 1;
}

/// Receives messages. Must be thread-safe and outlive every object made with it.
class ILogger {
 public:
  /// Severity of a message, the most severe first.
  enum class Severity : int32_t {
    /// The library did something wrong.
    kINTERNAL_ERROR = 0,
    /// The call failed.
    kERROR = 1,
    /// The call went on; results or speed may not be as expected.
    kWARNING = 2,
    /// Progress and facts for people.
    kINFO = 3,
    /// Details for finding out the cause of a problem.
    kVERBOSE = 4,
  };
  /// Takes a message. `msg` is null-terminated UTF-8 without control characters, valid during the
  /// call only. Any thread may call it, also several at once.
  virtual void log(ILogger::Severity severity, const AsciiChar* msg) noexcept = 0;
  virtual ~ILogger() noexcept = default;

 protected:
  ILogger() = default;
  ILogger(const ILogger&) = default;
  ILogger& operator=(const ILogger&) = default;
  ILogger(ILogger&&) = default;
  ILogger& operator=(ILogger&&) = default;
};

template <> constexpr int32_t EnumMax<ILogger::Severity>() noexcept {
  return 5;
}

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Device memory for the library. Must be thread-safe.
class IGpuAllocator : public IVersionedInterface {
 public:
  /// Returns `size` bytes at a multiple of `alignment`, a power of two (0 for any), or null, which
  /// fails the call that needs them. `flags` has kRESIZABLE where reallocate() may follow. Use
  /// allocateAsync().
  TRT_DEPRECATED virtual void* allocate(const uint64_t size, const uint64_t alignment,
                                        const AllocatorFlags flags) noexcept = 0;
  ~IGpuAllocator() noexcept override = default;
  /// Returns the allocation grown or shrunk to `newSize`, its contents kept, or null where that
  /// cannot be, which leaves it as it was. Null unless overridden. The library does not call it.
  virtual void* reallocate(void* const, uint64_t, uint64_t) noexcept { return nullptr; }
  /// Frees memory that the object allocated; null is allowed. Returns false for memory of another
  /// origin. Use deallocateAsync().
  TRT_DEPRECATED virtual bool deallocate(void* const memory) noexcept = 0;
  /// Returns `size` bytes, usable by work that is put on the stream from now on, or null. Calls
  /// allocate() unless overridden.
  virtual void* allocateAsync(const uint64_t size, const uint64_t alignment,
                              const AllocatorFlags flags, cudaStream_t) noexcept {
    return allocate(size, alignment, flags);
  }
  /// Frees memory once the work that is on the stream has ended. Returns false for memory of
  /// another origin. Calls deallocate() unless overridden.
  virtual bool deallocateAsync(void* const memory, cudaStream_t) noexcept {
    return deallocate(memory);
  }
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
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

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

/// Loads plans. Loading is thread-safe; setters are not.
class IRuntime : public INoCopy {
 public:
  /// Logs an error: there is no DLA.
  void setDLACore(int32_t dlaCore) noexcept;
  /// Returns -1 for no DLA core.
  int32_t getDLACore() const noexcept;
  /// Returns 0: there is no DLA.
  int32_t getNbDLACores() const noexcept;
  /// Sets the allocator for device memory of the engines that are loaded from now on, and of their
  /// contexts; null for the library's own. The application owns it; it must outlive those engines.
  void setGpuAllocator(IGpuAllocator* allocator) noexcept;
  /// Sets the recorder that errors of this object and of the objects made from it are reported to,
  /// beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null. The library counts its reference with incRefCount() and decRefCount().
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  /// Returns the recorder that errors of this object and of the objects made from it are reported
  /// to, beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null.
  IErrorRecorder* getErrorRecorder() const noexcept;
  /// Loads an engine from a plan, to be freed with delete after its contexts and before the
  /// runtime. The bytes may be freed when it returns. Null, with an error logged, where the plan is
  /// damaged, of another version, for another device, or names a plugin without a creator.
  /// Thread-safe.
  ICudaEngine* deserializeCudaEngine(const void* blob, std::size_t size) noexcept;
  /// Loads an engine from a stream, which is read to the end of the plan and no further. Use the
  /// overload for IStreamReaderV2. Null, with an error logged, as from a plan in memory.
  TRT_DEPRECATED ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader);
  /// Loads an engine from a stream, which is read from front to back to the end of the plan and no
  /// further. Null, with an error logged, as from a plan in memory. Since 10.7.
  ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader);
  /// Returns the logger that the object was made with. The application owns it.
  ILogger* getLogger() const noexcept;
  /// Sets the number of threads that engines for the CPU compute with, at least 1; for engines that
  /// are loaded from now on. Default: 1, as it is told; until it is set, engines use every core.
  bool setMaxThreads(int32_t maxThreads) noexcept;
  /// Returns the number of threads that engines for the CPU compute with, at least 1; for engines
  /// that are loaded from now on. Default: 1, as it is told; until it is set, engines use every
  /// core.
  int32_t getMaxThreads() const noexcept;
  /// Sets the folder for temporary files, which plugin libraries in plans are loaded from where
  /// files in memory are not allowed; "" is the system's. Default: "".
  void setTemporaryDirectory(const char* path) noexcept;
  /// Returns the folder for temporary files, which plugin libraries in plans are loaded from where
  /// files in memory are not allowed; "" is the system's. Default: "".
  const char* getTemporaryDirectory() const noexcept;
  /// Sets the permissions for temporary files, a bit mask of TempfileControlFlag. Plugin libraries
  /// in plans are loaded from files in memory, else from files in the temporary folder; plans
  /// without such libraries need none. Default: both set. Unknown bits are an error.
  void setTempfileControlFlags(TempfileControlFlags flags) noexcept;
  /// Returns the permissions for temporary files, a bit mask of TempfileControlFlag. Plugin
  /// libraries in plans are loaded from files in memory, else from files in the temporary folder;
  /// plans without such libraries need none. Default: both set.
  TempfileControlFlags getTempfileControlFlags() const noexcept;
  /// Returns the registry that plugins are looked up in: the one of the process.
  IPluginRegistry& getPluginRegistry() noexcept;
  /// Opens the library at that path and makes a runtime of it. Returns null, with an error, where
  /// it is no library with a runtime.
  IRuntime* loadRuntime(const char* path) noexcept;
  /// Sets whether plugin libraries in plans may be loaded and run. Without it, plans with such
  /// libraries are refused. They are loaded into the process's registry, unless it has all creators
  /// that the plan needs, and go with the last engine of theirs. Default: false.
  void setEngineHostCodeAllowed(bool allowed) noexcept;
  /// Returns whether plugin libraries in plans may be loaded and run. Without it, plans with such
  /// libraries are refused. They are loaded into the process's registry, unless it has all creators
  /// that the plan needs, and go with the last engine of theirs. Default: false.
  bool getEngineHostCodeAllowed() const noexcept;

 protected:
  apiv::VRuntime* mImpl{nullptr};
};

/// Replaces weights of an engine.
class IRefitter : public INoCopy {
 public:
  /// Sets the weights of a layer by their role; kANY takes the first. The values are not copied and
  /// must live until refitCudaEngine() returns. Returns false for an unknown layer or role, another
  /// type or count, or, with validation on, values that are not finite.
  bool setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept;
  /// Puts all weights that were set into the engine, whose network is optimized again with them. No
  /// context of the engine may be running. Returns false where weights are missing or the network
  /// cannot be built, and leaves the engine as it was.
  bool refitCudaEngine() noexcept;
  /// Writes the layers and roles of the weights that must be set before refitting, at most `size`
  /// of each; both arrays may be null. Returns how many there are. The names live as long as the
  /// refitter.
  int32_t getMissing(int32_t size, const char** layerNames, WeightsRole* roles) noexcept;
  /// Writes the layers and roles of all weights that can be set, at most `size` of each; both
  /// arrays may be null. Returns how many there are. The names live as long as the refitter.
  int32_t getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept;
  /// Sets the range of a tensor that the engine rounds to INT8, from which its scale follows. It
  /// takes effect with refitCudaEngine(). Returns false, with an error logged, where there is no
  /// such tensor, or no finite range.
  TRT_DEPRECATED bool setDynamicRange(const char* tensorName, float min, float max) noexcept;
  /// Returns the least number of the tensor's range: the one that was set, else the one that the
  /// engine rounds by, from the network or a calibrator. NaN for tensors without a range.
  TRT_DEPRECATED float getDynamicRangeMin(const char* tensorName) const noexcept;
  /// Returns the largest number of the tensor's range, as getDynamicRangeMin().
  TRT_DEPRECATED float getDynamicRangeMax(const char* tensorName) const noexcept;
  /// Writes the names of up to `size` tensors whose ranges can be refitted, and returns how many
  /// there are: none where the network had scales of its own (QuantizeLinear).
  TRT_DEPRECATED int32_t getTensorsWithDynamicRange(int32_t size,
                                                    const char** tensorNames) const noexcept;
  /// Sets the recorder that errors of this object and of the objects made from it are reported to,
  /// beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null. The library counts its reference with incRefCount() and decRefCount().
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  /// Returns the recorder that errors of this object and of the objects made from it are reported
  /// to, beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null.
  IErrorRecorder* getErrorRecorder() const noexcept;
  /// Sets weights by their name, in host memory or where `location` says. Host memory is not copied
  /// and must live until refitCudaEngine() returns; device memory is copied at once. Returns false
  /// for an unknown name, another type or count, or, with validation on, values that are not
  /// finite.
  bool setNamedWeights(const char* name, Weights weights) noexcept;
  /// Writes the names of the weights that must be set before refitting, at most `size`; the array
  /// may be null. Returns how many there are. The names live as long as the refitter.
  int32_t getMissingWeights(int32_t size, const char** weightsNames) noexcept;
  /// Writes the names of all weights that can be set, at most `size`; the array may be null.
  /// Returns how many there are. The names live as long as the refitter.
  int32_t getAllWeights(int32_t size, const char** weightsNames) noexcept;
  /// Returns the logger that the object was made with. The application owns it.
  ILogger* getLogger() const noexcept;
  /// Sets the number of threads for refitting, at least 1. It is kept and not read: a refit uses
  /// the engine's own threads. Default: 1.
  bool setMaxThreads(int32_t maxThreads) noexcept;
  /// Returns the number of threads for refitting, at least 1. It is kept and not read: a refit uses
  /// the engine's own threads. Default: 1.
  int32_t getMaxThreads() const noexcept;
  /// Sets weights by their name, in host memory or where `location` says. Host memory is not copied
  /// and must live until refitCudaEngine() returns; device memory is copied at once. Returns false
  /// for an unknown name, another type or count, or, with validation on, values that are not
  /// finite.
  bool setNamedWeights(const char* name, Weights weights, TensorLocation location) noexcept;
  /// Returns the weights that were set under a name since the last refit; values null and count 0
  /// where there are none.
  Weights getNamedWeights(const char* weightsName) const noexcept;
  /// Returns where the weights given under this name lie; kHOST where none were given.
  TensorLocation getWeightsLocation(const char* weightsName) const noexcept;
  /// Drops weights that were set and not yet put into the engine. Returns false where there were
  /// none.
  bool unsetNamedWeights(const char* weightsName) noexcept;
  /// Sets whether weights with values that are not finite are refused. Default: true.
  void setWeightsValidation(bool weightsValidation) noexcept;
  /// Returns whether weights with values that are not finite are refused. Default: true.
  bool getWeightsValidation() const noexcept;
  /// Waits for the work on the stream and then does as refitCudaEngine(): the engine is ready when
  /// it returns.
  bool refitCudaEngineAsync(cudaStream_t stream) noexcept;
  /// Returns the type and the number of values that setNamedWeights() wants for a name, with values
  /// null; count -1 for unknown names.
  Weights getWeightsPrototype(const char* weightsName) const noexcept;

 protected:
  apiv::VRefitter* mImpl{nullptr};
};

/// Which of a profile's shapes is meant.
enum class OptProfileSelector : int32_t {
  /// The least dimensions or values.
  kMIN = 0,
  /// The dimensions or values that the build tunes for.
  kOPT = 1,
  /// The largest dimensions or values.
  kMAX = 2,
};
template <> constexpr int32_t EnumMax<OptProfileSelector>() noexcept {
  return 3;
}

/// Ranges of the extents of dynamic inputs.
class IOptimizationProfile : public INoCopy {
 public:
  /// Sets the least, the best or the largest dimensions of an input; the build tunes for the best.
  /// Extents are at least 0, and at most 8 axes. Every dynamic input needs all three. Returns false
  /// where they cannot be.
  bool setDimensions(const char* inputName, OptProfileSelector select, const Dims& dims) noexcept;
  /// Returns the dimensions that were set for an input; nbDims is -1 where there are none.
  Dims getDimensions(const char* inputName, OptProfileSelector select) const noexcept;
  /// Sets the least, the best or the largest values of a shape input as 32-bit integers. Use
  /// setShapeValuesV2().
  TRT_DEPRECATED bool setShapeValues(const char* inputName, OptProfileSelector select,
                                     const int32_t* values, int32_t nbValues) noexcept;
  /// Returns how many values were set for a shape input; -1 where there are none.
  int32_t getNbShapeValues(const char* inputName) const noexcept;
  /// Returns the values that were set for a shape input, as 32-bit integers, or null. Use
  /// getShapeValuesV2().
  TRT_DEPRECATED const int32_t* getShapeValues(const char* inputName,
                                               OptProfileSelector select) const noexcept;
  /// Sets the share of extra memory that the profile may take, from 0 to 1. It is kept and not
  /// read. Default: 1. Other numbers are refused.
  bool setExtraMemoryTarget(float target) noexcept;
  /// Returns the share of extra memory that the profile may take, from 0 to 1. It is kept and not
  /// read. Default: 1.
  float getExtraMemoryTarget() const noexcept;
  /// Returns whether each input has all three of its dimensions or values, of equal number, with
  /// least <= best <= largest.
  bool isValid() const noexcept;
  /// Sets the least, the best or the largest values of a shape input, `nbValues` of them, which are
  /// copied. Returns false where a name or the values are missing. Since 10.11.
  bool setShapeValuesV2(const char* inputName, OptProfileSelector select, const int64_t* values,
                        int32_t nbValues) noexcept;
  /// Returns the values that were set for a shape input, getNbShapeValues() of them, or null. Since
  /// 10.11.
  const int64_t* getShapeValuesV2(const char* inputName, OptProfileSelector select) const noexcept;

 protected:
  apiv::VOptimizationProfile* mImpl{nullptr};
};

/// Libraries that tactics come from.
enum class TacticSource : int32_t {
  /// cuBLAS, which no kernel here comes from: products are those of kCUBLAS_LT.
  kCUBLAS TRT_DEPRECATED_ENUM = 0,
  /// The library cuBLASLt.
  kCUBLAS_LT TRT_DEPRECATED_ENUM = 1,
  /// The library cuDNN.
  kCUDNN TRT_DEPRECATED_ENUM = 2,
  /// Convolutions by edge masks.
  kEDGE_MASK_CONVOLUTIONS = 3,
  /// Convolutions compiled at run time.
  kJIT_CONVOLUTIONS = 4,
};
template <> constexpr int32_t EnumMax<TacticSource>() noexcept {
  return 5;
}

/// How much of its layers a plan tells.
enum class ProfilingVerbosity : int32_t {
  /// Names of layers.
  kLAYER_NAMES_ONLY = 0,
  /// Nothing about layers.
  kNONE = 1,
  /// Names, operands, kernels, parameters and origins.
  kDETAILED = 2,
};
template <> constexpr int32_t EnumMax<ProfilingVerbosity>() noexcept {
  return 3;
}

/// Parts that a written plan leaves out or takes in.
enum class SerializationFlag : int32_t {
  /// Without the weights that can be refitted.
  kEXCLUDE_WEIGHTS = 0,
  /// Without a runtime, as plans here are in any case.
  kEXCLUDE_LEAN_RUNTIME = 1,
  /// With the network, so that the plan can be refitted again.
  kINCLUDE_REFIT = 2,
};
template <> constexpr int32_t EnumMax<SerializationFlag>() noexcept {
  return 3;
}

/// How an engine is written.
class ISerializationConfig : public INoCopy {
 public:
  /// Sets all flags at once, a bit mask of SerializationFlag. Default: 0.
  bool setFlags(SerializationFlags serializationFlags) noexcept;
  /// Returns all flags at once, a bit mask of SerializationFlag. Default: 0.
  SerializationFlags getFlags() const noexcept;
  /// Switches one flag off.
  bool clearFlag(SerializationFlag serializationFlag) noexcept;
  /// Switches one flag on.
  bool setFlag(SerializationFlag serializationFlag) noexcept;
  /// Returns whether a flag is on.
  bool getFlag(SerializationFlag serializationFlag) const noexcept;

 protected:
  apiv::VSerializationConfig* mImpl{nullptr};
};

/// Who gives a context its memory. With kUSER_MANAGED runs fail until setDeviceMemoryV2.
enum class ExecutionContextAllocationStrategy : int32_t {
  /// Memory of the library, taken when the context is made, and when shapes need more.
  kSTATIC = 0,
  /// Here the same as kSTATIC.
  kON_PROFILE_CHANGE = 1,
  /// Memory of the application, given by setDeviceMemoryV2().
  kUSER_MANAGED = 2,
};
template <> constexpr int32_t EnumMax<ExecutionContextAllocationStrategy>() noexcept {
  return 3;
}

/// How contexts are made. Since 10.11.
class IRuntimeConfig : public INoCopy {
 public:
  /// Sets the source of the activation memory of contexts that are made with this configuration.
  /// Default: kSTATIC.
  void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy strategy) noexcept;
  /// Returns the source of the activation memory of contexts that are made with this configuration.
  /// Default: kSTATIC.
  ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept;

 protected:
  apiv::VRuntimeConfig* mImpl{nullptr};
};

/// Figures of an engine, in bytes.
enum class EngineStat : int32_t {
  /// Bytes of all weights.
  kTOTAL_WEIGHTS_SIZE = 0,
  /// Bytes of the weights that a stripped plan lacks; 0 for others.
  kSTRIPPED_WEIGHTS_SIZE = 1,
};
template <> constexpr int32_t EnumMax<EngineStat>() noexcept {
  return 2;
}

/// A loaded plan. Thread-safe, except for setters and refitting.
class ICudaEngine : public INoCopy {
 public:
  /// Returns the dimensions of an input or output, with -1 for dynamic extents; nbDims is -1 for
  /// unknown names.
  Dims getTensorShape(const char* tensorName) const noexcept;
  /// Returns the type of the elements that the application binds to an input or output. kFLOAT,
  /// with an error logged, for unknown names.
  DataType getTensorDataType(const char* tensorName) const noexcept;
  /// Returns the number of layers of the plan, which the inspector describes. Fused operators are
  /// one layer.
  int32_t getNbLayers() const noexcept;
  /// Returns the plan's bytes, to be freed with delete; null with an error logged.
  IHostMemory* serialize() const noexcept;
  /// Makes a context, to be freed with delete before the engine, whose activation memory comes from
  /// where `strategy` says. Null, with an error logged, where there is not enough memory.
  /// Thread-safe.
  IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy =
          ExecutionContextAllocationStrategy::kSTATIC) noexcept;
  /// Returns kHOST for shape inputs and outputs, kDEVICE for all others. On a CPU all memory is the
  /// host's.
  TensorLocation getTensorLocation(const char* tensorName) const noexcept;
  /// Returns whether an input's values decide shapes, or an output is such a value; their memory is
  /// the host's.
  bool isShapeInferenceIO(const char* tensorName) const noexcept;
  /// Returns whether a name is an input, an output, or kNONE for neither.
  TensorIOMode getTensorIOMode(const char* tensorName) const noexcept;
  /// Returns the name of the input whose memory an output shares, or null where it has its own.
  /// Since 10.15.
  const char* getAliasedInputTensor(const char* tensorName) const noexcept;
  /// Makes a context that fails to run until setDeviceMemoryV2() gives it activation memory. Use
  /// createExecutionContext(kUSER_MANAGED).
  TRT_DEPRECATED IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept;
  /// Makes a context, to be freed with delete before the engine, with the strategy of the
  /// configuration, which may be freed afterwards. Null, with an error logged, where there is not
  /// enough memory. Thread-safe. Since 10.11.
  IExecutionContext* createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept;
  /// Returns settings for making contexts, to be freed with delete. Since 10.11.
  IRuntimeConfig* createRuntimeConfig() noexcept;
  /// Returns the bytes of activation memory that a context needs for the largest shapes of all
  /// profiles. Use getDeviceMemorySizeV2().
  TRT_DEPRECATED size_t getDeviceMemorySize() const noexcept;
  /// Returns the bytes of activation memory that a context needs for the largest shapes of one
  /// profile. Use getDeviceMemorySizeForProfileV2().
  TRT_DEPRECATED size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept;
  /// Returns the bytes of activation memory that a context needs for the largest shapes of all
  /// profiles; 0 on failure. Since 10.1.
  int64_t getDeviceMemorySizeV2() const noexcept;
  /// Returns the bytes of activation memory that a context needs for the largest shapes of one
  /// profile; 0 on failure. Since 10.1.
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept;
  /// Returns whether an IRefitter can be made for the engine.
  bool isRefittable() const noexcept;
  /// Returns the bytes of an element of an input or output whose channels are packed or padded;
  /// else -1.
  int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept;
  /// Returns the bytes of an element of an input or output whose channels are packed or padded;
  /// else -1.
  int32_t getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept;
  /// Returns to a multiple of how many the channels of an input or output are padded; -1 where they
  /// are not.
  int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept;
  /// Returns to a multiple of how many the channels of an input or output are padded; -1 where they
  /// are not.
  int32_t getTensorComponentsPerElement(const char* tensorName,
                                        int32_t profileIndex) const noexcept;
  /// Returns the order of an input's or output's elements: kLINEAR is row-major without gaps.
  TensorFormat getTensorFormat(const char* tensorName) const noexcept;
  /// Returns the order of an input's or output's elements: kLINEAR is row-major without gaps.
  TensorFormat getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept;
  /// Returns the type and format of an input or output in words; "" for unknown names.
  const char* getTensorFormatDesc(const char* tensorName) const noexcept;
  /// Returns the type and format of an input or output in words; "" for unknown names.
  const char* getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept;
  /// Returns the axis of the channels where they are packed or padded; else -1.
  int32_t getTensorVectorizedDim(const char* tensorName) const noexcept;
  /// Returns the axis of the channels where they are packed or padded; else -1.
  int32_t getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept;
  /// Returns the network's name when the plan was built, or "".
  const char* getName() const noexcept;
  /// Returns the number of profiles; 1 where the network has no dynamic input.
  int32_t getNbOptimizationProfiles() const noexcept;
  /// Returns the least, the best or the largest dimensions of an input in a profile; nbDims is -1
  /// where there are none.
  Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                       OptProfileSelector select) const noexcept;
  /// Returns the least, the best or the largest values of a shape input in a profile as 32-bit
  /// integers, or null. Use getProfileTensorValuesV2().
  TRT_DEPRECATED const int32_t* getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                                       OptProfileSelector select) const noexcept;
  /// Returns kSTANDARD, the only one that is built.
  EngineCapability getEngineCapability() const noexcept;
  /// Sets the recorder that errors of this object and of the objects made from it are reported to,
  /// beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null. The library counts its reference with incRefCount() and decRefCount().
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  /// Returns the recorder that errors of this object and of the objects made from it are reported
  /// to, beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null.
  IErrorRecorder* getErrorRecorder() const noexcept;
  /// Returns false: batches are explicit.
  TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept;
  /// Returns the mask of TacticSource that the plan was built with.
  TacticSources getTacticSources() const noexcept;
  /// Returns how much the plan says about its layers, as the build's configuration had it.
  ProfilingVerbosity getProfilingVerbosity() const noexcept;
  /// Makes an inspector of the engine, to be freed with delete before it. Thread-safe.
  IEngineInspector* createEngineInspector() const noexcept;
  /// Returns the number of inputs and outputs.
  int32_t getNbIOTensors() const noexcept;
  /// Returns the name of an input or output, inputs first, or null where `index` is not from 0 to
  /// getNbIOTensors() - 1.
  const char* getIOTensorName(int32_t index) const noexcept;
  /// Returns the devices that the plan may run on besides the build's, as the build was asked for:
  /// kAMPERE_PLUS, kSAME_COMPUTE_CAPABILITY or kNONE.
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept;
  /// Returns the number of streams that a run uses beside the application's; 0 on a CPU.
  int32_t getNbAuxStreams() const noexcept;
  /// Returns settings for serializeWithConfig(), to be freed with delete.
  ISerializationConfig* createSerializationConfig() noexcept;
  /// Returns the plan's bytes as the configuration wants them, to be freed with delete.
  /// kEXCLUDE_WEIGHTS needs an engine that can be refitted; null, with an error logged, otherwise.
  IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept;
  /// As setWeightStreamingBudgetV2(); -1 chooses, 0 ends the streaming. Numbers below the minimum
  /// are errors.
  TRT_DEPRECATED bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept;
  /// Returns the budget; 0 where all weights may be on the device.
  TRT_DEPRECATED int64_t getWeightStreamingBudget() const noexcept;
  /// Returns the bytes of the largest weights; 0 for plans without kWEIGHT_STREAMING.
  TRT_DEPRECATED int64_t getMinimumWeightStreamingBudget() const noexcept;
  /// Returns the bytes of large weights; 0 without kWEIGHT_STREAMING.
  int64_t getStreamableWeightsSize() const noexcept;
  /// Sets the bytes of weights that stay on the device; runs copy the others from the host. Before
  /// the first context, for plans built with kWEIGHT_STREAMING: else false, with an error. A CPU
  /// warns of no effect. Since 10.1.
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept;
  /// Returns the budget; that of all weights where none was set. Since 10.1.
  int64_t getWeightStreamingBudgetV2() const noexcept;
  /// Returns the bytes of weights for which there is room now. Since 10.1.
  int64_t getWeightStreamingAutomaticBudget() const noexcept;
  /// Returns the part of a context's memory for copied weights. Since 10.1.
  int64_t getWeightStreamingScratchMemorySize() const noexcept;
  /// Returns whether the network marked a tensor with markDebug().
  bool isDebugTensor(const char* name) const noexcept;
  /// Returns the least, the best or the largest values of a shape input in a profile, or null for
  /// other tensors. Since 10.11.
  const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                          OptProfileSelector select) const noexcept;
  /// Returns a figure of the engine, in bytes: the size of all weights, or of the weights missing
  /// from a stripped plan. Since 10.14.
  int64_t getEngineStat(EngineStat stat) const noexcept;

 protected:
  apiv::VCudaEngine* mImpl{nullptr};
};

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Memory for outputs whose extents are known only during a run.
class IOutputAllocator : public IVersionedInterface {
 public:
  ~IOutputAllocator() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IOutputAllocator", 1, 0};
  }
  /// Returns memory for an output: `size` bytes at a multiple of `alignment`, where `currentMemory`
  /// (may be null) may be reused. Null fails the run. Use reallocateOutputAsync().
  TRT_DEPRECATED virtual void* reallocateOutput(const char* /*tensorName*/, void* /*currentMemory*/,
                                                uint64_t /*size*/,
                                                uint64_t /*alignment*/) noexcept {
    return nullptr;
  }
  /// Returns memory for an output, usable by work that is put on the stream from now on: `size`
  /// bytes at a multiple of `alignment`, where `currentMemory` (may be null) may be reused. Null
  /// fails the run. Calls reallocateOutput() unless overridden.
  virtual void* reallocateOutputAsync(const char* tensorName, void* currentMemory, uint64_t size,
                                      uint64_t alignment, cudaStream_t) {
    return reallocateOutput(tensorName, currentMemory, size, alignment);
  }
  /// Tells the dimensions that the output has in this run, after its memory was asked for.
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
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IDebugListener", 1, 0};
  }
  /// Takes the contents of a debug tensor after a run: row-major, at `addr` in the memory that
  /// `location` says, valid during the call only. Return false to fail the run.
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

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

/// One thread's use of an engine: shapes, addresses, activation memory. Contexts are independent;
/// one is not to be used from two threads at a time.
class IExecutionContext : public INoCopy {
 public:
  /// Sets whether executeV2() waits after each layer and logs that it ran, to find one that
  /// crashes. Default: false.
  void setDebugSync(bool sync) noexcept;
  /// Returns whether executeV2() waits after each layer and logs that it ran, to find one that
  /// crashes. Default: false.
  bool getDebugSync() const noexcept;
  /// Sets the object that takes the time of each layer, or null for none. The application owns it.
  /// Default: null. Runs with a profiler take longer; enqueueV3() then waits for the end of the
  /// run, unless setEnqueueEmitsProfile(false).
  void setProfiler(IProfiler* profiler) noexcept;
  /// Returns the object that takes the time of each layer, or null for none. The application owns
  /// it. Default: null.
  IProfiler* getProfiler() const noexcept;
  /// Returns the engine that the context was made from.
  const ICudaEngine& getEngine() const noexcept;
  /// Sets the name, null for ""; it is copied. Default: "".
  void setName(const char* name) noexcept;
  /// Returns the name, null for ""; it is copied. Default: "".
  const char* getName() const noexcept;
  /// Gives the context its activation memory, at a multiple of 256 bytes and as large as
  /// getDeviceMemorySize() of the engine. It must stay valid while runs use it. Use
  /// setDeviceMemoryV2().
  void setDeviceMemory(void* memory) noexcept;
  /// Gives the context its activation memory of `size` bytes, at a multiple of 256;
  /// updateDeviceMemorySizeForShapes() or getDeviceMemorySizeV2() of the engine say how much is
  /// enough. It must stay valid while runs use it. A run fails where it is too small. Since 10.1.
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept;
  /// Returns the strides of an input or output in elements, row-major; -1 where an extent is not
  /// known.
  Dims getTensorStrides(const char* tensorName) const noexcept;
  /// Returns the index of the current profile.
  int32_t getOptimizationProfile() const noexcept;
  /// Sets the dimensions of an input for the next runs. Returns false, with an error logged that
  /// names the bounds, where they lie outside of the current profile.
  bool setInputShape(const char* tensorName, const Dims& dims) noexcept;
  /// Returns the dimensions that an input or output has in the next run, -1 for extents that are
  /// not known yet or that the run's data decides, also behind a run: IOutputAllocator::notifyShape
  /// tells these. nbDims is -1 for unknown names.
  Dims getTensorShape(const char* tensorName) const noexcept;
  /// Returns whether the dimensions of every dynamic input are set.
  bool allInputDimensionsSpecified() const noexcept;
  /// Returns whether the values of every shape input can be read at its address. Use inferShapes().
  TRT_DEPRECATED bool allInputShapesSpecified() const noexcept;
  /// Sets the recorder that errors of this object and of the objects made from it are reported to,
  /// beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null. The library counts its reference with incRefCount() and decRefCount().
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  /// Returns the recorder that errors of this object and of the objects made from it are reported
  /// to, beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null.
  IErrorRecorder* getErrorRecorder() const noexcept;
  /// Runs the network and waits for its end; `bindings` has an address for each tensor in the order
  /// of getIOTensorName(). Returns false, with an error logged, on failure.
  bool executeV2(void* const* bindings) noexcept;
  /// Chooses the profile of the next runs by its index; dimensions of inputs must be set again. The
  /// stream is not used: nothing of it has to wait. Returns false where there is no such profile.
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept;
  /// Sets whether enqueueV3() reports to the profiler itself, which makes it wait for the end of
  /// the run, or leaves that to reportToProfiler(). Default: true.
  void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept;
  /// Returns whether enqueueV3() reports to the profiler itself, which makes it wait for the end of
  /// the run, or leaves that to reportToProfiler(). Default: true.
  bool getEnqueueEmitsProfile() const noexcept;
  /// Tells the profiler the times of the last run, after waiting for its end. Returns false where
  /// there is no profiler or no run with one.
  bool reportToProfiler() const noexcept;
  /// Sets the address of an input or output: device memory on a GPU at a multiple of 16 bytes, host
  /// memory on a CPU and for shape tensors. It must hold until the runs that use it have ended.
  /// Null unsets it. Returns false for unknown names.
  bool setTensorAddress(const char* tensorName, void* data) noexcept;
  /// Returns the address that was set for an input or output, or null.
  const void* getTensorAddress(const char* tensorName) const noexcept;
  /// Sets the address of an output as setTensorAddress() does; returns false for inputs.
  bool setOutputTensorAddress(const char* tensorName, void* data) noexcept;
  /// Sets the address of an input as setTensorAddress() does; returns false for outputs. Runs do
  /// not write to it.
  bool setInputTensorAddress(const char* tensorName, const void* data) noexcept;
  /// Returns the address that was set for an output, or null.
  void* getOutputTensorAddress(const char* tensorName) const noexcept;
  /// Computes the dimensions of all tensors that can be known. Returns 0 on success, -1 with an
  /// error logged, or how many inputs lack dimensions or values, and writes at most `nbMaxNames` of
  /// their names; the array may be null.
  int32_t inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept;
  /// Returns the bytes of activation memory that runs with the dimensions set now need; 0 on
  /// failure.
  size_t updateDeviceMemorySizeForShapes() noexcept;
  /// Sets the event that a run records on the stream once the inputs may be written again, or null
  /// for none. Default: null. Ignored on a CPU, where they may be on return.
  bool setInputConsumedEvent(cudaEvent_t event) noexcept;
  /// Returns the event that a run records on the stream once the inputs may be written again, or
  /// null for none. Default: null.
  cudaEvent_t getInputConsumedEvent() const noexcept;
  /// Sets the object that gives an output its memory during the run, when its extents are known;
  /// null for setTensorAddress() alone. The application owns it. Returns false for unknown names.
  bool setOutputAllocator(const char* tensorName, IOutputAllocator* outputAllocator) noexcept;
  /// Returns the object that was set for an output, or null.
  IOutputAllocator* getOutputAllocator(const char* tensorName) const noexcept;
  /// Returns the most bytes that an output can have with the inputs' dimensions set now, or -1
  /// where that is not known.
  int64_t getMaxOutputSize(const char* tensorName) const noexcept;
  /// Sets the allocator for the activation memory of a run, asked at its start on its stream, or
  /// null for the context's own memory. The application owns it. Default: null.
  bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept;
  /// Returns the allocator for the activation memory of a run, asked at its start on its stream, or
  /// null for the context's own memory. The application owns it. Default: null.
  IGpuAllocator* getTemporaryStorageAllocator() const noexcept;
  /// Puts a run on `stream`, which may be one that is being captured, and returns without waiting;
  /// addresses and shapes may be changed afterwards, memory must stay valid until the run has
  /// ended. Waits where the network has data-dependent control flow or shapes. On a CPU the stream
  /// is ignored and the results are there on return. Returns false, with an error logged, on
  /// failure. Several contexts may run at once, each on a stream of its own.
  bool enqueueV3(cudaStream_t stream) noexcept;
  /// Sets the bytes of the second-level cache that activations may keep. It has no effect, and
  /// numbers other than 0 are warned of. Default: 0.
  void setPersistentCacheLimit(size_t size) noexcept;
  /// Returns the bytes of the second-level cache that activations may keep. It has no effect, and
  /// numbers other than 0 are warned of. Default: 0.
  size_t getPersistentCacheLimit() const noexcept;
  /// Sets how much NVTX ranges say about layers. Default: the engine's profiling verbosity. Returns
  /// false for values that are no verbosity.
  bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept;
  /// Returns how much NVTX ranges say about layers. Default: the engine's profiling verbosity.
  ProfilingVerbosity getNvtxVerbosity() const noexcept;
  /// Gives streams for the branches that run beside the application's stream, at most
  /// getNbAuxStreams() of the engine; fewer, or none, are made by the library. They must live as
  /// long as the runs that use them.
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept;
  /// Sets the object that is shown debug tensors after each run, or null for none. The application
  /// owns it. Default: null.
  bool setDebugListener(IDebugListener* listener) noexcept;
  /// Returns the object that is shown debug tensors after each run, or null for none. The
  /// application owns it. Default: null.
  IDebugListener* getDebugListener() noexcept;
  /// Switches the showing of one debug tensor on or off. Off by default. Returns false for tensors
  /// that the network did not mark.
  bool setTensorDebugState(const char* name, bool flag) noexcept;
  /// Returns whether a debug tensor is shown.
  bool getDebugState(const char* name) const noexcept;
  /// Returns the settings that the context was made with, a copy to be freed with delete. Since
  /// 10.11.
  IRuntimeConfig* getRuntimeConfig() const noexcept;
  /// Switches the showing of all debug tensors on or off. Returns true.
  bool setAllTensorsDebugState(bool flag) noexcept;
  /// Shows the tensors that fusion left, step by step, to the debug listener. False, with an error,
  /// unless they were marked. Since 10.12.
  bool setUnfusedTensorsDebugState(bool flag) noexcept;
  /// Returns whether the debug listener sees the tensors that fusion left. Since 10.12.
  bool getUnfusedTensorsDebugState() const noexcept;
  /// Takes the NCCL communicator (an ncclComm_t, which must outlive the context) of the devices
  /// that collectives of coming runs run among. A warning says where the plan has none. Returns
  /// false, with an error logged, for null, on a CPU, and where the process has no NCCL. Since
  /// 10.16.
  bool setCommunicator(void* communicator) noexcept;

 protected:
  apiv::VExecutionContext* mImpl{nullptr};
};

/// Text of an inspector: a line, or JSON.
enum class LayerInformationFormat : int32_t {
  /// A line of text for each layer.
  kONELINE = 0,
  /// A JSON object.
  kJSON = 1,
};
template <> constexpr int32_t EnumMax<LayerInformationFormat>() noexcept {
  return 2;
}

/// Describes the layers of an engine as text or JSON.
class IEngineInspector : public INoCopy {
 public:
  /// Sets the context whose profile and dimensions the descriptions show, or null for all profiles
  /// and symbolic dimensions. The application owns it. Default: null.
  bool setExecutionContext(const IExecutionContext* context) noexcept;
  /// Returns the context whose profile and dimensions the descriptions show, or null for all
  /// profiles and symbolic dimensions. The application owns it. Default: null.
  const IExecutionContext* getExecutionContext() const noexcept;
  /// Returns a description of a layer, from 0 to getNbLayers() - 1: its name, or with kDETAILED
  /// verbosity its operands, kernel and origins. The text is valid until the inspector's next call;
  /// "" on failure and for plans of verbosity kNONE.
  const char* getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept;
  /// Returns a description of all layers and of the inputs and outputs. The text is valid until the
  /// inspector's next call.
  const char* getEngineInformation(LayerInformationFormat format) const noexcept;
  /// Sets the recorder that errors of this object and of the objects made from it are reported to,
  /// beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null. The library counts its reference with incRefCount() and decRefCount().
  void setErrorRecorder(IErrorRecorder* recorder) noexcept;
  /// Returns the recorder that errors of this object and of the objects made from it are reported
  /// to, beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null.
  IErrorRecorder* getErrorRecorder() const noexcept;

 protected:
  apiv::VEngineInspector* mImpl{nullptr};
};

/// Gives plugin libraries a logger.
class ILoggerFinder {
 public:
  /// Returns the logger that a plugin library should write to, or null where there is none yet.
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

namespace nvinfer1 {
namespace v_1_0 {

/// Allocates device memory in the order of a stream.
class IGpuAsyncAllocator : public v_1_0::IGpuAllocator {
 public:
  ~IGpuAsyncAllocator() noexcept override = default;
  /// Returns `size` bytes at a multiple of `alignment`, usable by work that is put on the stream
  /// from now on, or null, which fails the call that needs them.
  void* allocateAsync(const uint64_t size, const uint64_t alignment, const AllocatorFlags flags,
                      cudaStream_t) noexcept override = 0;
  /// Frees memory once the work that is on the stream has ended. Returns false for memory of
  /// another origin.
  bool deallocateAsync(void* const memory, cudaStream_t) noexcept override = 0;
  /// Allocates for the default stream: allocateAsync() with a null stream.
  TRT_DEPRECATED void* allocate(const uint64_t size, const uint64_t alignment,
                                const AllocatorFlags flags) noexcept override {
    return allocateAsync(size, alignment, flags, nullptr);
  }
  /// Frees memory that the object allocated; null is allowed. Returns false for memory of another
  /// origin. Use deallocateAsync().
  TRT_DEPRECATED bool deallocate(void* const memory) noexcept override {
    return deallocateAsync(memory, nullptr);
  }
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
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
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN CREATOR_V3ONE", 1, 0};
  }
  /// Makes a plugin from fields, for building or for running (`phase`); when a plan is loaded the
  /// fields are those of getFieldsToSerialize(). Null on failure. `fc` and its data are valid
  /// during the call only. The caller owns the plugin.
  virtual v_1_0::IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fc,
                                         TensorRTPhase phase) noexcept = 0;
  /// Returns the names and types of the fields that createPlugin() reads. The parser looks up
  /// attributes of a node by them; data may be null. The collection belongs to the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;
  /// Returns the plugin's name: with version and namespace the key in the registry. The text must
  /// live as long as the object.
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  /// Returns the plugin's version, such as "1": with name and namespace the key in the registry.
  /// The text must live as long as the object.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  /// Returns the namespace, "" where there is none. The text must live as long as the object.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  ~IPluginCreatorV3One() noexcept override = default;

 protected:
  IPluginCreatorV3One() = default;
  IPluginCreatorV3One(const IPluginCreatorV3One&) = default;
  IPluginCreatorV3One& operator=(const IPluginCreatorV3One&) = default;
  IPluginCreatorV3One(IPluginCreatorV3One&&) = default;
  IPluginCreatorV3One& operator=(IPluginCreatorV3One&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1

#include "impl/NvInferRuntimeForwarding.h"

extern "C" {
/// The symbol behind createInferRuntime(): `version` is NV_TENSORRT_VERSION of the program's
/// headers, and null is returned where its major number is another than the library's.
TENSORRTAPI void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept;
/// The symbol behind createInferRefitter(): `version` is NV_TENSORRT_VERSION of the program's
/// headers, and null is returned where its major number is another than the library's.
TENSORRTAPI void* createInferRefitter_INTERNAL(void* engine, void* logger,
                                               int32_t version) noexcept;
/// Returns the registry of the process, in which every plugin creator is looked up. It lives as
/// long as the process. Thread-safe.
TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;
/// Returns the logger of the oldest builder, runtime or refitter that lives, or null where there is
/// none. Thread-safe.
TENSORRTAPI nvinfer1::ILogger* getLogger() noexcept;
/// Returns the first number of the loaded library's version. Thread-safe.
TENSORRTAPI int32_t getInferLibMajorVersion() noexcept;
/// Returns the second number of the loaded library's version. Thread-safe.
TENSORRTAPI int32_t getInferLibMinorVersion() noexcept;
/// Returns the third number of the loaded library's version. Thread-safe.
TENSORRTAPI int32_t getInferLibPatchVersion() noexcept;
/// Returns the last number of the loaded library's version. Thread-safe.
TENSORRTAPI int32_t getInferLibBuildVersion() noexcept;
}

namespace nvinfer1 {
namespace {

/// Makes a runtime, to be freed with delete after its engines. Returns null, with an error logged,
/// where the headers' major version is another than the library's. The logger must outlive the
/// runtime. Thread-safe.
inline IRuntime* createInferRuntime(ILogger& logger) noexcept {
  return static_cast<IRuntime*>(createInferRuntime_INTERNAL(&logger, NV_TENSORRT_VERSION));
}

/// Makes a refitter for an engine that was built with kREFIT, kREFIT_IDENTICAL, kREFIT_INDIVIDUAL
/// or kSTRIP_PLAN, to be freed with delete before the engine. Returns null, with an error logged,
/// for other engines.
inline IRefitter* createInferRefitter(ICudaEngine& engine, ILogger& logger) noexcept {
  return static_cast<IRefitter*>(
      createInferRefitter_INTERNAL(&engine, &logger, NV_TENSORRT_VERSION));
}

}  // namespace

/// Registers a plugin creator of type T when constructed.
template <typename T> class PluginRegistrar {
 public:
  PluginRegistrar() { getPluginRegistry()->registerCreator(instance, ""); }

 private:
  T instance{};
};

}  // namespace nvinfer1

#define REGISTER_TENSORRT_PLUGIN(name) \
  static nvinfer1::PluginRegistrar<name> pluginRegistrar##name {}

#pragma GCC diagnostic pop
