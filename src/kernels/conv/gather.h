#pragma once

#include "kernels/conv/problem.h"

namespace tenon::cpu {

/// Elements of the convolution's A matrix that lie side by side in the input too: `width`
/// neighbouring pixels (of `unit` elements each) from a row's base pixel displaced by (depth,
/// height, column).
struct GatherRun {
  int32_t depth, height, column;
  int64_t offset;  ///< of its first element from the base pixel, in elements
};

/// How rows of A (one per output pixel) are read from the input. All runs have the same length.
struct Gather {
  Spatial input;  ///< extents
  Spatial rows;   ///< output pixels of one image, in order
  Spatial step;   ///< base pixel = row position * step + origin
  Spatial origin;
  int64_t image_stride = 0, depth_stride = 0, height_stride = 0, column_stride = 0;
  int64_t width = 1, unit = 1;
  std::vector<GatherRun> runs;
  Spatial lowest = {}, highest = {};  ///< displacements of the outermost elements of all runs
  ElementType from = ElementType::f32, to = ElementType::f32;
  int64_t k_unit = 1;

  /// Sets `lowest` and `highest` from the runs.
  void find_extent();
  int64_t run_length() const { return width * unit; }
  int64_t k() const { return static_cast<int64_t>(runs.size()) * run_length(); }
};

/// Writes rows [row, row + rows) x steps [k, k + count) of A, zero in the padding and up to a
/// multiple of k_unit.
using GatherFunction = void (*)(const Gather& gather, const void* input, int64_t row, int64_t rows,
                                int64_t k, int64_t count, void* to, int64_t to_stride);
TENON_FUNCTION_BY_ISA(GatherFunction, gather)

}  // namespace tenon::cpu
