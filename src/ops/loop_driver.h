#pragma once

#include <algorithm>
#include <cstdint>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// The iterations of a loop or scan, as all count them that run one: the reference, programs, and
/// runs whose shapes data decides.

/// How many there are before the body has a say.
struct LoopLimits {
  int64_t trips = INT64_MAX;  ///< At most; none where negative.
  bool starts = true;         ///< A loop's first condition.

  int64_t most() const { return starts ? std::max<int64_t>(trips, 0) : 0; }
};

/// Ok, or the error of a loop whose run is to end (base/stop.h), or that does not seem to end:
/// after kMostTrips iterations where there is no trip count, or one that says nothing, as exporters
/// write for loops that end by their condition.
Status may_iterate(const Node& node, int64_t trip, int64_t most);
inline constexpr int64_t kMostTrips = 10'000'000;

/// Calls iterate(trip), a Result<bool> that says whether another one may follow, and gives the
/// number of iterations.
template <class Iterate>
Result<int64_t> run_loop(const Node& node, const LoopLimits& limits, Iterate&& iterate) {
  const int64_t most = limits.most();
  bool going = true;
  int64_t trip = 0;
  for (; going && trip < most; ++trip) {
    TENON_TRY(may_iterate(node, trip, most));
    TENON_ASSIGN(going, iterate(trip));
  }
  return trip;
}

/// The slice of a sequence that iteration `trip` of `trips` reads or writes.
inline int64_t slice_of(int64_t trip, int64_t trips, bool backward) {
  return backward ? trips - 1 - trip : trip;
}

}  // namespace tenon
