#include "device/cpu/placement.h"

#include <pthread.h>

namespace tenon::cpu {

Placement::Placement(int threads) {
  CPU_ZERO(&allowed_);
  usable_ = threads > 1 && sched_getaffinity(0, sizeof allowed_, &allowed_) == 0 &&
            CPU_COUNT(&allowed_) >= threads;
}

void Placement::move_helpers(std::span<std::thread> helpers) {
  caller_ = sched_getcpu();
  cpu_set_t others = allowed_;
  if (caller_ >= 0) CPU_CLR(caller_, &others);
  // Where the system refuses, threads stay where they are: only time depends on it.
  for (std::thread& helper : helpers)
    (void)pthread_setaffinity_np(helper.native_handle(), sizeof others, &others);
}

}  // namespace tenon::cpu
