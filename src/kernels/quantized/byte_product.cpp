#include "kernels/quantized/byte_product.h"

#include "kernels/quantized/byte_lines.h"

namespace tenon::cpu {

const ByteKernel& byte_kernel(Isa isa, int64_t rows) {
#if defined(__x86_64__)
  // A tile takes as long as two rows in vectors.
  constexpr int64_t kFewestTileRows = 3;
  if (isa >= Isa::avx512_bf16 && rows >= kFewestTileRows && has_tiles()) return kByteKernelAmx;
  if (isa >= Isa::avx512 && has_byte_products()) return kByteKernelAvx512Vnni;
  if (isa >= Isa::avx2) return kByteKernelAvx2;
#endif
  (void)isa, (void)rows;
  return kByteKernelGeneric;
}

const ByteLineKernel& byte_line_kernel(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512 && has_byte_products()) return kByteLinesAvx512Vnni;
  if (isa >= Isa::avx2) return kByteLinesAvx2;
#endif
  (void)isa;
  return kByteLinesGeneric;
}

}  // namespace tenon::cpu
