#include "kernels/jit/sources.h"

#include "kernels/jit/source_table.h"

namespace tenon {

Result<std::string_view> device_file(std::string_view path) {
  for (const DeviceSource& source : device_source_table())
    if (source.path == path) return source.text;
  return internal_error("no device source '{}'", path);
}

Result<std::string> device_source(std::string_view path) {
  TENON_ASSIGN(const std::string_view text, device_file(path));
  return std::string(text);
}

}  // namespace tenon
