#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "tools/report.h"
#include "tools/statistics.h"

namespace tenon::tools {

/// The JSON files of --exportTimes, --exportProfile and --exportOutput, as text.
std::string times_json(std::span<const QueryTimes> queries);
std::string profile_json(std::span<const LayerTimes> layers, int iterations);

struct OutputValues {
  std::string name;
  std::string dimensions;      ///< "1x1000"
  std::vector<double> values;  ///< Integers are exact up to 2^53.
  bool is_integer = false;
  std::vector<int64_t> wide = {};  ///< The same of 64-bit integers, exactly; else empty.

  int64_t integer_at(size_t i) const {
    return wide.empty() ? static_cast<int64_t>(values[i]) : wide[i];
  }
  /// Six digits, integers whole.
  std::string text_at(size_t i) const;
};
std::string outputs_json(std::span<const OutputValues> outputs);

/// Bytes of a regular file.
Result<uint64_t> file_size(const std::string& path);
/// Replaces `path` in one step: a reader sees the old file or the new one. Devices and pipes are
/// written to.
Status write_file(const std::string& path, std::span<const char> bytes);
inline Status write_file(const std::string& path, const std::string& text) {
  return write_file(path, std::span<const char>(text));
}
/// The same of bytes that are not read any more. A large new file gets their pages one after the
/// other: new ones take several times as long, where a system has to find them first. Returns
/// whether the bytes have lost their contents to the file.
Result<bool> write_file_and_release(const std::string& path, std::span<char> bytes);
/// Other processes that take the lock of the same file's folder wait until this one is gone. Where
/// the file system has no locks there is none.
class FolderLock {
 public:
  explicit FolderLock(const std::string& file);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;

 private:
  int folder_;
};
/// Whether write_file() could make or replace this file now, before there is something to write.
/// `source` is the file that it is made from, which it must not replace.
Status check_writable(const std::string& path, const std::string& source = {});
/// At most `limit` bytes of a file.
Result<std::vector<char>> read_file(const std::string& path, uint64_t limit = UINT64_MAX);

}  // namespace tenon::tools
