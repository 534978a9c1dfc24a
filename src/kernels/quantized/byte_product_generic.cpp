#include <algorithm>

#include "kernels/quantized/byte_product.h"

namespace tenon::cpu {
namespace {

void run(const ByteTile& t) {
  for (int r = 0; r < t.rows; ++r) {
    int32_t* sums = t.sums + r * kBytePanel;
    std::copy_n(t.start, kBytePanel, sums);
    const int8_t* weights = t.weights;
    for (int64_t tap = 0; tap < t.taps; ++tap) {
      const uint8_t* row = t.rows_of_taps[tap * t.tap_stride + r] + t.row_offset;
      for (int64_t k = 0; k < t.groups * kByteGroup; k += kByteGroup, weights += kBytePanel * 4)
        for (int64_t c = 0; c < kBytePanel; ++c)
          for (int64_t i = 0; i < kByteGroup; ++i) {
            const int value = row[k + i] ^ static_cast<uint8_t>(t.flip);
            sums[c] += value * weights[c * kByteGroup + i];
          }
    }
  }
}

}  // namespace

const ByteKernel kByteKernelGeneric = {8, 1, false, run};

}  // namespace tenon::cpu
