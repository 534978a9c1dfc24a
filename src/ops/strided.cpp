#include "ops/strided.h"

#include <cstring>

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
    case 1:
      return copy_row<uint8_t>(to, to_stride, from, from_stride, count);
    case 2:
      return copy_row<uint16_t>(to, to_stride, from, from_stride, count);
    case 4:
      return copy_row<uint32_t>(to, to_stride, from, from_stride, count);
    default:
      return copy_row<uint64_t>(to, to_stride, from, from_stride, count);
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
  const size_t last = walk.extents.size() - 1;
  const Extents outer(walk.extents.begin(), walk.extents.end() - 1);
  Extents position(outer.size(), 0);
  do {
    int64_t to_offset = 0, from_offset = 0;
    for (size_t i = 0; i < last; ++i) {
      to_offset += position[i] * walk.to[i];
      from_offset += position[i] * walk.from[i];
    }
    copy_run(to + to_offset * bytes, walk.to[last], from + from_offset * bytes, walk.from[last],
             walk.extents[last], bytes);
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
