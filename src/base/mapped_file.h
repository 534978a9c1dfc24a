#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace tenon {

/// Bytes of a mapped file; `owner` keeps the mapping.
struct MappedBytes {
  const std::byte* data = nullptr;
  uint64_t size = 0;
  std::shared_ptr<const void> owner;

  std::span<const std::byte> bytes() const { return {data, static_cast<size_t>(size)}; }
  std::span<const char> chars() const {
    return {reinterpret_cast<const char*>(data), static_cast<size_t>(size)};
  }
};

/// All of a regular file that is open for reading; `name` is for messages.
Result<MappedBytes> map_descriptor(int descriptor, const std::string& name);

/// Lets go of whole pages that lie in the range: those of a mapped file leave the process's memory
/// until they are read again, from the system's cache; others lose their contents.
void release_pages(std::span<const std::byte> range);

/// All of a file that the user named.
Result<MappedBytes> map_file(const std::string& path);

}  // namespace tenon
