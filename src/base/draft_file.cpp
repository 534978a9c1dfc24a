#include "base/draft_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

#include "base/file_place.h"

namespace tenon {

namespace fs = std::filesystem;

namespace {

std::error_code last_error() {
  return {errno != 0 ? errno : EIO, std::generic_category()};
}

}  // namespace

DraftFile::DraftFile(const fs::path& file) : name_(file), file_(behind_links(file)) {
  std::error_code ignored;
  const bool is_there = fs::exists(file_, ignored);
  const size_t thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  draft_ = file_;
  if (!is_there || fs::is_regular_file(file_, ignored))
    draft_ += fmt::format(".{}-{:x}", getpid(), thread);
  errno = 0;
  stream_.open(draft_, std::ios::binary);
  if (!stream_ && is_there) {
    draft_ = file_;
    stream_.open(draft_, std::ios::binary);
  }
  if (!stream_) error_ = last_error();
  errno = 0;
}

DraftFile::~DraftFile() {
  std::error_code ignored;
  if (!is_kept_ && draft_ != file_) fs::remove(draft_, ignored);
}

Status DraftFile::keep() {
  stream_.close();
  if (!stream_ && !error_) error_ = last_error();
  if (!error_ && draft_ != file_) take_mode(file_, draft_), fs::rename(draft_, file_, error_);
  if (error_) return resource_error("cannot write '{}': {}", name_.string(), error_.message());
  is_kept_ = true;
  return {};
}

}  // namespace tenon
