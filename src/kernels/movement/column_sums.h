#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/thread_pool.h"

namespace tenon::cpu {

/// Columns of blocks that add up to images (col2im), in float. One number a spatial axis.
struct ColumnSums {
  int64_t planes = 1;                         ///< Images of one channel.
  std::vector<int64_t> image, block, counts;  ///< counts: blocks along an axis
  std::vector<int64_t> strides, dilations, pads;

  /// Both dense: planes x block x counts, and planes x image. A plane's sums have one order.
  void run(const float* columns, float* images, ThreadPool& pool) const;

 private:
  void add_plane(const float* columns, float* image) const;
  void add_lines(const std::vector<int64_t>& element, const float* columns, float* image) const;
};

}  // namespace tenon::cpu
