#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

/// How much is tried when kernels are chosen.
namespace tenon::effort {

/// The time in the cache of kernels that cannot be made or run.
inline constexpr double kFailed = std::numeric_limits<double>::infinity();
/// The time of a candidate that computed something else than the reference.
inline constexpr double kWrong = -1;
/// A candidate whose first run takes so many times the best's is not run again.
inline constexpr double kHopeless = 2;
/// Unless it takes so many times as long, that may have been a run during which others had the
/// core: it is done once more.
inline constexpr double kDoubtful = 8;
/// Kernels below this are short: all their runs are done, however slow they are.
inline constexpr double kShortMilliseconds = 1;
/// Candidates are timed for about so long each: short kernels run often, which tells them apart
/// where the machine is not quiet, and long ones hold no build up.
inline constexpr double kTimedMilliseconds = 24;
inline int runs_for(double milliseconds, int asked) {
  constexpr double kFewest = 2, kMost = 24;
  const double runs = std::ceil(kTimedMilliseconds / std::max(milliseconds, 1e-3));
  return std::max(asked, static_cast<int>(std::clamp(runs, kFewest, kMost)));
}
/// Runs of a trial: one, with a warm one before, that tells whether and how many more follow, which
/// are behind a warm one too.
inline constexpr int kFirstLaunches = 2;
/// Runs with cold caches differ little, and much goes on between them.
inline constexpr int kColdRuns = 8;
/// Most runs on a host's cores instead of one during which others had some of them.
inline constexpr int kTimesAgain = 3;
/// Candidates there that take up to so many times the best's time are timed again behind all
/// others, as one thread of two may have waited, and close ones then once more.
inline constexpr double kMayHaveWaited = 2.2, kClose = 1.1;
inline constexpr int kRunsAgain = 4;
inline int launches_of_trial(double milliseconds, int asked, bool is_cold = false) {
  const int runs = runs_for(milliseconds, asked);
  return kFirstLaunches + 1 + (is_cold ? std::min(runs, kColdRuns) : runs);
}
/// Launches that a device with streams is asked for, which times a multiple; fewer for shapes that
/// are many, whose kernels are compared in sequence too.
inline constexpr int kFewestAsked = 8, kAskedBriefly = 3;
inline int asked_of_streams(int asked, bool is_brief) {
  return is_brief ? kAskedBriefly : std::max(asked, kFewestAsked);
}
/// Candidates a level times at most.
inline constexpr int kCandidates[] = {1, 2, 4, 64, 256, 256};

/// Threads that make kernels: so many more than there are cores.
inline constexpr size_t kMoreMakers = 4;

/// Up to which level configurations are tried in stages.
inline constexpr int kStagedLevel = 3;
/// From which level on layers are timed in their sequence too.
inline constexpr int kSequenceLevel = 3;
/// Replays of the whole sequence that time it: of a long one fewer, which differ less.
inline int sequence_replays(double milliseconds) {
  constexpr double kTimed = 8, kFewest = 5, kMost = 15;
  return static_cast<int>(std::clamp(kTimed / std::max(milliseconds, 1e-3), kFewest, kMost));
}
/// The warm one before them; of the first sequences, two more show how long it is.
inline constexpr int kFirstReplays = 1;
/// Layers of less than this part of all time are not tried in it: nothing would be seen.
inline constexpr double kLeastPart = 0.004;

}  // namespace tenon::effort
