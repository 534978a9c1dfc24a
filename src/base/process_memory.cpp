#include "base/process_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace tenon {

namespace {

/// The system's number under that key, in bytes.
int64_t status_of(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::atoll(line.c_str() + key.size()) * 1024;
  return 0;
}

}  // namespace

/// getrusage() also counts the process before it became this program.
int64_t peak_resident_bytes() {
  return status_of("VmHWM:");
}

int64_t address_space_bytes() {
  return status_of("VmSize:");
}

int64_t address_space_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT64_MAX;
  return static_cast<int64_t>(std::min<uint64_t>(limit.rlim_cur, INT64_MAX));
}

}  // namespace tenon
