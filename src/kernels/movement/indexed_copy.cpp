#include "kernels/movement/indexed_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "base/arithmetic.h"
#include "ir/tensor.h"
#include "kernels/movement/odometer.h"
#include "kernels/movement/words.h"

namespace tenon::cpu {
namespace {

/// Bytes that are worth a task of their own.
constexpr int64_t kTaskBytes = 32768;

using Row = IndexedCopy::Row;

/// Neighbouring tuples of indices.
struct OffsetRow {
  const IndexedCopy& copy;
  int64_t first, step, count;
  int64_t* offsets;

  /// False where an index is outside its axis.
  template <class T> bool resolve_as(const T* indices) const {
    int outside = 0;
    for (size_t t = 0; t < copy.tuple.size(); ++t) {
      const auto [extent, stride] = copy.tuple[t];
      const T* from = indices + first + static_cast<int64_t>(t) * copy.tuple_step;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t given = from[i * step], value = given < 0 ? given + extent : given;
        outside |= static_cast<uint64_t>(value) >= static_cast<uint64_t>(extent);
        const uint64_t offset = static_cast<uint64_t>(value) * static_cast<uint64_t>(stride);
        offsets[i] = static_cast<int64_t>(offset) + (t == 0 ? 0 : offsets[i]);
      }
    }
    return outside == 0;
  }

  bool resolve(const void* indices) const {
    return copy.wide ? resolve_as(static_cast<const int64_t*>(indices))
                     : resolve_as(static_cast<const int32_t*>(indices));
  }
};

/// Rows cut so that also one long row is work for all threads.
struct Pieces {
  int64_t rows, row, of_row;

  Pieces(int64_t row_count, int64_t row_length)
      : rows(row_count), row(row_length), of_row(ceil_div(row_length, kTaskBytes)) {}
  int64_t count() const { return rows * of_row; }
  /// Pieces that are worth a task.
  int64_t grain(size_t bytes) const {
    const int64_t each = row / of_row * static_cast<int64_t>(bytes);
    return std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(1, each));
  }
  struct Piece {
    int64_t first, length;
  };
  Piece at(int64_t index) const {
    if (of_row == 1) return {0, row};
    const int64_t part = index % of_row, first = row * part / of_row;
    return {first, row * (part + 1) / of_row - first};
  }
};

std::vector<int64_t> head(const std::vector<int64_t>& all) {
  return {all.begin(), all.end() - 1};
}

