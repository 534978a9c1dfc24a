#include <cstring>

#include "kernels/quantized/byte_lines_body.h"
#include "kernels/quantized/byte_pairs_avx2.h"

namespace tenon::cpu {
namespace {

void join(const ByteColumns& columns) {
  if (columns.channels == kBytePanel)
    return join_columns(columns, [](const uint8_t* from, int) {
      return in_join_order(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    });
  join_columns(columns, [](const uint8_t* from, int count) {
    alignas(32) uint8_t channels[kBytePanel] = {};
    std::memcpy(channels, from, static_cast<size_t>(count));
    return in_join_order(_mm256_load_si256(reinterpret_cast<const __m256i*>(channels)));
  });
}

}  // namespace

const ByteLineKernel kByteLinesAvx2 = {join, sum_line<Pairs>};

}  // namespace tenon::cpu
