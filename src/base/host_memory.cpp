#include "base/host_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {
namespace {

/// Asking the system takes some 30 us; memory does not run out by smaller blocks.
constexpr int64_t kSmall = int64_t{64} << 20;

std::optional<int64_t> number_in(const char* path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// The number behind a key, of a file of such lines.
std::optional<int64_t> number_of(const char* path, std::string_view key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    int64_t number = 0;
    if (word == key) return file >> number ? std::optional(number) : std::nullopt;
    file.ignore(1024, '\n');
  }
  return std::nullopt;
}

/// The rest of a container's limit, pages of files not counted, which give way.
int64_t left_in_container() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return INT64_MAX;
  const int64_t files = number_of("/sys/fs/cgroup/memory.stat", "inactive_file").value_or(0) +
                        number_of("/sys/fs/cgroup/memory.stat", "active_file").value_or(0);
  return std::max<int64_t>(0, *limit - *used + files);
}

}  // namespace

int64_t available_host_memory() {
  constexpr int64_t kKibi = 1024;
  const auto available = number_of("/proc/meminfo", "MemAvailable:");
  return std::min(available ? *available * kKibi : INT64_MAX, left_in_container());
}

bool fits_host_memory(int64_t bytes) {
  return bytes < kSmall || bytes <= available_host_memory();
}

}  // namespace tenon
