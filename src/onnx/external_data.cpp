#include "onnx/external_data.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#include "base/printable.h"

namespace tenon::importer {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }

 private:
  int number_;
};

// O_NONBLOCK: opening a FIFO must not hang; other than regular files are refused right after.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

std::vector<std::string> components(const std::string& location) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= location.size()) {
    const size_t end = std::min(location.find('/', begin), location.size());
    parts.push_back(location.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Status check_location(const std::string& location) {
  const std::string name = short_name(location);
  if (location.empty()) return user_error("external data: the location is empty");
  if (location.size() > 4096)
    return user_error("external data \"{}\": the location is too long", name);
  if (location.find('\0') != std::string::npos)
    return user_error("external data \"{}\": the location contains a zero byte", name);
  if (location[0] == '/' || location.find('\\') != std::string::npos)
    return user_error("external data \"{}\": the location must be relative to the model", name);
  for (const std::string& part : components(location))
    if (part == "..")
      return user_error("external data \"{}\": the location leaves the model's folder (\"..\")",
                        name);
  return {};
}

/// One component after the other, none of them a symbolic link: for kernels without openat2.
FileDescriptor open_stepwise(int folder, const std::string& location) {
  FileDescriptor current(dup(folder));
  std::vector<std::string> parts = components(location);
  for (size_t i = 0; i < parts.size() && current.valid(); ++i) {
    if (parts[i].empty() || parts[i] == ".") continue;
    const int kind = i + 1 < parts.size() ? O_DIRECTORY : 0;
    current =
        FileDescriptor(openat(current.get(), parts[i].c_str(), kReadFlags | O_NOFOLLOW | kind));
  }
  return current;
}

FileDescriptor open_beneath(int folder, const std::string& location) {
#if defined(SYS_openat2) && defined(RESOLVE_BENEATH)
  open_how how{};
  how.flags = kReadFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long number = syscall(SYS_openat2, folder, location.c_str(), &how, sizeof how);
  if (number >= 0 || (errno != ENOSYS && errno != EPERM && errno != EINVAL))
    return FileDescriptor(static_cast<int>(number));
#endif
  return open_stepwise(folder, location);
}

}  // namespace

Result<MappedBytes> ExternalDataFolder::whole_file(const std::string& location) {
  TENON_TRY(check_location(location));
  const std::string name = short_name(location);
  const std::string& directory = directory_.empty() ? "." : directory_;
  FileDescriptor folder(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid())
    return user_error("cannot open the model's folder \"{}\": {}", short_name(directory),
                      std::strerror(errno));
  FileDescriptor file = open_beneath(folder.get(), location);
  if (!file.valid()) {
    if (errno == ELOOP || errno == EXDEV)
      return user_error(
          "external data \"{}\": symbolic links are not followed; put the file itself into \"{}\"",
          name, short_name(directory));
    return user_error("external data \"{}\" in \"{}\": {}; keep the file beside the model", name,
                      short_name(directory), std::strerror(errno));
  }
  return map_descriptor(file.get(), name);
}

Result<MappedBytes> ExternalDataFolder::map(const std::string& location, uint64_t offset,
                                            uint64_t size) {
  auto found = files_.find(location);
  if (found == files_.end()) {
    TENON_ASSIGN(MappedBytes file, whole_file(location));
    found = files_.emplace(location, std::move(file)).first;
  }
  const MappedBytes& file = found->second;
  if (offset > file.size || size > file.size - offset)
    return user_error(
        "external data \"{}\" has {} bytes, but the model asks for {} at offset {}; the file is "
        "cut short "
        "or belongs to another model",
        short_name(location), file.size, size, offset);
  return MappedBytes{file.data + offset, size == 0 ? file.size - offset : size, file.owner};
}

}  // namespace tenon::importer
