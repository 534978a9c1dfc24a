#include "tools/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/file_place.h"
#include "base/mapped_file.h"
#include "base/unnamed_file.h"
#include "tools/exports.h"

namespace tenon::tools {
namespace {

std::string temporary_of(const std::string& path) {
  return fmt::format("{}.{}.tmp", behind_links(path).string(), getpid());
}

Error write_error(const std::string& path, int error) {
  return resource_error("cannot write '{}': {}", path, std::strerror(error));
}

}  // namespace

NewFile::NewFile(std::string path, int descriptor)
    : path_(std::move(path)), temporary_(temporary_of(path_)), descriptor_(descriptor) {}

NewFile::~NewFile() {
  close(descriptor_);
}

std::unique_ptr<NewFile> NewFile::open(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) return nullptr;
  const int descriptor = open_unnamed(temporary_of(path));
  return std::unique_ptr<NewFile>(descriptor < 0 ? nullptr : new NewFile(path, descriptor));
}

/// The disk takes each part while the next one is made.
int64_t NewFile::write(const void* data, int64_t size) noexcept {
  constexpr int64_t kPart = int64_t{4} << 20;
  int64_t written = 0;
  while (written < size && error_ == 0) {
    const auto part = static_cast<size_t>(std::min(kPart, size - written));
    const ssize_t count = ::write(descriptor_, static_cast<const char*>(data) + written, part);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      error_ = count < 0 ? errno : EIO;
      break;
    }
    // Some file systems do not: all is waited for at the end anyway.
    if (count == kPart)
      static_cast<void>(
          sync_file_range(descriptor_, static_cast<off64_t>(size_), count, SYNC_FILE_RANGE_WRITE));
    written += count;
    size_ += static_cast<uint64_t>(count);
  }
  return written;
}

Status NewFile::status() const {
  return error_ == 0 ? Status() : write_error(path_, error_);
}

/// Where no name can be given to it.
Status NewFile::copy() const {
  TENON_ASSIGN(const MappedBytes bytes, map_descriptor(descriptor_, path_));
  return write_file(path_, bytes.chars());
}

Status NewFile::save() {
  TENON_TRY(status());
  if (fsync(descriptor_) != 0) return write_error(path_, errno);
  if (!give_name(descriptor_, temporary_)) return copy();
  const std::string file = behind_links(path_).string();
  take_mode(file, temporary_);
  if (std::rename(temporary_.c_str(), file.c_str()) == 0) return {};
  const int error = errno;
  std::remove(temporary_.c_str());
  return write_error(path_, error);
}

}  // namespace tenon::tools
