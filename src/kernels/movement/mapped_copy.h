#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/thread_pool.h"

/// Copies whose source along each axis is given by a list of places: borders, repetitions,
/// reversals.
namespace tenon::cpu {

/// One axis of the result.
struct MappedAxis {
  int64_t to = 0;             ///< Stride in the result, in elements.
  std::vector<int64_t> from;  ///< Offset in the source of each place, or kFill.
  static constexpr int64_t kFill = INT64_MIN;
};

class MappedCopy {
 public:
  /// Axes of the result in any order.
  MappedCopy(std::vector<MappedAxis> axes, int bytes);
  /// `fill` is one element, for places with kFill on any axis.
  void run(const void* source, const void* fill, void* destination, ThreadPool& pool) const;

 private:
  /// Neighbours along the last axis whose sources are neighbours too, or all fill.
  struct Piece {
    int64_t at, count, from, step;
  };
  template <class T> void row(const T* source, T fill, T* destination, int64_t index) const;
  template <class T>
  void rows(const void* source, const void* fill, void* destination, ThreadPool& pool) const;

  std::vector<MappedAxis> axes_;  ///< Slowest first in the result, without the last one.
  int64_t last_ = 1;              ///< Stride of the last axis.
  std::vector<Piece> pieces_;     ///< Of the last axis.
  int64_t row_elements_ = 1;
  int bytes_;
};

}  // namespace tenon::cpu
