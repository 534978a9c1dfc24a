#pragma once

/// TensorRT 10.16 surface: the plugin registry.

#include "NvInferRuntimePlugin.h"

namespace nvinfer1 {

class IPluginRegistry;

/// Where plugin creators are found by name, version and namespace.
class IPluginRegistry {
 public:
  using PluginLibraryHandle = void*;
  TRT_DEPRECATED virtual bool registerCreator(IPluginCreator& creator,
                                              const AsciiChar* const pluginNamespace) noexcept = 0;
  TRT_DEPRECATED virtual IPluginCreator* const* getPluginCreatorList(
      int32_t* const numCreators) const noexcept = 0;
  TRT_DEPRECATED virtual IPluginCreator* getPluginCreator(
      const AsciiChar* const pluginName, const AsciiChar* const pluginVersion,
      const AsciiChar* const pluginNamespace = "") noexcept = 0;
  virtual ~IPluginRegistry() noexcept = default;
  virtual void setErrorRecorder(IErrorRecorder* const recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  TRT_DEPRECATED virtual bool deregisterCreator(const IPluginCreator& creator) noexcept = 0;
  virtual bool isParentSearchEnabled() const = 0;
  virtual void setParentSearchEnabled(const bool enabled) = 0;
  virtual IPluginRegistry::PluginLibraryHandle loadLibrary(
      const AsciiChar* pluginPath) noexcept = 0;
  virtual void deregisterLibrary(IPluginRegistry::PluginLibraryHandle handle) noexcept = 0;
  virtual bool registerCreator(IPluginCreatorInterface& creator,
                               const AsciiChar* const pluginNamespace) noexcept = 0;
  virtual IPluginCreatorInterface* const* getAllCreators(
      int32_t* const numCreators) const noexcept = 0;
  virtual IPluginCreatorInterface* getCreator(
      const AsciiChar* const pluginName, const AsciiChar* const pluginVersion,
      const AsciiChar* const pluginNamespace = "") noexcept = 0;
  virtual bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept = 0;
  virtual IPluginResource* acquirePluginResource(const AsciiChar* key,
                                                 IPluginResource* resource) noexcept = 0;
  virtual int32_t releasePluginResource(const AsciiChar* key) noexcept = 0;
  virtual IPluginCreatorInterface* const* getAllCreatorsRecursive(
      int32_t* const numCreators) noexcept = 0;

 protected:
  IPluginRegistry() = default;
  IPluginRegistry(const IPluginRegistry&) = default;
  IPluginRegistry& operator=(const IPluginRegistry&) = default;
  IPluginRegistry(IPluginRegistry&&) = default;
  IPluginRegistry& operator=(IPluginRegistry&&) = default;
};

}  // namespace nvinfer1
