#pragma once

#include <span>
#include <string_view>

namespace tenon {

struct DeviceSource {
  std::string_view path, text;
};

/// Generated from the files, in the order of their paths.
std::span<const DeviceSource> device_source_table();

}  // namespace tenon
