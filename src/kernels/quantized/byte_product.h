#pragma once

#include <cstdint>

#include "device/cpu/do_nothing.h"
#include "device/cpu/isa.h"

/// Products of bytes, summed in 32-bit integers.
namespace tenon::cpu {

/// Columns of the weights that lie side by side.
inline constexpr int64_t kBytePanel = 32;
/// Neighbours along the depth that are multiplied at once.
inline constexpr int64_t kByteGroup = 4;

/// A tile of up to max_rows rows and kBytePanel columns. The depth is cut into taps of `groups`
/// groups each; weights are packed [tap][group][column][kByteGroup], i8.
struct ByteTile {
  const uint8_t* const* rows_of_taps;  ///< Address of row r in tap t: [t * tap_stride + r].
  int64_t tap_stride = 0;
  int64_t taps = 0, groups = 0;
  int64_t row_offset = 0;  ///< Bytes that each of these addresses is ahead of the tile's own.
  int64_t row_step = 0;    ///< From each row to the next in all taps; 0: not known to be the same.
  uint32_t flip = 0;       ///< 0x80808080 turns i8 into u8.
  const int8_t* weights;
  const int8_t* ahead;     ///< Is fetched into the second-level cache meanwhile:
  int64_t ahead_step = 0;  ///< so many bytes further with each group.
  const int32_t* start;    ///< Initial sums of each column; best in whole lines of the cache.
  int rows = 0;
  int32_t* sums;  ///< rows x kBytePanel, up to a multiple of the kernel's row_unit
};

struct ByteKernel {
  int max_rows;
  int row_unit;       ///< Fewer rows, or more up to the next multiple, take as long.
  bool takes_signed;  ///< Rows of i8 are multiplied as they are; `flip` says only that they are i8.
  void (*run)(const ByteTile& tile);
  /// Where rows that are not evenly apart, in whole cache lines, take longer: copies a tile's rows
  /// of all taps, `step` bytes apart. Bytes up to the next line are left as they are.
  void (*gather)(const ByteTile& tile, uint8_t* to, int64_t step) = nullptr;
  /// Called by a thread ahead of its tiles and behind them.
  void (*begin)() = do_nothing;
  void (*end)() = do_nothing;
};
/// The best for this instruction set and so many rows.
const ByteKernel& byte_kernel(Isa isa, int64_t rows);

extern const ByteKernel kByteKernelGeneric, kByteKernelAvx2, kByteKernelAvx512Vnni, kByteKernelAmx;

}  // namespace tenon::cpu
