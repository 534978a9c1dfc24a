#include "base/file_place.h"

namespace tenon {

namespace fs = std::filesystem;

fs::path behind_links(fs::path file) {
  constexpr int kMostLinks = 40;  // as in the system's own limit
  std::error_code error;
  for (int links = 0; links < kMostLinks && fs::is_symlink(file, error); ++links) {
    const fs::path target = fs::read_symlink(file, error);
    if (error) return file;
    file = file.parent_path() / target;
  }
  return file;
}

void take_mode(const fs::path& of, const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(of, error);
  if (!error && fs::exists(status)) fs::permissions(file, status.permissions(), error);
}

}  // namespace tenon
