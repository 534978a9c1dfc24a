#include "device/cuda/context_scope.h"

#include "device/cuda/driver.h"

namespace tenon::cuda {

ContextScope::ContextScope(CUcontext context) {
  if (driver().cuCtxGetCurrent(&before_) != CUDA_SUCCESS || before_ == context) return;
  changed_ = driver().cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

ContextScope::~ContextScope() {
  if (changed_) driver().cuCtxSetCurrent(before_);
}

}  // namespace tenon::cuda
