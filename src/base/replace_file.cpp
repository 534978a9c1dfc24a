#include "base/replace_file.h"

#include "base/draft_file.h"

namespace tenon {

namespace fs = std::filesystem;

bool replace_file(const fs::path& file, std::string_view contents) {
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  DraftFile draft(file);
  draft.stream().write(contents.data(), static_cast<std::streamsize>(contents.size()));
  return draft.keep().ok();
}

}  // namespace tenon
