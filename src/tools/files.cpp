#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "tools/exports.h"

namespace tenon::tools {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error file_error(std::string_view what, const std::string& path) {
  return resource_error("cannot {} '{}': {}", what, path, std::strerror(errno));
}

}  // namespace

Status write_file(const std::string& path, std::span<const char> bytes) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  File file(std::fopen(temporary.c_str(), "wb"));
  if (!file) return file_error("write", path);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size() &&
                       std::fflush(file.get()) == 0 && fsync(fileno(file.get())) == 0;
  file.reset();
  if (!written || std::rename(temporary.c_str(), path.c_str()) != 0) {
    Error error = file_error("write", path);
    std::remove(temporary.c_str());
    return error;
  }
  return {};
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
