#pragma once

/// TensorRT 10.16 surface: plugins of one tactic that are written in Python ("quick"), and those
/// whose kernels are compiled ahead of time. Declared for programs that name them; networks refuse
/// such plugins.

#include "../NvInferPluginBase.h"
#include "../NvInferRuntime.h"

namespace nvinfer1 {

/// Kinds of further kernel arguments.
enum class PluginArgType : int32_t {
  /// Integer scalar.
  kINT = 0,
};

/// Types of further kernel arguments.
enum class PluginArgDataType : int32_t {
  /// 8 bits.
  kINT8 = 0,
  /// 16 bits.
  kINT16 = 1,
  /// 32 bits.
  kINT32 = 2,
};

/// An integer that depends on the extents of a plugin's inputs.
class ISymExpr {
 public:
  virtual ~ISymExpr() noexcept = default;
  /// Returns the kind of value: an integer.
  virtual PluginArgType getType() const noexcept = 0;
  /// Returns the type that the kernel takes the value in.
  virtual PluginArgDataType getDataType() const noexcept = 0;
  /// Returns the expression, an IDimensionExpr.
  virtual void* getExpr() noexcept = 0;
};

/// The implementation behind ISymExprs.
class ISymExprsImpl {
 public:
  virtual ~ISymExprsImpl() noexcept = default;
  /// Returns an argument by its index, or null beyond the last.
  virtual ISymExpr* getSymExpr(int32_t index) const noexcept = 0;
  /// Sets an argument by its index. Returns false beyond the last.
  virtual bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept = 0;
  /// Returns the number of arguments. Default: 0.
  virtual int32_t getNbSymExprs() const noexcept = 0;
  /// Sets the number of arguments. Default: 0. Returns false for negative numbers.
  virtual bool setNbSymExprs(int32_t count) noexcept = 0;
};

/// Further arguments of a kernel.
class ISymExprs {
 public:
  virtual ~ISymExprs() noexcept = default;
  /// Returns an argument by its index, or null beyond the last.
  ISymExpr* getSymExpr(int32_t index) const noexcept { return mImpl->getSymExpr(index); }
  /// Sets an argument by its index. Returns false beyond the last.
  bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept {
    return mImpl->setSymExpr(index, symExpr);
  }
  /// Returns the number of arguments. Default: 0.
  int32_t getNbSymExprs() const noexcept { return mImpl->getNbSymExprs(); }
  /// Sets the number of arguments. Default: 0. Returns false for negative numbers.
  bool setNbSymExprs(int32_t count) noexcept { return mImpl->setNbSymExprs(count); }

