#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"

namespace tenon::importer {

/// Bytes of a mapped file; `owner` keeps the mapping.
struct MappedBytes {
  const std::byte* data = nullptr;
  uint64_t size = 0;
  std::shared_ptr<const void> owner;
};

/// The folder that a model's external data may come from, and nothing outside it: locations are
/// relative, without "..", and no component may be a symbolic link. Files are mapped once each.
class ExternalDataFolder {
 public:
  explicit ExternalDataFolder(std::string directory) : directory_(std::move(directory)) {}

  /// `size` 0 stands for the rest of the file. Offset and size are checked against the file.
  Result<MappedBytes> map(const std::string& location, uint64_t offset, uint64_t size);

 private:
  Result<MappedBytes> whole_file(const std::string& location);

  std::string directory_;
  std::map<std::string, MappedBytes> files_;
};

/// A whole file that the user named, mapped.
Result<MappedBytes> map_file(const std::string& path);

}  // namespace tenon::importer
