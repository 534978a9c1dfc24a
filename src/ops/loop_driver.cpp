#include "ops/loop_driver.h"

#include "base/stop.h"

namespace tenon {

Status may_iterate(const Node& node, int64_t trip, int64_t most) {
  if (trip == kMostTrips && most >= INT32_MAX)
    return user_error("loop '{}' does not end within {} iterations", node.name, kMostTrips);
  return stop_requested() ? go_on(fmt::format("loop '{}'", node.name)) : Status();
}

}  // namespace tenon