 protected:
  ISymExprsImpl* mImpl{nullptr};
};

/// Time at which a plugin compiles its kernels: at run time or ahead of it.
enum class QuickPluginCreationRequest : int32_t {
  /// No wish.
  kUNKNOWN = 0,
  /// At run time where both are there.
  kPREFER_JIT = 1,
  /// Ahead of time where both are there.
  kPREFER_AOT = 2,
  /// At run time, or an error.
  kSTRICT_JIT = 3,
  /// Ahead of time, or an error.
  kSTRICT_AOT = 4,
};

/// The implementation behind IKernelLaunchParams.
class IKernelLaunchParamsImpl {
 public:
  virtual ~IKernelLaunchParamsImpl() noexcept = default;
  /// Returns the number of blocks along x. Default: none.
  virtual ISymExpr* getGridX() noexcept = 0;
  /// Sets the number of blocks along x. Default: none. Returns false on failure.
  virtual bool setGridX(ISymExpr* gridX) noexcept = 0;
  /// Returns the number of blocks along y. Default: none.
  virtual ISymExpr* getGridY() noexcept = 0;
  /// Sets the number of blocks along y. Default: none. Returns false on failure.
  virtual bool setGridY(ISymExpr* gridY) noexcept = 0;
  /// Returns the number of blocks along z. Default: none.
  virtual ISymExpr* getGridZ() noexcept = 0;
  /// Sets the number of blocks along z. Default: none. Returns false on failure.
  virtual bool setGridZ(ISymExpr* gridZ) noexcept = 0;
  /// Returns the number of threads in a block along x. Default: none.
  virtual ISymExpr* getBlockX() noexcept = 0;
  /// Sets the number of threads in a block along x. Default: none. Returns false on failure.
  virtual bool setBlockX(ISymExpr* blockX) noexcept = 0;
  /// Returns the number of threads in a block along y. Default: none.
  virtual ISymExpr* getBlockY() noexcept = 0;
  /// Sets the number of threads in a block along y. Default: none. Returns false on failure.
  virtual bool setBlockY(ISymExpr* blockY) noexcept = 0;
  /// Returns the number of threads in a block along z. Default: none.
  virtual ISymExpr* getBlockZ() noexcept = 0;
  /// Sets the number of threads in a block along z. Default: none. Returns false on failure.
  virtual bool setBlockZ(ISymExpr* blockZ) noexcept = 0;
  /// Returns the bytes of dynamic shared memory. Default: none.
  virtual ISymExpr* getSharedMem() noexcept = 0;
  /// Sets the bytes of dynamic shared memory. Default: none. Returns false on failure.
  virtual bool setSharedMem(ISymExpr* sharedMem) noexcept = 0;
};

/// The grid, the blocks and the shared memory of a kernel.
class IKernelLaunchParams {
 public:
  virtual ~IKernelLaunchParams() noexcept = default;
  /// Returns the number of blocks along x. Default: none.
  ISymExpr* getGridX() noexcept { return mImpl->getGridX(); }
  /// Sets the number of blocks along x. Default: none. Returns false on failure.
  bool setGridX(ISymExpr* gridX) noexcept { return mImpl->setGridX(gridX); }
  /// Returns the number of blocks along y. Default: none.
  ISymExpr* getGridY() noexcept { return mImpl->getGridY(); }
  /// Sets the number of blocks along y. Default: none. Returns false on failure.
  bool setGridY(ISymExpr* gridY) noexcept { return mImpl->setGridY(gridY); }
  /// Returns the number of blocks along z. Default: none.
  ISymExpr* getGridZ() noexcept { return mImpl->getGridZ(); }
  /// Sets the number of blocks along z. Default: none. Returns false on failure.
  bool setGridZ(ISymExpr* gridZ) noexcept { return mImpl->setGridZ(gridZ); }
  /// Returns the number of threads in a block along x. Default: none.
  ISymExpr* getBlockX() noexcept { return mImpl->getBlockX(); }
  /// Sets the number of threads in a block along x. Default: none. Returns false on failure.
  bool setBlockX(ISymExpr* blockX) noexcept { return mImpl->setBlockX(blockX); }
  /// Returns the number of threads in a block along y. Default: none.
  ISymExpr* getBlockY() noexcept { return mImpl->getBlockY(); }
  /// Sets the number of threads in a block along y. Default: none. Returns false on failure.
  bool setBlockY(ISymExpr* blockY) noexcept { return mImpl->setBlockY(blockY); }
  /// Returns the number of threads in a block along z. Default: none.
  ISymExpr* getBlockZ() noexcept { return mImpl->getBlockZ(); }
  /// Sets the number of threads in a block along z. Default: none. Returns false on failure.
  bool setBlockZ(ISymExpr* blockZ) noexcept { return mImpl->setBlockZ(blockZ); }
  /// Returns the bytes of dynamic shared memory. Default: none.
  ISymExpr* getSharedMem() noexcept { return mImpl->getSharedMem(); }
  /// Sets the bytes of dynamic shared memory. Default: none. Returns false on failure.
  bool setSharedMem(ISymExpr* sharedMem) noexcept { return mImpl->setSharedMem(sharedMem); }

 protected:
  IKernelLaunchParamsImpl* mImpl{nullptr};
};

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Name, version and namespace of a plugin that is written in Python.
class IPluginV3QuickCore : public v_1_0::IPluginCapability {
 public:
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICK_CORE", 1, 0};
  }
  /// Returns the plugin's name: with version and namespace the key in the registry. The text must
  /// live as long as the object.
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  /// Returns the plugin's version, such as "1": with name and namespace the key in the registry.
  /// The text must live as long as the object.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  /// Returns the namespace, "" where there is none. The text must live as long as the object.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};

/// Building with a plugin that is written in Python: types, shapes and formats.
class IPluginV3QuickBuild : public v_1_0::IPluginCapability {
 public:
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICK_BUILD", 1, 0};
  }
  /// Writes the types of all outputs, from the types and ranks of the inputs. Returns 0 on success.
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs,
                                     const DataType* inputTypes, const int32_t* inputRanks,
                                     int32_t nbInputs) const noexcept = 0;
  /// Writes the dimensions of all outputs as expressions, made with `exprBuilder`, of the inputs'
  /// dimensions and of the values of shape inputs. Returns 0 on success.
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs,
                                  const DimsExprs* shapeInputs, int32_t nbShapeInputs,
                                  DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;
  /// Tells the operands and the ranges of their extents that the plugin is built for. Descriptions
  /// are valid during the call only. Where it returns a number, 0 is success and others fail the
  /// build.
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* out,
                                  int32_t nbOutputs) noexcept = 0;
  /// Returns the number of combinations that getSupportedFormatCombinations() writes.
  virtual int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc* inOut,
                                                   int32_t nbInputs,
                                                   int32_t nbOutputs) noexcept = 0;
  /// Writes the types and formats that all operands may have together, one operand after the other
  /// for each combination. Returns 0 on success.
  virtual int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* inOut,
                                                 int32_t nbInputs, int32_t nbOutputs,
                                                 PluginTensorDesc* supportedCombinations,
                                                 int32_t nbFormatCombinations) noexcept = 0;
  /// Returns the number of outputs, at least 1.
  virtual int32_t getNbOutputs() const noexcept = 0;
  /// Returns the index of the input whose memory output `outputIndex` shares, or -1, as it is
  /// unless overridden.
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }
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
  /// Returns a text about the plugin, or null, as it is unless overridden. Not asked.
  virtual const char* getMetadataString() noexcept { return nullptr; }
};

