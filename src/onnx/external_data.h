#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/mapped_file.h"
#include "base/status.h"

namespace tenon::importer {

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

}  // namespace tenon::importer
