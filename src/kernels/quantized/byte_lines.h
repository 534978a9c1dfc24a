#pragma once

#include <cstdint>

#include "kernels/quantized/byte_product.h"

/// Depthwise products of bytes along lines of pixels: the bytes of kByteGroup lines under the
/// window are joined once for each column, and multiplied under every tap that meets the column.
namespace tenon::cpu {

/// Columns of an image to join, of up to kBytePanel channels.
struct ByteColumns {
  const uint8_t* const* lines;  ///< kByteGroup addresses of the first column, each or null.
  int64_t step = 0;             ///< Bytes from one column to the next.
  int64_t count = 0;
  int channels = 0;
  uint32_t flip = 0;  ///< 0x80808080 turns i8 into u8.
  uint8_t fill = 0;   ///< Stands for lines that are null; before flip.
  uint8_t* to;        ///< [column][channel][kByteGroup]
  int64_t to_step = 0;
};

/// Pixels of a line to sum up.
struct ByteLine {
  const uint8_t* columns;  ///< [column][group][channel][kByteGroup], from the first pixel's on
  int64_t taps = 0, groups = 0;
  int64_t stride = 1, dilation = 1;  ///< In columns.
  const int8_t* weights;             ///< [tap][group][channel][kByteGroup]
  const int32_t* start;              ///< Initial sums of each channel.
  int64_t pixels = 0;
  int32_t* sums;  ///< pixels x kBytePanel
};

struct ByteLineKernel {
  void (*join)(const ByteColumns& columns);
  void (*run)(const ByteLine& line);
};
/// The best for this instruction set.
const ByteLineKernel& byte_line_kernel(Isa isa);

extern const ByteLineKernel kByteLinesGeneric, kByteLinesAvx2, kByteLinesAvx512Vnni;

}  // namespace tenon::cpu
