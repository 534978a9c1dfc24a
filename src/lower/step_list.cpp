#include "lower/step_list.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "ir/tensor.h"
#include "plan/memory_planner.h"

namespace tenon {

size_t group_end(const StepList& list, size_t first) {
  const Step& step = list.steps[first];
  size_t end = first + 1;
  const bool section = step.section != 0, batch = step.samples != Dim(1);
  while ((section || batch) && end < list.steps.size()) {
    const Step& next = list.steps[end];
    if (next.section != step.section || (!section && next.samples != step.samples)) break;
    ++end;
  }
  return end;
}

void place_next(const StepBuffer& buffer, size_t bytes, ArenaPlaces& places) {
  size_t offset = 0;
  for (const int below : buffer.above) offset = std::max(offset, places.ends[below]);
  places.offsets.push_back(offset);
  places.ends.push_back(offset + round_up(bytes, kBufferAlignment));
  places.bytes = std::max(places.bytes, places.ends.back());
}

Result<ArenaPlaces> place_buffers(const StepList& list, const SymbolValues& symbols) {
  ArenaPlaces places;
  for (const StepBuffer& buffer : list.buffers) {
    const auto bytes = buffer.bytes.evaluate(symbols);
    if (!bytes.has_value() || *bytes < 0 || *bytes > kMaxTensorBytes)
      return internal_error("buffer {} of the steps of '{}' has no size: {}", places.ends.size(),
                            list.name, buffer.bytes.to_string());
    place_next(buffer, static_cast<size_t>(*bytes), places);
  }
  return places;
}

// Compared here, not in the header: a list holds steps and a step lists, a circle of default
// comparisons on which clang 14 ends with a fault.
bool Step::operator==(const Step&) const = default;
bool StepList::operator==(const StepList&) const = default;

}  // namespace tenon
