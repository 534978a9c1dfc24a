#include "base/parallel.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace tenon {

size_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return static_cast<size_t>(std::max(1, CPU_COUNT(&set)));
  return std::max<size_t>(std::thread::hardware_concurrency(), 1);
}

void give_way() {
  constexpr int kNice = 5;
  // Of Linux's threads each has its own; where it cannot be changed they go on as before.
  static_cast<void>(setpriority(PRIO_PROCESS, 0, kNice));
}

}  // namespace tenon
