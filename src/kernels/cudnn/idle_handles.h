#pragma once

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace tenon::cudnn {

/// cuDNN's handles that nothing uses, by the number of their context
/// (device/cuda/lasting_context.h). They are kept until the process ends and used again: cuDNN
/// loads code for each handle that is made and leaves it loaded, which takes 76 KiB of the host's
/// memory each (9.19).
class IdleHandles {
 public:
  /// Those of the process.
  static IdleHandles& instance();

  /// Null where there is none of that context.
  cudnnHandle_t take(uint64_t context);
  /// False where the context has no number: the handle is the caller's still.
  bool put(uint64_t context, cudnnHandle_t handle);

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::vector<cudnnHandle_t>> handles_;
};

}  // namespace tenon::cudnn
