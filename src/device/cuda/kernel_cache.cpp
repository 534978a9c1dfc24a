#include "device/cuda/kernel_cache.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/environment.h"

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
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const size_t thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  const fs::path draft = fmt::format("{}.{}-{:x}", path.string(), getpid(), thread);
  std::ofstream file(draft, std::ios::binary);
  file.write(binary.data(), static_cast<std::streamsize>(binary.size()));
  file << checksum(binary);
  file.close();
  if (file) fs::rename(draft, path, error);
  const bool is_kept = file && !error;
  if (!is_kept) fs::remove(draft, error);
  return is_kept;
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
