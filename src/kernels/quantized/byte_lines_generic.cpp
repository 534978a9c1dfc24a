#include <algorithm>

#include "kernels/quantized/byte_lines.h"

namespace tenon::cpu {
namespace {

void join(const ByteColumns& c) {
  for (int64_t i = 0; i < c.count; ++i)
    for (int k = 0; k < kByteGroup; ++k)
      for (int n = 0; n < c.channels; ++n) {
        const uint8_t byte = c.lines[k] == nullptr ? c.fill : c.lines[k][i * c.step + n];
        c.to[i * c.to_step + n * kByteGroup + k] = byte ^ static_cast<uint8_t>(c.flip);
      }
}

void run(const ByteLine& l) {
  constexpr int64_t kGroupBytes = kBytePanel * kByteGroup;
  for (int64_t i = 0; i < l.pixels; ++i) {
    int32_t* sums = l.sums + i * kBytePanel;
    std::copy_n(l.start, kBytePanel, sums);
    for (int64_t tap = 0; tap < l.taps; ++tap) {
      const int64_t column = (i * l.stride + tap * l.dilation) * l.groups;
      for (int64_t k = 0; k < l.groups * kGroupBytes; ++k)
        sums[k % kGroupBytes / kByteGroup] += int32_t{l.columns[column * kGroupBytes + k]} *
                                              l.weights[tap * l.groups * kGroupBytes + k];
    }
  }
}

}  // namespace

const ByteLineKernel kByteLinesGeneric = {join, run};

}  // namespace tenon::cpu
