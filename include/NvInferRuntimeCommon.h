#pragma once

/// TensorRT 10.16 surface: the plugin registry.

#include "NvInferRuntimePlugin.h"

namespace nvinfer1 {

class IPluginRegistry;

/// Where plugin creators are found by name, version and namespace.
class IPluginRegistry {
 public:
  using PluginLibraryHandle = void*;
  /// Adds a creator under its name and version and a namespace. Returns false where that key is
  /// taken, or the creator is of an unknown kind. The creator must stay alive until it is
  /// deregistered. Thread-safe.
  TRT_DEPRECATED virtual bool registerCreator(IPluginCreator& creator,
                                              const AsciiChar* const pluginNamespace) noexcept = 0;
  /// Returns the creators of the second generation, and their number in `numCreators`. The list is
  /// valid until the next call for a list. Use getAllCreators().
  TRT_DEPRECATED virtual IPluginCreator* const* getPluginCreatorList(
      int32_t* const numCreators) const noexcept = 0;
  /// Returns the creator of the second generation for a name, version and namespace, or null. Use
  /// getCreator(). Thread-safe.
  TRT_DEPRECATED virtual IPluginCreator* getPluginCreator(
      const AsciiChar* const pluginName, const AsciiChar* const pluginVersion,
      const AsciiChar* const pluginNamespace = "") noexcept = 0;
  virtual ~IPluginRegistry() noexcept = default;
  /// Sets the recorder that errors of this object and of the objects made from it are reported to,
  /// beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null. The library counts its reference with incRefCount() and decRefCount().
  virtual void setErrorRecorder(IErrorRecorder* const recorder) noexcept = 0;
  /// Returns the recorder that errors of this object and of the objects made from it are reported
  /// to, beside the logger; null for none. The application owns it, and it must outlive the object.
  /// Default: null.
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  /// Removes a creator. Returns false where it was not registered. Plugins that it made stay valid.
  /// Thread-safe.
  TRT_DEPRECATED virtual bool deregisterCreator(const IPluginCreator& creator) noexcept = 0;
  /// Returns whether lookups go on in a parent registry. A process has one registry, so it has no
  /// effect. Default: true.
  virtual bool isParentSearchEnabled() const = 0;
  /// Sets whether lookups go on in a parent registry. A process has one registry, so it has no
  /// effect. Default: true.
  virtual void setParentSearchEnabled(const bool enabled) = 0;
  /// Loads a shared library of plugins and registers its creators: those of its getCreators(), else
  /// of getPluginCreators(), beside those that register themselves while it loads. Its
  /// setLoggerFinder(), if any, is called first. Returns a handle for deregisterLibrary(), or null
  /// where the library cannot be loaded. Thread-safe.
  virtual IPluginRegistry::PluginLibraryHandle loadLibrary(
      const AsciiChar* pluginPath) noexcept = 0;
  /// Removes the creators of a library that loadLibrary() loaded, and unloads it when this was
  /// called as often as loadLibrary(). Other handles are ignored. No plugin of the library may be
  /// alive. Thread-safe.
  virtual void deregisterLibrary(IPluginRegistry::PluginLibraryHandle handle) noexcept = 0;
  /// Adds a creator under its name and version and a namespace. Returns false where that key is
  /// taken, or the creator is of an unknown kind. The creator must stay alive until it is
  /// deregistered. Thread-safe.
  virtual bool registerCreator(IPluginCreatorInterface& creator,
                               const AsciiChar* const pluginNamespace) noexcept = 0;
  /// Returns all creators, and their number in `numCreators`. The list is valid until the next call
  /// for a list.
  virtual IPluginCreatorInterface* const* getAllCreators(
      int32_t* const numCreators) const noexcept = 0;
  /// Returns the creator for a name, version and namespace, or null where there is none.
  /// Thread-safe.
  virtual IPluginCreatorInterface* getCreator(
      const AsciiChar* const pluginName, const AsciiChar* const pluginVersion,
      const AsciiChar* const pluginNamespace = "") noexcept = 0;
  /// Removes a creator. Returns false where it was not registered. Plugins that it made stay valid.
  /// Thread-safe.
  virtual bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept = 0;
  /// Returns the resource that is kept under `key`, and counts one user more. Where there is none,
  /// a clone of `resource` is kept. Null where both are missing or the clone failed. Thread-safe.
  virtual IPluginResource* acquirePluginResource(const AsciiChar* key,
                                                 IPluginResource* resource) noexcept = 0;
  /// Counts one user less of the resource under `key`, and releases it after the last. Returns 0 on
  /// success, the resource's own status from release(), or -1 for an unknown key. Thread-safe.
  virtual int32_t releasePluginResource(const AsciiChar* key) noexcept = 0;
  /// Returns all creators of this registry and its parents, and their number in `numCreators`.
  /// There is one registry, so it is getAllCreators(). Since 10.10.
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
