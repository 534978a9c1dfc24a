#include "ops/strided.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tenon {
namespace {

/// Extents and strides with axes merged where both sides allow it.
struct Walk {
  Extents extents;
  Strides to, from;
};

Walk merge_axes(const Extents& extents, const Strides& to, const Strides& from) {
  Walk walk;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    if (!walk.extents.empty() && walk.to.back() == to[i] * extents[i] &&
        walk.from.back() == from[i] * extents[i]) {
      walk.extents.back() *= extents[i];
      walk.to.back() = to[i];
      walk.from.back() = from[i];
      continue;
    }
    walk.extents.push_back(extents[i]);
    walk.to.push_back(to[i]);
    walk.from.push_back(from[i]);
  }
  return walk;
}

/// Elements of the last axis that are copied for all of the axis along which the source is
/// contiguous before the next ones are: lines of the source stay in the cache.
constexpr int64_t kTile = 64;

/// That axis, where it is not the last one; else the last one.
size_t axis_along_source(const Walk& walk) {
  const size_t last = walk.extents.size() - 1;
  if (walk.from[last] == 1) return last;
  const auto found = std::find(walk.from.begin(), walk.from.end(), 1);
  return found == walk.from.end() ? last : static_cast<size_t>(found - walk.from.begin());
}

template <class T>
void copy_row(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
              int64_t count) {
  auto* target = reinterpret_cast<T*>(to);
  const auto* source = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) target[i * to_stride] = source[i * from_stride];
}

void copy_run(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
              int64_t count, int bytes) {
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * bytes));
    return;
  }
  switch (bytes) {
    case 1: return copy_row<uint8_t>(to, to_stride, from, from_stride, count);
    case 2: return copy_row<uint16_t>(to, to_stride, from, from_stride, count);
    case 4: return copy_row<uint32_t>(to, to_stride, from, from_stride, count);
    default: return copy_row<uint64_t>(to, to_stride, from, from_stride, count);
  }
}

}  // namespace

Strides row_major_strides(const Extents& extents) {
  Strides strides(extents.size(), 1);
  for (int i = static_cast<int>(extents.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * extents[i + 1];
  return strides;
}

void strided_copy(std::byte* to, const Strides& to_strides, const std::byte* from,
                  const Strides& from_strides, const Extents& extents, int bytes) {
  if (element_count(extents) == 0) return;
  const Walk walk = merge_axes(extents, to_strides, from_strides);
  if (walk.extents.empty()) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  const size_t last = walk.extents.size() - 1, near = axis_along_source(walk);
  Extents outer(walk.extents.begin(), walk.extents.end() - 1);
  const int64_t repeats = near == last ? 1 : std::exchange(outer[near], 1);
  const int64_t count = walk.extents[last], tile = near == last ? count : kTile;
  Extents position(outer.size(), 0);
  do {
    int64_t to_offset = 0, from_offset = 0;
    for (size_t i = 0; i < last; ++i) {
      to_offset += position[i] * walk.to[i];
      from_offset += position[i] * walk.from[i];
    }
    for (int64_t first = 0; first < count; first += tile)
      for (int64_t i = 0; i < repeats; ++i)
        copy_run(to + (to_offset + first * walk.to[last] + i * walk.to[near]) * bytes,
                 walk.to[last],
                 from + (from_offset + first * walk.from[last] + i * walk.from[near]) * bytes,
                 walk.from[last], std::min(tile, count - first), bytes);
  } while (advance(position, outer));
}

bool advance(Extents& position, const Extents& extents) {
  for (int axis = static_cast<int>(extents.size()) - 1; axis >= 0; --axis) {
    if (++position[axis] < extents[axis]) return true;
    position[axis] = 0;
  }
  return false;
}

void fill_elements(std::byte* to, const std::byte* element, int64_t count, int bytes) {
  strided_copy(to, {1}, element, {0}, {count}, bytes);
}

}  // namespace tenon
