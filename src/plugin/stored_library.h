#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace tenon::plugin {

/// A plugin library whose bytes lie in a plan.
struct StoredLibrary {
  std::string name;  ///< Of its file, for messages.
  std::span<const std::byte> bytes;
  std::string hash;  ///< Of the bytes.
};

/// Files that the dynamic loader may read such libraries from.
struct LibraryFiles {
  bool in_memory = true;  ///< Without a name; tried first.
  bool in_folder = true;
  std::string folder;  ///< Empty: the system's folder for temporary files.
};

/// Loads the libraries into the process's registry, in their order, until the result and its copies
/// are gone; equal bytes are loaded once. A library that is not loaded yet is left out where
/// `is_complete` says that the registry has all creators: the application's come first.
Result<std::shared_ptr<const void>> load_libraries(const std::vector<StoredLibrary>& libraries,
                                                   const LibraryFiles& files,
                                                   const std::function<bool()>& is_complete);

}  // namespace tenon::plugin
