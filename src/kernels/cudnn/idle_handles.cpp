#include "kernels/cudnn/idle_handles.h"

namespace tenon::cudnn {

IdleHandles& IdleHandles::instance() {
  static auto* const idle = new IdleHandles;  // Static objects give handles back at the end.
  return *idle;
}

cudnnHandle_t IdleHandles::take(uint64_t context) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(context);
  if (found == handles_.end() || found->second.empty()) return nullptr;
  const cudnnHandle_t handle = found->second.back();
  found->second.pop_back();
  return handle;
}

bool IdleHandles::put(uint64_t context, cudnnHandle_t handle) {
  if (context == 0) return false;
  const std::lock_guard lock(mutex_);
  handles_[context].push_back(handle);
  return true;
}

}  // namespace tenon::cudnn
