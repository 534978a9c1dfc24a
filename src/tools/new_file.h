#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "NvInferRuntime.h"
#include "base/status.h"

namespace tenon::tools {

/// A file that gets its contents while they are made, and takes the place of another one when it is
/// saved, in one step. An earlier end of the process leaves nothing behind.
class NewFile final : public nvinfer1::IStreamWriter {
 public:
  /// Null where the file system has no such files, or there is something else than a file: then
  /// write_file() knows other ways.
  static std::unique_ptr<NewFile> open(const std::string& path);
  NewFile(const NewFile&) = delete;
  ~NewFile() override;

  /// Bytes that were written; fewer than asked for behind an error, which status() names.
  int64_t write(const void* data, int64_t size) noexcept override;
  Status status() const;
  uint64_t size() const { return size_; }
  /// All bytes are there. Once.
  Status save();

 private:
  NewFile(std::string path, int descriptor);
  Status copy() const;

  const std::string path_, temporary_;
  const int descriptor_;
  uint64_t size_ = 0;
  int error_ = 0;
};

}  // namespace tenon::tools
