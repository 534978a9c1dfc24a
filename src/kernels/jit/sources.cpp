#include "kernels/jit/sources.h"

#include <algorithm>

#include "kernels/jit/source_table.h"

namespace tenon {

Result<std::string_view> device_file(std::string_view path) {
  const auto table = device_source_table();
  const auto found = std::ranges::lower_bound(table, path, {}, &DeviceSource::path);
  if (found != table.end() && found->path == path) return found->text;
  return internal_error("no device source '{}'", path);
}

Result<std::string> device_source(std::string_view path) {
  TENON_ASSIGN(const std::string_view text, device_file(path));
  return std::string(text);
}

}  // namespace tenon
