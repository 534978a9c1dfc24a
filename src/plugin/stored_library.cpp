#include "plugin/stored_library.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "plugin/registry.h"

namespace tenon::plugin {
namespace {

/// A file for the dynamic loader. While its descriptor is open, no other has its path, by which the
/// loader knows the library.
class LibraryFile {
 public:
  LibraryFile() = default;
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;
  ~LibraryFile() {
    remove();
    if (descriptor_ >= 0) close(descriptor_);
  }

  Status make(const StoredLibrary& library, const LibraryFiles& files) {
    if (files.in_memory) descriptor_ = memfd_create(library.name.c_str(), MFD_CLOEXEC);
    if (descriptor_ < 0 && files.in_folder) TENON_TRY(make_in_folder(files.folder));
    if (descriptor_ < 0)
      return user_error(
          "the plugin library '{}' of the plan needs a file: allow one with "
          "setTempfileControlFlags",
          library.name);
    return write_all(library);
  }
  std::string path() const {
    return path_.empty() ? fmt::format("/proc/self/fd/{}", descriptor_) : path_;
  }
  /// From its folder; who has it open keeps it.
  void remove() {
    if (!path_.empty()) unlink(path_.c_str());
    path_.clear();
  }

 private:
  Status make_in_folder(const std::string& wanted) {
    std::error_code failed;
    std::filesystem::path folder = wanted;
    if (wanted.empty()) folder = std::filesystem::temp_directory_path(failed);
    std::string name = (folder / "tenon-plugin-XXXXXX").string();
    descriptor_ = failed ? -1 : mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0)
      return user_error("no temporary file can be made in '{}': {} (setTemporaryDirectory)",
                        folder.string(), failed ? failed.message() : std::strerror(errno));
    path_ = std::move(name);
    return {};
  }
  Status write_all(const StoredLibrary& library) const {
    for (std::span<const std::byte> rest = library.bytes; !rest.empty();) {
      const ssize_t count = write(descriptor_, rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0)
        return user_error("the plugin library '{}' of the plan cannot be written to {}: {}",
                          library.name, path(), std::strerror(errno));
      rest = rest.subspan(static_cast<size_t>(count));
    }
    return {};
  }

  int descriptor_ = -1;
  std::string path_;  ///< Empty: in memory.
};

/// The libraries of plans that are loaded, by their hashes.
class LoadedLibraries {
 public:
  /// False where the library is not loaded.
  bool share(const std::string& hash) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(hash);
    if (found == entries_.end()) return false;
    ++found->second.users;
    return true;
  }
  /// Of all that are loaded.
  std::vector<std::string> share_all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> hashes;
    for (auto& [hash, entry] : entries_) {
      hashes.push_back(hash);
      ++entry.users;
    }
    return hashes;
  }
  Status load(const StoredLibrary& library, const LibraryFiles& files) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[library.hash];
    if (entry.users++ > 0) return {};
    entry.file = std::make_unique<LibraryFile>();
    Status status = entry.file->make(library, files);
    if (status.ok()) {
      entry.handle = registry().loadLibrary(entry.file->path().c_str());
      if (entry.handle == nullptr)
        status = user_error("the plugin library '{}' of the plan cannot be loaded from {}",
                            library.name, entry.file->path());
      entry.file->remove();
    }
    if (!status.ok()) entries_.erase(library.hash);
    return status;
  }
  void release(const std::string& hash) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(hash);
    if (--found->second.users > 0) return;
    registry().deregisterLibrary(found->second.handle);
    entries_.erase(found);
  }

 private:
  struct Entry {
    int users = 0;
    IPluginRegistry::PluginLibraryHandle handle = nullptr;
    std::unique_ptr<LibraryFile> file;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

/// Never destroyed: engines may live until the process ends.
LoadedLibraries& loaded_libraries() {
  static auto* const all = new LoadedLibraries;
  return *all;
}

/// The libraries that one engine holds; the last one goes first.
struct HeldLibraries {
  HeldLibraries() = default;
  HeldLibraries(const HeldLibraries&) = delete;
  HeldLibraries& operator=(const HeldLibraries&) = delete;
  ~HeldLibraries() {
    for (; !hashes.empty(); hashes.pop_back()) loaded_libraries().release(hashes.back());
  }
  std::vector<std::string> hashes;
};

}  // namespace

Result<std::shared_ptr<const void>> load_libraries(const std::vector<StoredLibrary>& libraries,
                                                   const LibraryFiles& files,
                                                   const std::function<bool()>& is_complete) {
  auto held = std::make_shared<HeldLibraries>();
  // Creators that make a plan complete may be those of another engine's library.
  held->hashes = loaded_libraries().share_all();
  for (const StoredLibrary& library : libraries) {
    if (!loaded_libraries().share(library.hash)) {
      if (is_complete()) continue;
      TENON_TRY(loaded_libraries().load(library, files));
    }
    held->hashes.push_back(library.hash);
  }
  return std::shared_ptr<const void>(std::move(held));
}

}  // namespace tenon::plugin
