#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "tools/exports.h"

namespace tenon::tools {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error file_error(std::string_view what, const std::string& path, int error = errno) {
  return resource_error("cannot {} '{}': {}", what, path, std::strerror(error));
}

/// Writes all that a stream takes, and closes it. Gives errno, 0 where it is all there.
int write_and_close(std::FILE* stream, std::span<const char> bytes, bool to_disk) {
  File file(stream);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size() &&
                       std::fflush(file.get()) == 0 && (!to_disk || fsync(fileno(stream)) == 0);
  const int error = errno;
  return std::fclose(file.release()) == 0 && written ? 0 : written ? errno : error;
}

/// For devices and pipes, which another file must not take the place of, and for files in folders
/// that take no new ones.
Status write_in_place(const std::string& path, std::span<const char> bytes) {
  std::FILE* stream = std::fopen(path.c_str(), "wb");
  if (stream == nullptr) return file_error("write", path);
  const int error = write_and_close(stream, bytes, /*to_disk=*/false);
  return error == 0 ? Status() : file_error("write", path, error);
}

/// The file behind links, so that they stay links.
std::string behind_links(const std::string& path) {
  std::error_code error;
  const auto file = std::filesystem::canonical(path, error);
  return error ? path : file.string();
}

}  // namespace

Status write_file(const std::string& path, std::span<const char> bytes) {
  struct stat status {};
  const bool is_there = stat(path.c_str(), &status) == 0;
  if (is_there && !S_ISREG(status.st_mode)) return write_in_place(path, bytes);
  const std::string file = behind_links(path);
  const std::string temporary = fmt::format("{}.{}.tmp", file, getpid());
  std::FILE* stream = std::fopen(temporary.c_str(), "wb");
  if (stream == nullptr)
    return is_there ? write_in_place(path, bytes) : Status(file_error("write", path));
  int error = write_and_close(stream, bytes, /*to_disk=*/true);
  if (error == 0 && std::rename(temporary.c_str(), file.c_str()) != 0) error = errno;
  if (error == 0) return {};
  std::remove(temporary.c_str());
  return file_error("write", path, error);
}

Status check_writable(const std::string& path) {
  struct stat status {};
  if (path.empty()) return user_error("no file is named");
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return file_error("write", path, EISDIR);
    return access(path.c_str(), W_OK) == 0 ? Status() : file_error("write", path);
  }
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  return access(folder.c_str(), W_OK | X_OK) == 0 ? Status() : file_error("write", path);
}

Result<uint64_t> file_size(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return file_error("read", path);
  if (!S_ISREG(status.st_mode)) return resource_error("cannot read '{}': it is not a file", path);
  return static_cast<uint64_t>(status.st_size);
}

Result<std::vector<char>> read_file(const std::string& path, uint64_t limit) {
  const File file(std::fopen(path.c_str(), "rb"));
  struct stat status {};
  if (!file || fstat(fileno(file.get()), &status) != 0) return file_error("read", path);
  if (!S_ISREG(status.st_mode)) return resource_error("cannot read '{}': it is not a file", path);
  std::vector<char> bytes(std::min<uint64_t>(status.st_size, limit));
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
    return file_error("read", path);
  return bytes;
}

}  // namespace tenon::tools
