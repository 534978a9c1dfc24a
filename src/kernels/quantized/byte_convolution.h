#pragma once

#include <vector>

#include "base/large_memory.h"
#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/quantized/byte_planes.h"
#include "kernels/quantized/byte_problem.h"
#include "kernels/quantized/byte_spread.h"

namespace tenon::cpu {

/// Each output pixel is a row of a product, whose parts are read where they lie; images whose
/// channels come first or are no multiple of kByteGroup are copied before. For kernels that want
/// even rows, images are spread or windows gathered. Groups of few channels go together as one
/// product, whose weights are 0 where groups differ.
class ByteConvolution {
 public:
  /// `weights` may be null where they lie packed.
  static Result<ByteConvolution> prepare(ByteProblem problem, const ByteWeights* weights);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t fetch_capacity() const;
  /// Needs `scratch` of scratch_bytes(), 64-byte aligned.
  void run(const ByteArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  /// The image that products read.
  struct Image {
    ByteSpatial extents, pad;
    int64_t pixel = 0;  ///< Bytes from one pixel to the next.
  };
  /// What depends on the input's scale and zero point.
  struct Numbers {
    int32_t zero;
    const int32_t* starts;  ///< Initial sums of each column.
    const float* scales;    ///< Of each output channel.
    const uint8_t* zeros;   ///< A tap outside of the image.
  };
  /// What a run reads.
  struct Run {
    const ByteArguments& arguments;
    Numbers numbers;
    const uint8_t* image;
  };
  /// Of a task's rows, as even as they can be: the first ones have a unit more.
  struct Blocks {
    int64_t all, rows, larger;
  };
  /// Products side by side, each of as many groups.
  struct Parts {
    int64_t count = 1, panels = 1;      ///< The latter of each.
    int64_t channels = 1, columns = 1;  ///< Of the input and the output, of each.
    int64_t bytes = 0;                  ///< Of the image, from one part of a pixel to the next.
  };

  void choose_parts();
  void choose_image();
  int64_t even_block(int64_t rows, int64_t most) const;
  void choose_tasks();
  void choose_gathering();
  void pack(const ByteWeights& weights);
  void finish_packing();
  Numbers numbers_of(const ByteArguments& arguments, char* scratch) const;
  void copy_line(const uint8_t* input, int32_t zero, int64_t line, uint8_t* to) const;
  const uint8_t* copy_image(const Run& run, ThreadPool& pool, uint8_t* to) const;
  int32_t subtracted(int32_t zero) const;
  void find_flatness();
  void find_line(const ByteSpatial& origin, int64_t count, const uint8_t* base,
                 const uint8_t* zeros, const uint8_t** to) const;
  void find_spread_rows(const Run& run, int64_t first, int64_t count, const uint8_t** rows) const;
  void find_rows(const Run& run, int64_t first, int64_t count, const uint8_t** rows) const;
  void gather_rows(int64_t count, const uint8_t** rows, uint8_t* to, ByteTile& tile) const;
  void finish_rows(PanelFinish& finish, int64_t first, int64_t count) const;
  void run_task(const Run& run, int64_t task, char* scratch) const;
  static void prefetch_next(std::span<const std::byte> next, int64_t block, ByteTile& tile);
  std::span<const std::byte> weights_behind(const Run& run, int64_t panel) const;
  Blocks blocks_of(int64_t rows) const;
  void run_panel(ByteTile tile, int64_t first, const Blocks& blocks,
                 std::span<const std::byte> next, PanelFinish& finish) const;
  void run_panels(const Run& run, ByteTile tile, int64_t first, int64_t count, int64_t task) const;
  bool is_spread() const { return !spread_.empty(); }
  /// Rows of a product, and products one after the other: rows of a task are of one of them.
  int64_t rows() const {
    return is_spread() ? problem_.output[1] * spread_.width : problem_.pixels();
  }
  int64_t products() const { return is_spread() ? problem_.batch : 1; }
  int64_t panels() const { return parts_.count * parts_.panels; }
  int64_t panel_bytes() const {
    return problem_.copies() * taps_ * groups_ * kByteGroup * kBytePanel;
  }
  int64_t image_bytes() const;
  size_t numbers_bytes() const;
  size_t workers_at() const;
  size_t rows_bytes() const;
  size_t sums_bytes() const;
  size_t worker_bytes() const;

  ByteProblem problem_;
  Parts parts_;
  const ByteKernel* kernel_ = nullptr;
  ByteFinishFunction finish_ = nullptr;
  BytePlanesFunction join_ = nullptr;
  bool copied_ = false;
  Image image_;
  ByteSpread spread_;
  int64_t taps_ = 1, groups_ = 1, taps_wide_ = 1;
  bool is_flat_ = false;       ///< Each pixel of the input is the window of one of the output.
  int64_t gathered_step_ = 0;  ///< Bytes of a window that a task gathers for all panels; 0: none.
  int64_t row_block_ = 1, row_tasks_ = 1, panel_block_ = 1, panel_tasks_ = 1;
  PackedWeights packed_;  ///< Panels, then the sum of each column.
  /// See Numbers; where the zero point is computed, for one of 1.
  std::vector<int32_t, LargeAllocator<int32_t>> starts_;
  std::vector<uint8_t> zeros_;
};

}  // namespace tenon::cpu
