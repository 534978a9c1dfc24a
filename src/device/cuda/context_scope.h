#pragma once

#include <cuda.h>

namespace tenon::cuda {

/// Makes a context current on the calling thread, and the previous one at its end. For destruction,
/// which may happen on a thread that never used the device, where the driver frees nothing. Errors
/// are ignored, as there is no caller to report to.
class ContextScope {
 public:
  explicit ContextScope(CUcontext context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;

 private:
  CUcontext before_ = nullptr;
  bool changed_ = false;
};

}  // namespace tenon::cuda
