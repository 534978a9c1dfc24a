#pragma once

/// TensorRT 10.16 surface: plugins of one tactic that are written in Python ("quick"), and those
/// whose kernels are compiled ahead of time. Declared for programs that name them; networks refuse
/// such plugins.

#include "../NvInferPluginBase.h"
#include "../NvInferRuntime.h"

namespace nvinfer1 {

enum class PluginArgType : int32_t {
  kINT = 0,
};

enum class PluginArgDataType : int32_t {
  kINT8 = 0,
  kINT16 = 1,
  kINT32 = 2,
};

/// An integer that depends on the extents of a plugin's inputs.
class ISymExpr {
 public:
  virtual ~ISymExpr() noexcept = default;
  virtual PluginArgType getType() const noexcept = 0;
  virtual PluginArgDataType getDataType() const noexcept = 0;
  virtual void* getExpr() noexcept = 0;
};

class ISymExprsImpl {
 public:
  virtual ~ISymExprsImpl() noexcept = default;
  virtual ISymExpr* getSymExpr(int32_t index) const noexcept = 0;
  virtual bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept = 0;
  virtual int32_t getNbSymExprs() const noexcept = 0;
  virtual bool setNbSymExprs(int32_t count) noexcept = 0;
};

/// Further arguments of a kernel.
class ISymExprs {
 public:
  virtual ~ISymExprs() noexcept = default;
  ISymExpr* getSymExpr(int32_t index) const noexcept { return mImpl->getSymExpr(index); }
  bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept {
    return mImpl->setSymExpr(index, symExpr);
  }
  int32_t getNbSymExprs() const noexcept { return mImpl->getNbSymExprs(); }
  bool setNbSymExprs(int32_t count) noexcept { return mImpl->setNbSymExprs(count); }

 protected:
  ISymExprsImpl* mImpl{nullptr};
};

/// Whether a plugin should compile its kernels at run time or ahead of it.
enum class QuickPluginCreationRequest : int32_t {
  kUNKNOWN = 0,
  kPREFER_JIT = 1,
  kPREFER_AOT = 2,
  kSTRICT_JIT = 3,
  kSTRICT_AOT = 4,
};

class IKernelLaunchParamsImpl {
 public:
  virtual ~IKernelLaunchParamsImpl() noexcept = default;
  virtual ISymExpr* getGridX() noexcept = 0;
  virtual bool setGridX(ISymExpr* gridX) noexcept = 0;
  virtual ISymExpr* getGridY() noexcept = 0;
  virtual bool setGridY(ISymExpr* gridY) noexcept = 0;
  virtual ISymExpr* getGridZ() noexcept = 0;
  virtual bool setGridZ(ISymExpr* gridZ) noexcept = 0;
  virtual ISymExpr* getBlockX() noexcept = 0;
  virtual bool setBlockX(ISymExpr* blockX) noexcept = 0;
  virtual ISymExpr* getBlockY() noexcept = 0;
  virtual bool setBlockY(ISymExpr* blockY) noexcept = 0;
  virtual ISymExpr* getBlockZ() noexcept = 0;
  virtual bool setBlockZ(ISymExpr* blockZ) noexcept = 0;
  virtual ISymExpr* getSharedMem() noexcept = 0;
  virtual bool setSharedMem(ISymExpr* sharedMem) noexcept = 0;
};

/// The grid, the blocks and the shared memory of a kernel.
class IKernelLaunchParams {
 public:
  virtual ~IKernelLaunchParams() noexcept = default;
  ISymExpr* getGridX() noexcept { return mImpl->getGridX(); }
  bool setGridX(ISymExpr* gridX) noexcept { return mImpl->setGridX(gridX); }
  ISymExpr* getGridY() noexcept { return mImpl->getGridY(); }
  bool setGridY(ISymExpr* gridY) noexcept { return mImpl->setGridY(gridY); }
  ISymExpr* getGridZ() noexcept { return mImpl->getGridZ(); }
  bool setGridZ(ISymExpr* gridZ) noexcept { return mImpl->setGridZ(gridZ); }
  ISymExpr* getBlockX() noexcept { return mImpl->getBlockX(); }
  bool setBlockX(ISymExpr* blockX) noexcept { return mImpl->setBlockX(blockX); }
  ISymExpr* getBlockY() noexcept { return mImpl->getBlockY(); }
  bool setBlockY(ISymExpr* blockY) noexcept { return mImpl->setBlockY(blockY); }
  ISymExpr* getBlockZ() noexcept { return mImpl->getBlockZ(); }
  bool setBlockZ(ISymExpr* blockZ) noexcept { return mImpl->setBlockZ(blockZ); }
  ISymExpr* getSharedMem() noexcept { return mImpl->getSharedMem(); }
  bool setSharedMem(ISymExpr* sharedMem) noexcept { return mImpl->setSharedMem(sharedMem); }

