#include <immintrin.h>

#include "kernels/movement/picked_rows.h"

namespace tenon::cpu {
namespace {

[[gnu::always_inline]] inline __m512i taken(const PickedPart& part, const uint32_t* from,
                                            __m512i others) {
  return _mm512_mask_permutexvar_epi32(others, part.taken, _mm512_load_si512(part.places),
                                       _mm512_maskz_loadu_epi32(part.read, from + part.first));
}

/// kParts of them stay in registers; 0: any number, one after the other.
template <int kParts> void pick(const PickedPiece& piece, __mmask16 lanes) {
  const uint32_t* from = piece.from;
  uint32_t* to = piece.to;
  for (int64_t row = 0; row < piece.rows; ++row, from += piece.from_stride, to += piece.to_stride) {
    __m512i result = _mm512_setzero_si512();
    if constexpr (kParts > 0) {
#pragma GCC unroll 4
      for (int i = 0; i < kParts; ++i) result = taken(piece.parts[i], from, result);
    } else {
      for (const PickedPart& part : piece.parts) result = taken(part, from, result);
    }
    _mm512_mask_storeu_epi32(to, lanes, result);
  }
}

}  // namespace

void pick_rows_avx512(const PickedPiece& piece, int lanes) {
  const auto mask = static_cast<__mmask16>((1u << lanes) - 1);
  switch (piece.parts.size()) {
    case 1: return pick<1>(piece, mask);
    case 2: return pick<2>(piece, mask);
    default: return pick<0>(piece, mask);
  }
}

}  // namespace tenon::cpu
