#include "base/process_memory.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace tenon {

/// getrusage() also counts what the process was before it became this program.
int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::atoll(line.c_str() + 6) * 1024;
  return 0;
}

}  // namespace tenon
