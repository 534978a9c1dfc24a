#pragma once

#include <optional>

#include "passes/match.h"

namespace tenon {

/// One of the two halves of the last axis of a value: the front and the back, or the elements at
/// even and at odd places.
struct HalfPart {
  Value* source = nullptr;
  bool interleaved = false, second = false;
};
std::optional<HalfPart> half_part_of(Value* value);

/// Elements `begin` to `end` of the last axis.
struct LastAxisRange {
  Value* source = nullptr;
  int64_t begin = 0, end = 0;
};
std::optional<LastAxisRange> range_of_last_axis(Value* value);

/// Two values joined along the last axis, one behind the other or alternating.
struct JoinedHalves {
  Value *first = nullptr, *second = nullptr;
  bool interleaved = false;
};
std::optional<JoinedHalves> halves_of(Value* value);

/// The table whose first half is repeated behind it (or whose elements are each repeated): that
/// half, or null where it is none. With `graph` null only tells whether there is one.
Value* unrepeated(Graph* graph, Value* value, bool interleaved, int depth = 0);

}  // namespace tenon
