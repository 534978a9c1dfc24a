#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/thread_pool.h"

/// Copies between strided tensors: transposes, layout changes, joins and cuts are all this.
namespace tenon::cpu {

/// Axes with few as possible, slowest first in the destination.
struct StridedCopy {
  std::vector<int64_t> extents, from, to;  ///< Strides in elements.
  int bytes = 4;                           ///< Of an element: 1, 2, 4 or 8.

  /// Drops axes of extent 1, orders by the destination and merges.
  static StridedCopy make(const std::vector<int64_t>& extents, const std::vector<int64_t>& from,
                          const std::vector<int64_t>& to, int bytes);
  void run(const void* source, void* destination, ThreadPool& pool) const;

  /// The same in pieces, for those who copy several tensors at once.
  int64_t tasks() const;
  void run_task(int64_t task, const void* source, void* destination) const;

 private:
  struct Piece {
    int64_t rows, columns;
  };
  int second_axis() const;
  Piece piece() const;
};

}  // namespace tenon::cpu