 protected:
  IKernelLaunchParamsImpl* mImpl{nullptr};
};

}  // namespace nvinfer1

namespace nvinfer1::v_1_0 {

class IPluginV3QuickCore : public v_1_0::IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICK_CORE", 1, 0};
  }
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};

class IPluginV3QuickBuild : public v_1_0::IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICK_BUILD", 1, 0};
  }
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs,
                                     const DataType* inputTypes, const int32_t* inputRanks,
                                     int32_t nbInputs) const noexcept = 0;
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs,
                                  const DimsExprs* shapeInputs, int32_t nbShapeInputs,
                                  DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* out,
                                  int32_t nbOutputs) noexcept = 0;
  virtual int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc* inOut,
                                                   int32_t nbInputs,
                                                   int32_t nbOutputs) noexcept = 0;
  virtual int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* inOut,
                                                 int32_t nbInputs, int32_t nbOutputs,
                                                 PluginTensorDesc* supportedCombinations,
                                                 int32_t nbFormatCombinations) noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept {
    return 0;
  }
  virtual int32_t getNbTactics() noexcept { return 0; }
  virtual const char* getTimingCacheID() noexcept { return nullptr; }
  virtual const char* getMetadataString() noexcept { return nullptr; }
};

class IPluginV3QuickAOTBuild : public v_1_0::IPluginV3QuickBuild {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICKAOT_BUILD", 1, 0};
  }
  virtual int32_t getLaunchParams(const DimsExprs* inputs, const DynamicPluginTensorDesc* inOut,
                                  int32_t nbInputs, int32_t nbOutputs,
                                  IKernelLaunchParams* launchParams, ISymExprs* extraArgs,
                                  IExprBuilder& exprBuilder) noexcept = 0;
  virtual int32_t getKernel(const PluginTensorDesc* in, int32_t nbInputs,
                            const PluginTensorDesc* out, int32_t nbOutputs, const char** kernelName,
                            char** compiledKernel, int32_t* compiledKernelSize) noexcept = 0;
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
};

class IPluginV3QuickRuntime : public v_1_0::IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN_V3QUICK_RUNTIME", 1, 0};
  }
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, const Dims* inputStrides,
                          const Dims* outputStrides, int32_t nbInputs, int32_t nbOutputs,
                          cudaStream_t stream) noexcept = 0;
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};

class IPluginCreatorV3Quick : public v_1_0::IPluginCreatorInterface {
 public:
  IPluginCreatorV3Quick() = default;
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"PLUGIN CREATOR_V3QUICK", 1, 0};
  }
  virtual v_1_0::IPluginV3* createPlugin(
      const AsciiChar* name, const AsciiChar* nspace, const PluginFieldCollection* fc,
      TensorRTPhase phase, QuickPluginCreationRequest quickPluginCreationRequest) noexcept = 0;
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;

 protected:
  IPluginCreatorV3Quick(const IPluginCreatorV3Quick&) = default;
  IPluginCreatorV3Quick(IPluginCreatorV3Quick&&) = default;
  IPluginCreatorV3Quick& operator=(const IPluginCreatorV3Quick&) = default;
  IPluginCreatorV3Quick& operator=(IPluginCreatorV3Quick&&) = default;
};

}  // namespace nvinfer1::v_1_0

namespace nvinfer1 {

using IPluginV3QuickCore = v_1_0::IPluginV3QuickCore;
using IPluginV3QuickBuild = v_1_0::IPluginV3QuickBuild;
using IPluginV3QuickAOTBuild = v_1_0::IPluginV3QuickAOTBuild;
using IPluginV3QuickRuntime = v_1_0::IPluginV3QuickRuntime;
using IPluginCreatorV3Quick = v_1_0::IPluginCreatorV3Quick;

}  // namespace nvinfer1
