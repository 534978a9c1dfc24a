#pragma once

#include <filesystem>
#include <fstream>

#include "base/status.h"

namespace tenon {

/// A file that is written as a whole: whoever reads it, also beside other writers, finds the former
/// contents or all of the new ones. Where the file system can, the draft has no name until
/// then: an earlier end of the process leaves nothing behind. Devices and pipes are written in
/// place, and so are files in folders that take no others.
class DraftFile {
 public:
  explicit DraftFile(const std::filesystem::path& file);
  ~DraftFile();  ///< Without `keep` all is as it was.
  DraftFile(const DraftFile&) = delete;

  /// Takes no more after an error.
  std::ostream& stream() { return stream_; }
  /// Gives the contents their name. Says why where they were not written.
  Status keep();

 private:
  void open_without_name();

  std::filesystem::path name_;
  std::filesystem::path file_, draft_;  ///< The same where it is written in place.
  int unnamed_ = -1;                    ///< What becomes draft_; -1: that is written itself.
  std::ofstream stream_;
  std::error_code error_;
  bool is_kept_ = false;
};

}  // namespace tenon