template <class T> void gather_row(const Row& row, const T* from, const int64_t* offsets, T* to) {
  if (row.offset == 0 && row.indexed == 1 && row.plain == 1) {
    std::memcpy(to, from + *offsets, static_cast<size_t>(row.count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < row.count; ++i)
    to[i * row.plain] = from[i * row.indexed + offsets[i * row.offset]];
}

/// Calls visit(row, plain, indexed, other) for pieces of all rows, on all threads: a part of the
/// last axis, and where it begins along the three kinds of strides.
template <class F>
void for_each_piece(const IndexedCopy& copy, const std::vector<int64_t>& others, size_t bytes,
                    ThreadPool& pool, const F& visit) {
  const std::vector<int64_t> extents = head(copy.extents), plain = head(copy.plain),
                             indexed = head(copy.indexed), other = head(others);
  const Row row{copy.extents.back(), copy.plain.back(), copy.indexed.back(), others.back()};
  const Pieces pieces(element_count(extents), row.count);
  pool.parallel_for(pieces.count(), pieces.grain(bytes), [&](int64_t begin, int64_t end, int) {
    Odometer<3> at(extents, {&plain, &indexed, &other}, begin / pieces.of_row);
    for (int64_t i = begin; i < end; ++i) {
      const auto [first, length] = pieces.at(i);
      Row piece = row;
      piece.count = length;
      visit(piece, at.at[0] + first * row.plain, at.at[1] + first * row.indexed,
            at.at[2] + first * row.offset);
      if (first + length == row.count) at.next();
    }
  });
}

template <class T>
void gather_rows(const IndexedCopy& copy, const std::vector<int64_t>& offset_strides, const T* from,
                 const int64_t* offsets, T* to, ThreadPool& pool) {
  for_each_piece(copy, offset_strides, sizeof(T), pool,
                 [&](const Row& piece, int64_t plain, int64_t indexed, int64_t offset) {
                   gather_row(piece, from + indexed, offsets + offset, to + plain);
                 });
}

/// Elements that one index each picks along an axis. False where one is outside: it picks the
/// first.
template <class T, class I>
bool pick_row(const Row& row, const IndexedAxis& axis, const T* from, const I* indices, T* to) {
  const auto pick = [&](int64_t plain, int64_t indexed, int64_t step, int64_t stride) {
    int64_t outside = 0;
    for (int64_t i = 0; i < row.count; ++i) {
      const int64_t given = indices[i * step], value = given + (given >> 63 & axis.extent);
      const bool is_outside = static_cast<uint64_t>(value) >= static_cast<uint64_t>(axis.extent);
      outside |= is_outside;
      to[i * plain] = from[i * indexed + (is_outside ? 0 : value) * stride];
    }
    return outside == 0;
  };
  if (row.plain == 1 && row.offset == 1 && row.indexed == 0 && axis.stride == 1)
    return pick(1, 0, 1, 1);
  return pick(row.plain, row.indexed, row.offset, axis.stride);
}

template <class T>
bool gather_picking(const IndexedCopy& copy, const T* from, const void* indices, T* to,
                    ThreadPool& pool) {
  std::atomic<bool> outside = false;
  const auto pick_all = [&](const auto* all) {
    for_each_piece(copy, copy.index, sizeof(T), pool,
                   [&](const Row& piece, int64_t plain, int64_t indexed, int64_t index) {
                     if (!pick_row(piece, copy.tuple[0], from + indexed, all + index, to + plain))
                       outside = true;
                   });
  };
  copy.wide ? pick_all(static_cast<const int64_t*>(indices))
            : pick_all(static_cast<const int32_t*>(indices));
  return !outside;
}

}  // namespace

void IndexedCopy::simplify(Order order) {
  std::vector<size_t> axes(extents.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (order == Order::kAny)
    std::stable_sort(axes.begin(), axes.end(),
                     [&](size_t a, size_t b) { return plain[a] > plain[b]; });
  IndexedCopy merged;
  for (const size_t axis : axes) {
    const int64_t extent = extents[axis];
    if (extent == 1) continue;
    if (!merged.extents.empty() && merged.plain.back() == plain[axis] * extent &&
        merged.indexed.back() == indexed[axis] * extent &&
        merged.index.back() == index[axis] * extent) {
      merged.extents.back() *= extent;
      merged.plain.back() = plain[axis];
      merged.indexed.back() = indexed[axis];
      merged.index.back() = index[axis];
      continue;
    }
    merged.extents.push_back(extent);
    merged.plain.push_back(plain[axis]);
    merged.indexed.push_back(indexed[axis]);
    merged.index.push_back(index[axis]);
  }
  if (merged.extents.empty()) merged.extents = merged.plain = merged.indexed = {1};
  merged.index.resize(merged.extents.size(), 0);
  extents = std::move(merged.extents);
  plain = std::move(merged.plain);
  indexed = std::move(merged.indexed);
  index = std::move(merged.index);
}

std::vector<int64_t> IndexedCopy::offset_strides() const {
  std::vector<int64_t> strides(extents.size(), 0);
  int64_t step = 1;
  for (size_t axis = extents.size(); axis-- > 0;)
    if (index[axis] != 0) {
      strides[axis] = step;
      step *= extents[axis];
    }
  return strides;
}

int64_t IndexedCopy::tuples() const {
  int64_t count = 1;
  for (size_t axis = 0; axis < extents.size(); ++axis)
    if (index[axis] != 0) count *= extents[axis];
  return count;
}

Status IndexedCopy::resolve(const void* indices, int64_t* offsets, ThreadPool& pool) const {
  std::vector<int64_t> own, strides;
  for (size_t axis = 0; axis < extents.size(); ++axis)
    if (index[axis] != 0) {
      own.push_back(extents[axis]);
      strides.push_back(index[axis]);
    }
  const int64_t count = element_count(own);
  if (own.size() <= 1 && count * static_cast<int64_t>(sizeof(int64_t)) <= kTaskBytes) {
    const OffsetRow row{*this, 0, own.empty() ? 1 : strides[0], count, offsets};
    return row.resolve(indices) ? Status() : find_outside(indices, own, strides);
  }
  const std::vector<int64_t> outer = head(own), outer_strides = head(strides);
  const Pieces pieces(element_count(outer), own.back());
  std::atomic<bool> outside = false;
  pool.parallel_for(
      pieces.count(), pieces.grain(sizeof(int64_t)), [&](int64_t begin, int64_t end, int) {
        Odometer<1> at(outer, {&outer_strides}, begin / pieces.of_row);
        for (int64_t i = begin; i < end; ++i) {
          const auto [first, length] = pieces.at(i);
          const OffsetRow row{*this, at.at[0] + first * strides.back(), strides.back(), length,
                              offsets + i / pieces.of_row * own.back() + first};
          if (!row.resolve(indices)) outside = true;
          if (first + length == own.back()) at.next();
        }
      });
  return outside ? find_outside(indices, own, strides) : Status();
}

/// The first index that is outside its axis, in an error.
Status IndexedCopy::find_outside(const void* indices, const std::vector<int64_t>& own,
                                 const std::vector<int64_t>& strides) const {
  Odometer<1> at(own, {&strides}, 0);
  for (int64_t i = 0; i < tuples(); ++i, at.next())
    for (size_t t = 0; t < tuple.size(); ++t) {
      const int64_t place = at.at[0] + static_cast<int64_t>(t) * tuple_step;
      const int64_t value = wide ? static_cast<const int64_t*>(indices)[place]
                                 : static_cast<const int32_t*>(indices)[place];
      if (value < -tuple[t].extent || value >= tuple[t].extent)
        return user_error("index {} is outside [{}, {})", value, -tuple[t].extent, tuple[t].extent);
    }
  return {};
}

void IndexedCopy::gather(const void* source, const int64_t* offsets, void* destination,
                         ThreadPool& pool) const {
  const std::vector<int64_t> strides = offset_strides();
  with_word(bytes, [&]<class T>(T) {
    gather_rows(*this, strides, static_cast<const T*>(source), offsets,
                static_cast<T*>(destination), pool);
  });
}

bool IndexedCopy::picks_elements() const {
  return tuple.size() == 1 &&
         std::ranges::all_of(index, [](int64_t stride) { return stride != 0; });
}

Status IndexedCopy::pick(const void* source, const void* indices, void* destination,
                         ThreadPool& pool) const {
  const bool inside = with_word(bytes, [&]<class T>(T) {
    return gather_picking(*this, static_cast<const T*>(source), indices,
                          static_cast<T*>(destination), pool);
  });
  return inside ? Status() : find_outside(indices, extents, index);
}

IndexedCopy::Row IndexedCopy::row() const {
  return {extents.back(), plain.back(), indexed.back(), offset_strides().back()};
}

void IndexedCopy::run_rows(
    const int64_t* offsets,
    FunctionRef<void(int64_t plain, int64_t indexed, const int64_t* offsets)> visit) const {
  const std::vector<int64_t> outer = head(extents), plain_head = head(plain),
                             indexed_head = head(indexed), offset_head = head(offset_strides());
  const int64_t count = element_count(outer);
  Odometer<3> at(outer, {&plain_head, &indexed_head, &offset_head}, 0);
  for (int64_t i = 0; i < count; ++i, at.next()) visit(at.at[0], at.at[1], offsets + at.at[2]);
}

}  // namespace tenon::cpu