/// Building with a plugin whose kernels are compiled ahead of time.
class IPluginV3QuickAOTBuild : public v_1_0::IPluginV3QuickBuild {
 public:
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICKAOT_BUILD", 1, 0};
  }
  /// Writes the grid, the block and the further arguments of the kernel as expressions of the
  /// inputs' dimensions. Returns 0 on success.
  virtual int32_t getLaunchParams(const DimsExprs* inputs, const DynamicPluginTensorDesc* inOut,
                                  int32_t nbInputs, int32_t nbOutputs,
                                  IKernelLaunchParams* launchParams, ISymExprs* extraArgs,
                                  IExprBuilder& exprBuilder) noexcept = 0;
  /// Writes the name and the code of the kernel that was compiled ahead of time. They belong to the
  /// plugin. Returns 0 on success.
  virtual int32_t getKernel(const PluginTensorDesc* in, int32_t nbInputs,
                            const PluginTensorDesc* out, int32_t nbOutputs, const char** kernelName,
                            char** compiledKernel, int32_t* compiledKernelSize) noexcept = 0;
  /// Chooses the tactic that enqueue() uses, one of getValidTactics(), or 0 for the only one.
  /// Returns 0 on success.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
};

/// Running a plugin that is written in Python.
class IPluginV3QuickRuntime : public v_1_0::IPluginCapability {
 public:
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICK_RUNTIME", 1, 0};
  }
  /// Chooses the tactic that enqueue() uses, one of getValidTactics(), or 0 for the only one.
  /// Returns 0 on success.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
  /// Puts the computation of the outputs on `stream`; strides are in elements. Returns 0 on
  /// success.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, const Dims* inputStrides,
                          const Dims* outputStrides, int32_t nbInputs, int32_t nbOutputs,
                          cudaStream_t stream) noexcept = 0;
  /// Returns the fields that the plan keeps, from which the creator makes the plugin again. They
  /// belong to the plugin and are valid until its next call.
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};

/// Makes plugins that are written in Python. Must outlive its registration.
class IPluginCreatorV3Quick : public v_1_0::IPluginCreatorInterface {
 public:
  IPluginCreatorV3Quick() = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN CREATOR_V3QUICK", 1, 0};
  }
  /// Makes a plugin from fields, for building or for running, compiled at run time or ahead of it.
  /// Null on failure. The caller owns the plugin.
  virtual v_1_0::IPluginV3* createPlugin(
      const AsciiChar* name, const AsciiChar* nspace, const PluginFieldCollection* fc,
      TensorRTPhase phase, QuickPluginCreationRequest quickPluginCreationRequest) noexcept = 0;
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

 protected:
  IPluginCreatorV3Quick(const IPluginCreatorV3Quick&) = default;
  IPluginCreatorV3Quick(IPluginCreatorV3Quick&&) = default;
  IPluginCreatorV3Quick& operator=(const IPluginCreatorV3Quick&) = default;
  IPluginCreatorV3Quick& operator=(IPluginCreatorV3Quick&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

using IPluginV3QuickCore = v_1_0::IPluginV3QuickCore;
using IPluginV3QuickBuild = v_1_0::IPluginV3QuickBuild;
using IPluginV3QuickAOTBuild = v_1_0::IPluginV3QuickAOTBuild;
using IPluginV3QuickRuntime = v_1_0::IPluginV3QuickRuntime;
using IPluginCreatorV3Quick = v_1_0::IPluginCreatorV3Quick;

}  // namespace nvinfer1
