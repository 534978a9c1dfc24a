#include "base/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

namespace tenon {

namespace fs = std::filesystem;

int open_unnamed(const fs::path& path) {
#ifdef O_TMPFILE
  const fs::path folder = path.parent_path();
  return open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#else
  return -1;
#endif
}

fs::path path_of(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

bool give_name(int descriptor, const fs::path& path) {
  return linkat(AT_FDCWD, path_of(descriptor).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) ==
         0;
}

}  // namespace tenon
