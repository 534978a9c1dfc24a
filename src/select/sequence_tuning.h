#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "select/select.h"
#include "select/sequence_runner.h"

namespace tenon {

/// The error that ends builds that may not measure (SelectOptions::fail_on_cache_miss).
Error missing_time(std::string_view layer, std::string_view tactic);

/// Tactics for one problem that are nearly equally good alone.
struct Rivals {
  double best = 0;                   ///< Milliseconds of the best.
  std::vector<std::string> tactics;  ///< The best first.
  std::string own;  ///< The best that comes from no library, if it is not far off; or empty.
};
/// Puts the fastest of measured candidates first; of two that are about equally fast the earlier.
void put_best_first(std::vector<Candidate>& candidates);
/// Those of a list of measured candidates whose first is the best.
Rivals rivals_of(const Backend& backend, std::span<const Candidate> best_first);

struct SequenceTuning {
  const Backend& backend;
  const SelectOptions& options;
  TimingCache& cache;
  Measurer& measurer;
  const Layers& layers;
  const std::map<std::string, Rivals>& rivals;  ///< By problem key.
  /// Told of layers of one problem that are about to be tuned, by their number; false to stop.
  std::function<bool(size_t)> advance;
};

/// The best of a layer alone need not be the best among its neighbours: their operands fill the
/// caches too, and some launches start before the one ahead has ended. Tries the closest rivals of
/// each problem in the whole sequence and keeps those that make it faster; begins with the best
/// alone or, where that is faster, with our own kernels everywhere, which start early behind each
/// other only. `tactics` are those of
/// the layers. Times of whole sequences are kept in the cache, so that builds repeat. Gives the
/// milliseconds of the best; nothing, and nothing done, for a sequence that cannot be recorded. For
/// devices with streams.
Result<std::optional<double>> tune_in_sequence(const SequenceTuning& tuning,
                                               std::vector<std::string>& tactics);

/// Of other `ways` to run the layers, each the tactics of all, the number of that which is fastest
/// in sequence; nothing where none is clearly faster than `now`, which may be one that does not
/// run.
Result<std::optional<size_t>> fastest_in_sequence(const SequenceTuning& tuning,
                                                  const std::vector<std::string>& now,
                                                  std::span<const std::vector<std::string>> ways);

}  // namespace tenon
