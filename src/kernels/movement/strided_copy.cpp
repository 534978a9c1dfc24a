#include "kernels/movement/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/arithmetic.h"
#include "kernels/movement/words.h"

namespace tenon::cpu {
namespace {

/// Elements that are worth a task of their own.
constexpr int64_t kTaskElements = 16384;
/// Rows and columns of a transposed tile: both sides' cache lines stay in the first-level cache.
constexpr int64_t kTile = 32;
/// Rows of a piece that is transposed.
constexpr int64_t kTransposedRows = 128;

/// A piece: some of the last axis and, when the source is contiguous along another one, of that
/// axis too.
struct Plane {
  int64_t rows = 1, columns = 1;
  int64_t from_row = 0, from_column = 0, to_row = 0, to_column = 0;
};

using Quad = uint32_t __attribute__((vector_size(16)));
using Pairs = uint64_t __attribute__((vector_size(16)));

inline Quad low_pairs(Quad a, Quad b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
inline Quad high_pairs(Quad a, Quad b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
inline Quad halves(Quad a, Quad b, bool high) {
  const auto x = reinterpret_cast<Pairs>(a), y = reinterpret_cast<Pairs>(b);
  return reinterpret_cast<Quad>(high ? __builtin_shufflevector(x, y, 1, 3)
                                     : __builtin_shufflevector(x, y, 0, 2));
}

/// Four rows of four columns; the source is contiguous along rows.
inline void transpose_quads(const uint32_t* from, int64_t from_column, uint32_t* to,
                            int64_t to_row) {
  Quad x[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&x[i], from + i * from_column, sizeof(Quad));
  const Quad a = low_pairs(x[0], x[1]), b = low_pairs(x[2], x[3]);
  const Quad c = high_pairs(x[0], x[1]), d = high_pairs(x[2], x[3]);
  const Quad y[4] = {halves(a, b, false), halves(a, b, true), halves(c, d, false),
                     halves(c, d, true)};
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_row, &y[i], sizeof(Quad));
}

/// Rows [r0, r1) of columns [c0, c1).
template <class T>
void copy_tile(const Plane& p, const T* from, T* to, int64_t r0, int64_t r1, int64_t c0,
               int64_t c1) {
  const auto copy = [&](int64_t first_row, int64_t first_column, int64_t past_column) {
    for (int64_t r = first_row; r < r1; ++r)
      for (int64_t c = first_column; c < past_column; ++c)
        to[r * p.to_row + c * p.to_column] = from[r * p.from_row + c * p.from_column];
  };
  if constexpr (sizeof(T) == sizeof(uint32_t)) {
    if (p.from_row == 1 && p.to_column == 1) {
      const int64_t quad_rows = r0 + (r1 - r0) / 4 * 4, quad_columns = c0 + (c1 - c0) / 4 * 4;
      for (int64_t r = r0; r < quad_rows; r += 4)
        for (int64_t c = c0; c < quad_columns; c += 4)
          transpose_quads(from + r + c * p.from_column, p.from_column, to + r * p.to_row + c,
                          p.to_row);
      copy(r0, quad_columns, c1);
      return copy(quad_rows, c0, quad_columns);
    }
  }
  copy(r0, c0, c1);
}

template <class T> void copy_plane(const Plane& p, const T* from, T* to) {
  if (p.from_column == 1 && p.to_column == 1) {
    for (int64_t r = 0; r < p.rows; ++r)
      std::memcpy(to + r * p.to_row, from + r * p.from_row, p.columns * sizeof(T));
    return;
  }
  if (p.from_column == 2 && p.to_column == 1) {  // Every second one, which the compiler unpacks.
    for (int64_t r = 0; r < p.rows; ++r)
      for (int64_t c = 0; c < p.columns; ++c) to[r * p.to_row + c] = from[r * p.from_row + c * 2];
    return;
  }
  for (int64_t r0 = 0; r0 < p.rows; r0 += kTile)
    for (int64_t c0 = 0; c0 < p.columns; c0 += kTile)
      copy_tile(p, from, to, r0, std::min(p.rows, r0 + kTile), c0, std::min(p.columns, c0 + kTile));
}

void copy_plane(int bytes, const Plane& plane, const char* from, char* to) {
  with_word(bytes, [&]<class T>(T) {
    copy_plane(plane, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  });
}

}  // namespace

StridedCopy StridedCopy::make(const std::vector<int64_t>& extents, const std::vector<int64_t>& from,
                              const std::vector<int64_t>& to, int bytes) {
  std::vector<size_t> axes(extents.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return to[a] > to[b]; });
  StridedCopy copy;
  copy.bytes = bytes;
  for (const size_t axis : axes) {
    const int64_t extent = extents[axis];
    if (extent == 1) continue;
    if (!copy.extents.empty() && copy.from.back() == from[axis] * extent &&
        copy.to.back() == to[axis] * extent) {
      copy.extents.back() *= extent;
      copy.from.back() = from[axis];
      copy.to.back() = to[axis];
    } else {
      copy.extents.push_back(extent);
      copy.from.push_back(from[axis]);
      copy.to.push_back(to[axis]);
    }
  }
  if (copy.extents.empty()) {
    copy.extents = {1};
    copy.from = copy.to = {1};
  }
  return copy;
}

// The second axis of a piece: the one the source is contiguous along, else the next slower one.
int StridedCopy::second_axis() const {
  const int last = static_cast<int>(extents.size()) - 1;
  int second = last - 1;
  for (int axis = 0; axis < last; ++axis)
    if (from[last] != 1 && from[axis] == 1) second = axis;
  return second;
}

/// Where one side is contiguous along rows and the other along columns, a piece is long both ways:
/// else each task would read a few elements of all lines.
StridedCopy::Piece StridedCopy::piece() const {
  const int last = static_cast<int>(extents.size()) - 1, second = second_axis();
  const int64_t rows = second >= 0 ? extents[second] : 1, columns = extents[last];
  if (second >= 0 && from[last] != 1 && from[second] == 1) {
    const int64_t most = std::min(rows, kTransposedRows);
    const int64_t wanted = round_up(ceil_div(kTaskElements, std::max<int64_t>(most, 1)), kTile);
    return {most, std::min(columns, wanted)};
  }
  const int64_t most = std::min(columns, kTaskElements);
  return {std::clamp<int64_t>(kTaskElements / std::max<int64_t>(most, 1), 1, rows), most};
}

int64_t StridedCopy::tasks() const {
  const int last = static_cast<int>(extents.size()) - 1, second = second_axis();
  const auto [rows, columns] = piece();
  int64_t count = 1;
  for (int axis = 0; axis <= last; ++axis) {
    const int64_t each = axis == second ? rows : axis == last ? columns : 1;
    count *= ceil_div(extents[axis], std::max<int64_t>(each, 1));
  }
  return count;
}

void StridedCopy::run_task(int64_t task, const void* source, void* destination) const {
  const int last = static_cast<int>(extents.size()) - 1, second = second_axis();
  const auto [rows, columns] = piece();
  Plane plane{1, 1, 0, from[last], 0, to[last]};
  int64_t from_at = 0, to_at = 0;
  /// Moves on to this task's part of an axis, in parts of `each`; its extent.
  const auto part_of = [&](int axis, int64_t each) {
    const int64_t parts = ceil_div(extents[axis], each), first = task % parts * each;
    task /= parts;
    from_at += first * from[axis];
    to_at += first * to[axis];
    return std::min(each, extents[axis] - first);
  };
  if (second >= 0) {
    plane.rows = part_of(second, rows);
    plane.from_row = from[second];
    plane.to_row = to[second];
  }
  plane.columns = part_of(last, columns);
  for (int axis = last - 1; axis >= 0; --axis)
    if (axis != second) part_of(axis, 1);
  copy_plane(bytes, plane, static_cast<const char*>(source) + from_at * bytes,
             static_cast<char*>(destination) + to_at * bytes);
}

void StridedCopy::run(const void* source, void* destination, ThreadPool& pool) const {
  const int64_t count = tasks();
  int64_t elements = 1;
  for (const int64_t extent : extents) elements *= extent;
  const int64_t grain =
      std::max<int64_t>(1, kTaskElements * count / std::max<int64_t>(elements, 1));
  pool.for_each(count, grain, [&](int64_t task) { run_task(task, source, destination); });
}

}  // namespace tenon::cpu
