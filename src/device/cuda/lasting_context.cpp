#include "device/cuda/lasting_context.h"

#include <mutex>
#include <set>

#include "device/cuda/driver.h"

namespace tenon::cuda {
namespace {

struct Kept {
  std::mutex mutex;
  std::set<uint64_t> numbers;
};

Kept& kept() {
  static auto* const kept = new Kept;  // Static objects use devices until the process has ended.
  return *kept;
}

}  // namespace

uint64_t number_of(CUcontext context) {
  unsigned long long number = 0;
  if (driver().cuCtxGetId == nullptr || driver().cuCtxGetId(context, &number) != CUDA_SUCCESS)
    return 0;
  return number + 1;
}

uint64_t current_context() {
  CUcontext current = nullptr;
  return driver().cuCtxGetCurrent(&current) == CUDA_SUCCESS ? number_of(current) : 0;
}

Status keep_context(CUdevice device, CUcontext context) {
  const uint64_t number = number_of(context);
  if (number == 0) return {};
  const std::lock_guard lock(kept().mutex);
  if (kept().numbers.contains(number)) return {};
  TENON_DRIVER(cuDevicePrimaryCtxRetain, &context, device);
  kept().numbers.insert(number);
  return {};
}

}  // namespace tenon::cuda
