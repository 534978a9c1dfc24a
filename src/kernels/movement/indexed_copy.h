#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "device/cpu/thread_pool.h"

/// Gathers and scatters of every kind: a strided copy whose places on one side depend on a tensor
/// of indices.
namespace tenon::cpu {

/// One index of a tuple: it steps by `stride` over an axis of `extent` places.
struct IndexedAxis {
  int64_t extent = 1, stride = 0;
};

/// Over `extents`: `plain` goes along the side whose places are given by the axes alone, `indexed`
/// along the other, to which each tuple of indices adds. Strides in elements.
struct IndexedCopy {
  std::vector<int64_t> extents, plain, indexed, index;
  std::vector<IndexedAxis> tuple;
  int64_t tuple_step = 0;  ///< From one index of a tuple to the next.
  int bytes = 4;           ///< Of an element: 1, 2, 4 or 8.
  bool wide = true;        ///< Indices of 64 bits, else of 32.

  /// Which elements come first: any that makes rows long, or as `extents` say, where several may
  /// meet in one place.
  enum class Order { kAny, kGiven };
  /// Drops axes of extent 1, orders by `plain` where that is allowed, and merges. Call it last.
  void simplify(Order order);
  /// Number of index tuples: offsets that resolve() writes.
  int64_t tuples() const;
  /// The offset that each tuple stands for; fails for an index outside its axis.
  Status resolve(const void* indices, int64_t* offsets, ThreadPool& pool) const;
  /// destination[plain] = source[indexed + offset].
  void gather(const void* source, const int64_t* offsets, void* destination,
              ThreadPool& pool) const;
  /// One index each stands for one element.
  bool picks_elements() const;
  /// resolve() and gather() where that is so, without offsets in memory.
  Status pick(const void* source, const void* indices, void* destination, ThreadPool& pool) const;
  /// The last axis, one row of which run_rows() tells the start of.
  struct Row {
    int64_t count, plain, indexed, offset;  ///< Strides.
  };
  Row row() const;
  /// Every row, in a fixed order on this thread: for scatters, where several may meet in one place.
  void run_rows(
      const int64_t* offsets,
      FunctionRef<void(int64_t plain, int64_t indexed, const int64_t* offsets)> visit) const;

 private:
  std::vector<int64_t> offset_strides() const;
  Status find_outside(const void* indices, const std::vector<int64_t>& own,
                      const std::vector<int64_t>& strides) const;
};

}  // namespace tenon::cpu
