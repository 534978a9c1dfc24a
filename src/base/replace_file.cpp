#include "base/replace_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <thread>

namespace tenon {

namespace fs = std::filesystem;

bool replace_file(const fs::path& file, std::string_view contents) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const size_t thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  const fs::path draft = fmt::format("{}.{}-{:x}", file.string(), getpid(), thread);
  std::ofstream stream(draft, std::ios::binary);
  stream.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  stream.close();
  if (stream) fs::rename(draft, file, error);
  const bool is_written = stream && !error;
  if (!is_written) fs::remove(draft, error);
  return is_written;
}

}  // namespace tenon
