#include "device/cuda/process_end.h"

#include <atomic>
#include <cstdlib>

namespace tenon::cuda {
namespace {

// The process ends once: the one state without an owner.
std::atomic<bool>& ending() {
  static std::atomic<bool> is_ending{false};
  return is_ending;
}

}  // namespace

void watch_process_end() {
  ending();
  std::atexit([] { ending() = true; });
}

bool process_is_ending() {
  return ending();
}

}  // namespace tenon::cuda
