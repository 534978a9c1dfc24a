#pragma once

#include <array>
#include <vector>

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/quantized/byte_problem.h"
#include "kernels/quantized/byte_winograd_kernel.h"

namespace tenon::cpu {

/// 3x3 convolution of bytes with stride 1 by Winograd's algorithm: a quarter of the products, of
/// twice the bits. The sums are those of direct products, so that results are the same. Weights
/// stay bytes in memory and are transformed in the cache, by each task for its panel. Tiles at the
/// end of an image that is no multiple of four are smaller ones.
class ByteWinograd {
 public:
  /// The reason against a problem.
  static Status check(const ByteProblem& problem);
  /// `weights` may be null where they lie packed.
  static Result<ByteWinograd> prepare(ByteProblem problem, const ByteWeights* weights);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t fetch_capacity() const;
  /// Needs `scratch` of scratch_bytes(), 64-byte aligned.
  void run(const ByteArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  /// Of tiles, by whether their rows, and their columns, are fewer than four.
  static constexpr int kGroups = 4, kFull = 0, kNarrow = 1, kLow = 2;
  /// That of a block: tiles that have a point are neighbours.
  static constexpr int kOrder[kGroups] = {kLow, kFull, kNarrow, kLow | kNarrow};
  struct Tile {
    int64_t image, row, column;
    int64_t high, wide;     ///< The size that is computed,
    int64_t rows, columns;  ///< and the pixels that exist.
    int group() const { return (high < 4 ? kLow : 0) | (wide < 4 ? kNarrow : 0); }
  };
  /// Tiles [first, first + count), group by group.
  struct Block {
    int64_t first, count;
    std::array<int64_t, kGroups> places;  ///< Of a group's first tile.
  };
  struct Places {
    int64_t begin, end;
  };
  /// Goes through a block's tiles.
  struct Walk;
  /// What a run reads.
  struct Run {
    const ByteArguments& arguments;
    const float* scales;
    int32_t zero;
  };
  /// Of one worker, in bytes from its start; sums come first.
  struct WorkerMemory {
    int64_t weights, pixels, totals, numbers, block, size;
  };
  struct Task {
    const Block& block;
    int64_t panel;
    char* memory;
  };

  Tile tile(int64_t index) const;
  Block block_of(int64_t first, int64_t count) const;
  Places places_of(const Block& block, int point) const;
  void place_tiles();
  void pack(const ByteWeights& weights);
  int64_t reach_of(int64_t positive, int64_t negative) const;
  const uint8_t* window(const Run& run, const Tile& tile, uint8_t* copy,
                        ByteWinogradInput& to) const;
  void transform(const Run& run, const Block& block, char* memory) const;
  void multiply(const Task& task, int64_t depth, std::span<const std::byte> next) const;
  void finish(const Run& run, const Task& task, int64_t depth) const;
  void finish_lines(PanelFinish& panel, const Tile& first, int64_t wide, int64_t columns) const;
  void run_task(const Run& run, const Task& task) const;
  std::span<const std::byte> weights_behind(const Run& run, const Task& task, int64_t depth) const;
  int64_t panels() const;
  int64_t pairs() const { return (problem_.input_channels + 1) / 2; }
  int64_t depths() const;
  int64_t depths_together() const { return is_split_ ? 1 : kWinogradDepths; }
  int64_t panel_bytes() const { return pairs() * 2 * kWinogradUnit; }
  int64_t tasks() const { return std::ssize(blocks_) * panels(); }
  /// Of sums, or of numbers of kWinogradDepth channels.
  int64_t block_bytes() const { return blocks_[0].count * kWinogradTileBytes; }
  int64_t scales_bytes() const;
  WorkerMemory worker_memory() const;

  ByteProblem problem_;
  const ByteWinogradFunctions* functions_ = nullptr;
  ByteFinishFunction finish_ = nullptr;
  int64_t tiles_high_ = 0, tiles_wide_ = 0;
  Tile smallest_ = {};  ///< The last one of an image.
  std::vector<Block> blocks_;
  /// Sums of all channels might be beyond kWinogradSums: those of kWinogradDepth are turned back.
  bool is_split_ = false;
  PackedWeights packed_;  ///< Panels, then is_split_.
};

}  // namespace tenon::cpu
