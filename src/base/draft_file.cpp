#include "base/draft_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>
#include <utility>

#include "base/file_place.h"
#include "base/unnamed_file.h"

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
  if (!is_there || fs::is_regular_file(file_, ignored)) {
    draft_ += fmt::format(".{}-{:x}", getpid(), thread);
    open_without_name();
  }
  errno = 0;
  if (unnamed_ < 0) stream_.open(draft_, std::ios::binary);
  if (!stream_ && is_there) {
    draft_ = file_;
    stream_.open(draft_, std::ios::binary);
  }
  if (!stream_) error_ = last_error();
  errno = 0;
}

void DraftFile::open_without_name() {
  unnamed_ = open_unnamed(file_);
  if (unnamed_ < 0) return;
  stream_.open(path_of(unnamed_), std::ios::binary);
  if (!stream_) close(std::exchange(unnamed_, -1));
}

DraftFile::~DraftFile() {
  std::error_code ignored;
  if (unnamed_ >= 0) close(unnamed_);
  if (!is_kept_ && draft_ != file_) fs::remove(draft_, ignored);
}

Status DraftFile::keep() {
  stream_.close();
  if (!stream_ && !error_) error_ = last_error();
  if (!error_ && unnamed_ >= 0 && !give_name(unnamed_, draft_))
    fs::copy_file(path_of(unnamed_), draft_, error_);
  if (!error_ && draft_ != file_) take_mode(file_, draft_), fs::rename(draft_, file_, error_);
  if (error_) return resource_error("cannot write '{}': {}", name_.string(), error_.message());
  is_kept_ = true;
  return {};
}

}  // namespace tenon
