#include "tools/profiler.h"

#include <algorithm>

namespace tenon::tools {

// Layers are reported in the same order in every run, so the next one is nearly always the one
// after the last.
void LayerProfiler::reportLayerTime(const char* name, float milliseconds) noexcept {
  if (next_ >= runs_.size()) next_ = 0;
  if (runs_.empty() || runs_[next_].name != name) {
    const auto found = std::ranges::find(runs_, name, &LayerRuns::name);
    next_ = static_cast<size_t>(found - runs_.begin());
    if (found == runs_.end()) runs_.push_back({.name = name});
  }
  runs_[next_++].add(milliseconds);
}

int LayerProfiler::iterations() const {
  size_t most = 0;
  for (const LayerRuns& run : runs_) most = std::max(most, run.times.count());
  return static_cast<int>(most);
}

}  // namespace tenon::tools
