#pragma once

#include <cstdint>

#include "base/status.h"
#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"

/// Regions of images averaged into a fixed number of bins (RoiAlign). A bin's samples along rows
/// and along columns are found once a region; then all channels are gone over side by side.
namespace tenon::cpu {

struct RoiAlignProblem {
  int64_t batch = 1, channels = 1, height = 1, width = 1, regions = 0;
  int64_t bin_rows = 1, bin_columns = 1, sampling_ratio = 0;
  float spatial_scale = 1;
  bool half_pixel = true;
  /// Strides of x in elements: image, channel, row, column.
  int64_t x_image = 0, x_channel = 0, x_row = 0, x_column = 0;
  /// And of y: region, channel, row, column.
  int64_t y_region = 0, y_channel = 0, y_row = 0, y_column = 0;
  Isa isa = detected_isa();
  int threads = 1;
};

/// A row or column that a bin reads: its offset in elements, and its part.
struct RoiTap {
  int64_t offset = 0;
  float weight = 0;
};

/// All taps of one bin.
struct RoiBin {
  const RoiTap *rows = nullptr, *columns = nullptr;
  int64_t row_count = 0, column_count = 0;
};

/// out[c] = sum of the bin's taps in a channels-last image.
using RoiBinFunction = void (*)(const RoiBin& bin, const float* image, int64_t channels,
                                float* out);
TENON_FUNCTION_BY_ISA(RoiBinFunction, roi_bin)

size_t roi_align_scratch_bytes(const RoiAlignProblem& problem);
/// `boxes`: four numbers a region; `images`: which image each lies in, or null for the first.
Status roi_align(const RoiAlignProblem& problem, const float* x, const float* boxes,
                 const int64_t* images, float* y, ThreadPool& pool, void* scratch);

}  // namespace tenon::cpu
