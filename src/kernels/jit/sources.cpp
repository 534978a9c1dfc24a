#include "kernels/jit/sources.h"

#include "kernels/jit/source_table.h"

namespace tenon {

Result<std::string> device_source(std::string_view path) {
  for (const DeviceSource& source : device_source_table())
    if (source.path == path) return std::string(source.text);
  return internal_error("no device source '{}'", path);
}

}  // namespace tenon
