#include "tools/build_progress.h"

#include "tools/interrupt.h"
#include "tools/page.h"

namespace tenon::tools {

void BuildProgress::phaseStart(const char* phase, const char*, int32_t steps) noexcept {
  const std::lock_guard lock(mutex_);
  steps_[phase] = steps;
  if (shown_) console_.progress(fmt::format("{} ...", phase));
}

bool BuildProgress::stepComplete(const char* phase, int32_t step) noexcept {
  const std::lock_guard lock(mutex_);
  if (shown_)
    console_.progress(fmt::format("{} {}/{}{}{}", phase, step + 1, steps_[phase],
                                  remaining_ < 0 ? "" : ", ", left_text(remaining_)));
  return !interrupted();
}

void BuildProgress::progress(const BuildState& state) noexcept {
  const std::lock_guard lock(mutex_);
  remaining_ = state.remaining;
}

void BuildProgress::phaseFinish(const char* phase) noexcept {
  const std::lock_guard lock(mutex_);
  steps_.erase(phase);
  if (shown_) console_.clear_progress();
}

}  // namespace tenon::tools
