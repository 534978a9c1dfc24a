#include <immintrin.h>

#include <algorithm>

#include "kernels/pointwise/byte_table.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kAtOnce = 32;

/// Two registers hold 64 pairs of entries; the lowest bit of an index chooses of its pair.
void bytes(const uint8_t* table, const uint8_t* from, uint8_t* to, int64_t count) {
  const __m512i pairs[] = {_mm512_loadu_si512(table), _mm512_loadu_si512(table + 64),
                           _mm512_loadu_si512(table + 128), _mm512_loadu_si512(table + 192)};
  const __m512i one = _mm512_set1_epi16(1);
  for (int64_t i = 0; i < count; i += kAtOnce) {
    const int64_t left = std::min(kAtOnce, count - i);
    const __mmask32 present = static_cast<__mmask32>((uint64_t{1} << left) - 1);
    const __m512i index = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(present, from + i));
    const __m512i pair = _mm512_srli_epi16(index, 1);
    const __m512i low = _mm512_permutex2var_epi16(pairs[0], pair, pairs[1]);
    const __m512i high = _mm512_permutex2var_epi16(pairs[2], pair, pairs[3]);
    const __m512i found =
        _mm512_mask_mov_epi16(low, _mm512_test_epi16_mask(index, _mm512_set1_epi16(128)), high);
    const __m512i shift = _mm512_slli_epi16(_mm512_and_si512(index, one), 3);
    _mm256_mask_storeu_epi8(to + i, present, _mm512_cvtepi16_epi8(_mm512_srlv_epi16(found, shift)));
  }
}

void words(const uint32_t* table, const uint8_t* from, uint32_t* to, int64_t count) {
  constexpr int64_t kWords = 16;
  for (int64_t i = 0; i < count; i += kWords) {
    const int64_t left = std::min(kWords, count - i);
    const __mmask16 present = static_cast<__mmask16>((uint32_t{1} << left) - 1);
    const __m512i index = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(present, from + i));
    _mm512_mask_storeu_epi32(to + i, present, _mm512_i32gather_epi32(index, table, 4));
  }
}

}  // namespace

const ByteTableFunctions kByteTableAvx512 = {bytes, words};

}  // namespace tenon::cpu
