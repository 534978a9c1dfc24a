#pragma once

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "NvInferRuntime.h"

namespace tenon::plugin {

using namespace nvinfer1;  // The surface's own names, in the class that implements it.

/// IPluginRegistry: creators by name, version and namespace. Thread-safe.
class Registry final : public IPluginRegistry {
 public:
  bool registerCreator(IPluginCreator& creator, const AsciiChar* const space) noexcept override;
  bool registerCreator(IPluginCreatorInterface& creator,
                       const AsciiChar* const space) noexcept override;
  IPluginCreator* const* getPluginCreatorList(int32_t* const count) const noexcept override;
  IPluginCreator* getPluginCreator(const AsciiChar* const name, const AsciiChar* const version,
                                   const AsciiChar* const space) noexcept override;
  void setErrorRecorder(IErrorRecorder* const recorder) noexcept override { recorder_ = recorder; }
  IErrorRecorder* getErrorRecorder() const noexcept override { return recorder_; }
  bool deregisterCreator(const IPluginCreator& creator) noexcept override;
  bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept override;
  bool isParentSearchEnabled() const noexcept override { return parent_search_; }
  void setParentSearchEnabled(const bool enabled) noexcept override { parent_search_ = enabled; }
  PluginLibraryHandle loadLibrary(const AsciiChar* path) noexcept override;
  /// With the last handle of a library go its creators, before its code.
  void deregisterLibrary(PluginLibraryHandle handle) noexcept override;
  IPluginCreatorInterface* const* getAllCreators(int32_t* const count) const noexcept override;
  IPluginCreatorInterface* getCreator(const AsciiChar* const name, const AsciiChar* const version,
                                      const AsciiChar* const space) noexcept override;
  IPluginResource* acquirePluginResource(const AsciiChar* key,
                                         IPluginResource* resource) noexcept override;
  int32_t releasePluginResource(const AsciiChar* key) noexcept override;
  IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* const count) noexcept override;

  /// getCreator() for those who tell its miss themselves.
  IPluginCreatorInterface* find(const std::string& name, const std::string& version,
                                const std::string& space) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // Name, version, namespace.
  bool add(IPluginCreatorInterface& creator, const Key& key);
  void refresh_lists() const;
  /// Logs and records an error of a call; `message` gives its text.
  template <class F> void complain(ErrorCode code, const char* call, F&& message) const noexcept;

  mutable std::mutex mutex_;
  std::map<Key, IPluginCreatorInterface*> creators_;
  std::map<void*, int32_t> libraries_;  ///< How often each was loaded.
  mutable std::vector<IPluginCreatorInterface*> all_;
  mutable std::vector<IPluginCreator*> first_version_;
  struct Resource {
    IPluginResource* object = nullptr;
    int32_t count = 0;
  };
  std::map<std::string, Resource> resources_;
  IErrorRecorder* recorder_ = nullptr;
  bool parent_search_ = true;
};

/// The registry of the process.
Registry& registry();

}  // namespace tenon::plugin
