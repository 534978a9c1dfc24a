#include "kernels/quantized/byte_lines_body.h"
#include "kernels/quantized/byte_vnni_avx512.h"

namespace tenon::cpu {
namespace {

void join(const ByteColumns& columns) {
  const __mmask32 present =
      columns.channels == kBytePanel ? ~__mmask32{0} : (__mmask32{1} << columns.channels) - 1;
  join_columns(columns, [present](const uint8_t* from, int) {
    return in_join_order(_mm256_maskz_loadu_epi8(present, from));
  });
}

}  // namespace

const ByteLineKernel kByteLinesAvx512Vnni = {join, sum_line<Vnni>};

}  // namespace tenon::cpu
