#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "NvInfer.h"

namespace api_test {

using namespace nvinfer1;

/// An application's recorder, which keeps all.
class Recorder final : public IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(errors.size()); }
  ErrorCode getErrorCode(int32_t i) const noexcept override { return errors[i].first; }
  ErrorDesc getErrorDesc(int32_t i) const noexcept override { return errors[i].second.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { errors.clear(); }
  bool reportError(ErrorCode code, ErrorDesc text) noexcept override {
    errors.emplace_back(code, text);
    return true;
  }
  RefCount incRefCount() noexcept override { return ++references; }
  RefCount decRefCount() noexcept override { return --references; }
  std::vector<std::pair<ErrorCode, std::string>> errors;
  std::atomic<int32_t> references = 0;
};

}  // namespace api_test
