#include "device/cuda/kernel_cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>

#include "base/environment.h"
#include "base/replace_file.h"

namespace tenon::cuda {
namespace {

namespace fs = std::filesystem;

std::string checksum(std::string_view bytes) {
  const XXH64_hash_t hash = XXH3_64bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}", hash);
}

fs::path file_of(const std::string& key) {
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / "kernels" / (key + ".bin");
}

}  // namespace

std::optional<std::string> find_cached_kernel(const std::string& key) {
  const fs::path path = file_of(key);
  if (path.empty()) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr size_t kChecksumDigits = 16;
  if (bytes.size() < kChecksumDigits) return std::nullopt;
  const std::string expected = bytes.substr(bytes.size() - kChecksumDigits);
  bytes.resize(bytes.size() - kChecksumDigits);
  if (checksum(bytes) != expected) return std::nullopt;
  return bytes;
}

bool keep_cached_kernel(const std::string& key, std::string_view binary) {
  const fs::path path = file_of(key);
  if (path.empty()) return false;
  return replace_file(path, std::string(binary) + checksum(binary));
}

Status check_kernel_cache() {
  // A full disk takes no file either, however short.
  const fs::path folder = cache_folder();
  if (folder.empty() || keep_cached_kernel("writable", "yes")) return {};
  return resource_error(
      "compiled kernels cannot be kept in '{}', so that every process compiles them again: make "
      "the folder writable and see that its disk is not full, or name another one in "
      "TENON_CACHE_DIR (an empty name if this is as it should be)",
      (folder / "kernels").string());
}

}  // namespace tenon::cuda
