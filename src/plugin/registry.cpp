#include "plugin/registry.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <string_view>

#include "base/guard.h"
#include "base/printable.h"
#include "plugin/logger_lease.h"
#include "plugin/missing.h"

namespace tenon::plugin {
namespace {

std::string text(const char* string) {
  return string == nullptr ? std::string() : std::string(string);
}

/// The library that an address belongs to, or null.
const link_map* library_of(const void* address) {
  Dl_info info{};
  void* map = nullptr;
  const bool found = dladdr1(address, &info, &map, RTLD_DL_LINKMAP) != 0;
  return found ? static_cast<const link_map*>(map) : nullptr;
}

/// Whether the creator's object or the code of its methods goes when the library goes, however it
/// was registered.
bool belongs_to(const IPluginCreatorInterface* creator, const link_map* library) {
  const void* methods = *reinterpret_cast<const void* const*>(creator);
  return library_of(creator) == library || library_of(methods) == library;
}

/// The logger of plugins, asked for each time: the application may have made its first object
/// since.
class FirstLoggerFinder final : public ILoggerFinder {
 public:
  ILogger* findLogger() override { return first_logger(); }
};

ILoggerFinder& logger_finder() {
  static FirstLoggerFinder finder;
  return finder;
}

std::string described(const std::string& name, const std::string& version,
                      const std::string& space) {
  return fmt::format("'{}', version '{}', namespace '{}'", printable_name(name),
                     printable_name(version), printable_name(space));
}

}  // namespace

Registry& registry() {
  static Registry instance;
  return instance;
}

template <class F>
void Registry::complain(ErrorCode code, const char* call, F&& message) const noexcept {
  const Status status =
      guarded(call, [&]() -> Status { return user_error("{}: {}", call, printable(message())); });
  const char* const text = status.error().message.c_str();
  if (ILogger* const logger = first_logger()) logger->log(ILogger::Severity::kERROR, text);
  if (recorder_ != nullptr) recorder_->reportError(code, text);
}

bool Registry::add(IPluginCreatorInterface& creator, const Key& key) {
  {
    const std::lock_guard lock(mutex_);
    if (creators_.try_emplace(key, &creator).second) return true;
  }
  complain(ErrorCode::kINVALID_STATE, "registerCreator", [&] {
    const auto& [name, version, space] = key;
    return fmt::format("there is a creator of {}", described(name, version, space));
  });
  return false;
}

bool Registry::registerCreator(IPluginCreatorInterface& creator,
                               const AsciiChar* const space) noexcept {
  const std::string_view kind = creator.getInterfaceInfo().kind;
  if (kind == "PLUGIN CREATOR_V1")
    return registerCreator(static_cast<IPluginCreator&>(creator), space);
  if (kind != "PLUGIN CREATOR_V3ONE") {
    complain(ErrorCode::kINVALID_ARGUMENT, "registerCreator", [&] {
      return fmt::format(
          "networks take no plugins of creators of the kind '{}'; derive it from "
          "IPluginCreatorV3One",
          kind);
    });
    return false;
  }
  const auto& third = static_cast<IPluginCreatorV3One&>(creator);
  return add(creator, {text(third.getPluginName()), text(third.getPluginVersion()), text(space)});
}

bool Registry::registerCreator(IPluginCreator& creator, const AsciiChar* const space) noexcept {
  creator.setPluginNamespace(space == nullptr ? "" : space);
  return add(creator,
             {text(creator.getPluginName()), text(creator.getPluginVersion()), text(space)});
}

bool Registry::deregisterCreator(const IPluginCreatorInterface& creator) noexcept {
  const std::lock_guard lock(mutex_);
  return std::erase_if(creators_, [&](const auto& entry) { return entry.second == &creator; }) > 0;
}
bool Registry::deregisterCreator(const IPluginCreator& creator) noexcept {
  return deregisterCreator(static_cast<const IPluginCreatorInterface&>(creator));
}

void Registry::refresh_lists() const {
  all_.clear();
  first_version_.clear();
  for (const auto& [key, creator] : creators_) {
    all_.push_back(creator);
    if (std::string_view(creator->getInterfaceInfo().kind) == "PLUGIN CREATOR_V1")
      first_version_.push_back(static_cast<IPluginCreator*>(creator));
  }
}

IPluginCreator* const* Registry::getPluginCreatorList(int32_t* const count) const noexcept {
  const std::lock_guard lock(mutex_);
  refresh_lists();
  if (count != nullptr) *count = static_cast<int32_t>(first_version_.size());
  return first_version_.data();
}

IPluginCreatorInterface* const* Registry::getAllCreators(int32_t* const count) const noexcept {
  const std::lock_guard lock(mutex_);
  refresh_lists();
  if (count != nullptr) *count = static_cast<int32_t>(all_.size());
  return all_.data();
}
IPluginCreatorInterface* const* Registry::getAllCreatorsRecursive(int32_t* const count) noexcept {
  return getAllCreators(count);
}

IPluginCreatorInterface* Registry::getCreator(const AsciiChar* const name,
                                              const AsciiChar* const version,
                                              const AsciiChar* const space) noexcept {
  const Identity identity{text(name), text(version), text(space)};
  IPluginCreatorInterface* const found = find(identity.type, identity.version, identity.space);
  if (found == nullptr)
    complain(ErrorCode::kINVALID_ARGUMENT, "getCreator", [&] {
      return fmt::format("no plugin {} is registered{}",
                         described(identity.type, identity.version, identity.space),
                         missing_hint(identity));
    });
  return found;
}

IPluginCreatorInterface* Registry::find(const std::string& name, const std::string& version,
                                        const std::string& space) const {
  const std::lock_guard lock(mutex_);
  const auto found = creators_.find({name, version, space});
  return found == creators_.end() ? nullptr : found->second;
}

IPluginCreator* Registry::getPluginCreator(const AsciiChar* const name,
                                           const AsciiChar* const version,
                                           const AsciiChar* const space) noexcept {
  IPluginCreatorInterface* creator = getCreator(name, version, space);
  if (creator == nullptr ||
      std::string_view(creator->getInterfaceInfo().kind) != "PLUGIN CREATOR_V1")
    return nullptr;
  return static_cast<IPluginCreator*>(creator);
}

IPluginRegistry::PluginLibraryHandle Registry::loadLibrary(const AsciiChar* path) noexcept {
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* const reason = path == nullptr ? "no path was given" : dlerror();
    complain(ErrorCode::kINVALID_ARGUMENT, "loadLibrary", [&] { return std::string(reason); });
    return nullptr;
  }
  {
    const std::lock_guard lock(mutex_);
    ++libraries_[library];
  }
  using GetCreators = IPluginCreatorInterface* const* (*)(int32_t&);
  using SetLoggerFinder = void (*)(ILoggerFinder*);
  if (const auto set = reinterpret_cast<SetLoggerFinder>(dlsym(library, "setLoggerFinder")))
    set(&logger_finder());
  // Libraries of the second generation have the other name alone, and some of the third use it for
  // their creators too: each says itself of which kind it is. A library with neither registered
  // itself while it was loaded.
  for (const char* name : {"getCreators", "getPluginCreators"}) {
    const auto get = reinterpret_cast<GetCreators>(dlsym(library, name));
    if (get == nullptr) continue;
    int32_t count = 0;
    IPluginCreatorInterface* const* creators = get(count);
    for (int32_t i = 0; i < count; ++i) registerCreator(*creators[i], "");
    break;
  }
  return library;
}

void Registry::deregisterLibrary(PluginLibraryHandle handle) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto found = libraries_.find(handle);
    if (found == libraries_.end()) return;  // Not one of loadLibrary's: closing it may crash.
    if (--found->second == 0) {
      libraries_.erase(found);
      link_map* map = nullptr;
      if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
        std::erase_if(creators_, [&](const auto& entry) { return belongs_to(entry.second, map); });
    }
  }
  dlclose(handle);
}

IPluginResource* Registry::acquirePluginResource(const AsciiChar* key,
                                                 IPluginResource* resource) noexcept {
  const std::lock_guard lock(mutex_);
  Resource& entry = resources_[text(key)];
  if (entry.object == nullptr && resource != nullptr) entry.object = resource->clone();
  if (entry.object != nullptr) ++entry.count;
  return entry.object;
}

int32_t Registry::releasePluginResource(const AsciiChar* key) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = resources_.find(text(key));
  if (found == resources_.end()) return -1;
  if (--found->second.count > 0) return 0;
  const int32_t status = found->second.object->release();
  resources_.erase(found);
  return status;
}

}  // namespace tenon::plugin
