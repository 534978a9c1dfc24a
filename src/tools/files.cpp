#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/bytes.h"
#include "base/file_place.h"
#include "base/mapped_file.h"
#include "base/unnamed_file.h"
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

enum class Durable { kNo, kOnDisk };

struct Contents {
  std::span<const char> bytes;
  bool gives_way = false;    ///< Their pages are let go of while a new file gets them.
  bool is_given_up = false;  ///< Some were.
  MappedBytes moved = {};    ///< Where they are since.

  bool readable() const { return !is_given_up || moved.owner != nullptr; }
  /// They are read from that file from here on, where they were given up. Gives errno.
  int move_to(std::FILE* file) {
    if (!is_given_up) return 0;
    Result<MappedBytes> mapped = map_descriptor(fileno(file), {});
    if (!mapped.ok()) return EIO;
    moved = std::move(mapped).value();
    bytes = moved.chars();
    gives_way = false;
    return 0;
  }
};

/// Writes all that a stream takes. Gives errno, 0 where it is all there.
int write_all(std::FILE* stream, std::span<const char> bytes, Durable durable) {
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), stream) == bytes.size() &&
                       std::fflush(stream) == 0 &&
                       (durable == Durable::kNo || fsync(fileno(stream)) == 0);
  return written ? 0 : errno;
}

/// The file is written in pages that the bytes have left, and the disk takes them meanwhile.
int write_all(std::FILE* stream, Contents& contents) {
  constexpr size_t kPart = size_t{4} << 20;
  std::span<const char> rest = contents.bytes;
  while (contents.gives_way && rest.size() > kPart) {
    const std::span<const char> part = rest.first(kPart);
    if (const int error = write_all(stream, part, Durable::kNo); error != 0) return error;
    // Some file systems do not: all is waited for at the end anyway.
    (void)sync_file_range(fileno(stream), part.data() - contents.bytes.data(), kPart,
                          SYNC_FILE_RANGE_WRITE);
    release_pages(std::as_bytes(part));
    contents.is_given_up = true;
    rest = rest.subspan(kPart);
  }
  return write_all(stream, rest, Durable::kOnDisk);
}

int closed(std::FILE* stream, int error) {
  return std::fclose(stream) == 0 || error != 0 ? error : errno;
}

/// Gives errno. Where it can, the file is whole from the start: an earlier end of the process
/// leaves nothing behind.
int write_new(const std::string& path, Contents& contents) {
  if (const File file{fdopen(open_unnamed(path), "wb")}) {
    if (const int error = write_all(file.get(), contents); error != 0) return error;
    if (give_name(fileno(file.get()), path)) return 0;
    if (const int error = contents.move_to(file.get()); error != 0) return error;
  }
  std::FILE* stream = std::fopen(path.c_str(), "wb");
  return stream == nullptr ? errno : closed(stream, write_all(stream, contents));
}

/// For devices and pipes, which another file must not take the place of, and for files in folders
/// that take no new ones.
Status write_in_place(const std::string& path, std::span<const char> bytes) {
  std::FILE* stream = std::fopen(path.c_str(), "wb");
  if (stream == nullptr) return file_error("write", path);
  const int error = closed(stream, write_all(stream, bytes, Durable::kNo));
  return error == 0 ? Status() : file_error("write", path, error);
}

Status write(const std::string& path, Contents& contents) {
  struct stat status {};
  const bool is_there = stat(path.c_str(), &status) == 0;
  if (is_there && !S_ISREG(status.st_mode)) return write_in_place(path, contents.bytes);
  const std::string file = behind_links(path).string();
  const std::string temporary = fmt::format("{}.{}.tmp", file, getpid());
  int error = write_new(temporary, contents);
  const bool no_new_file =
      error == EACCES || error == EPERM || error == EROFS || error == ENAMETOOLONG;
  if (is_there && no_new_file && contents.readable()) return write_in_place(path, contents.bytes);
  if (error == 0) take_mode(file, temporary);
  if (error == 0 && std::rename(temporary.c_str(), file.c_str()) != 0) error = errno;
  if (error == 0) return {};
  std::remove(temporary.c_str());
  return file_error("write", path, error);
}

}  // namespace

Status write_file(const std::string& path, std::span<const char> bytes) {
  Contents contents{bytes};
  return write(path, contents);
}

Result<bool> write_file_and_release(const std::string& path, std::span<char> bytes) {
  Contents contents{bytes, true};
  TENON_TRY(write(path, contents));
  return contents.is_given_up;
}

FolderLock::FolderLock(const std::string& file) {
  const auto parent = behind_links(file).parent_path();
  folder_ = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (folder_ >= 0 && flock(folder_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) close(folder_);
}

Status check_writable(const std::string& path, const std::string& source) {
  struct stat status {};
  std::error_code error;
  if (path.empty()) return user_error("no file is named");
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return file_error("write", path, EISDIR);
    if (S_ISREG(status.st_mode) && std::filesystem::equivalent(path, source, error))
      return user_error("cannot write '{}': it is the model that is read; name another file", path);
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
  std::vector<char> bytes = make_bytes<char>(std::min<uint64_t>(status.st_size, limit));
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
    return file_error("read", path);
  return bytes;
}

}  // namespace tenon::tools
