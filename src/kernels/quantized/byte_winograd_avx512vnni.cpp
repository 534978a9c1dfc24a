#include <immintrin.h>

#include "kernels/quantized/byte_winograd_body.h"

namespace tenon::cpu {
namespace {

struct WinogradVnni {
  static constexpr int kTiles = 14, kVectors = 2;
  static constexpr bool kFormsInRegisters = true;

  struct Short {
    static constexpr int kWidth = 32;
    __m512i v;
    [[gnu::always_inline]] static Short load(const void* p) { return {_mm512_loadu_si512(p)}; }
    [[gnu::always_inline]] static Short broadcast(int16_t x) { return {_mm512_set1_epi16(x)}; }
    [[gnu::always_inline]] void store(void* p) const { _mm512_storeu_si512(p, v); }
    template <int kBits> [[gnu::always_inline]] Short shifted() const {
      return {_mm512_slli_epi16(v, kBits)};
    }
    [[gnu::always_inline]] Short operator+(Short x) const { return {_mm512_add_epi16(v, x.v)}; }
    [[gnu::always_inline]] Short operator-(Short x) const { return {_mm512_sub_epi16(v, x.v)}; }
  };
  struct Long {
    static constexpr int kWidth = 16;
    __m512i v;
    [[gnu::always_inline]] static Long zero() { return {_mm512_setzero_si512()}; }
    [[gnu::always_inline]] static Long load(const void* p) { return {_mm512_loadu_si512(p)}; }
    [[gnu::always_inline]] static Long broadcast(const void* p) {
      int32_t x;
      std::memcpy(&x, p, sizeof(x));
      return {_mm512_set1_epi32(x)};
    }
    [[gnu::always_inline]] void store(void* p) const { _mm512_storeu_si512(p, v); }
    template <int kBits> [[gnu::always_inline]] Long shifted() const {
      return {_mm512_slli_epi32(v, kBits)};
    }
    [[gnu::always_inline]] Long operator+(Long x) const { return {_mm512_add_epi32(v, x.v)}; }
    [[gnu::always_inline]] Long operator-(Long x) const { return {_mm512_sub_epi32(v, x.v)}; }
    [[gnu::always_inline]] Long operator*(Long x) const { return {_mm512_mullo_epi32(v, x.v)}; }
  };

  template <bool kSigned> [[gnu::always_inline]] static Short bytes(const void* p) {
    const __m256i x = _mm256_loadu_si256(static_cast<const __m256i*>(p));
    return {kSigned ? _mm512_cvtepi8_epi16(x) : _mm512_cvtepu8_epi16(x)};
  }
  [[gnu::always_inline]] static Long divided(Long x, int bits) {
    return {_mm512_srai_epi32(x.v, static_cast<unsigned>(bits))};
  }
  [[gnu::always_inline]] static void multiply_add(Long& sum, Long x, Long w) {
    sum.v = _mm512_dpwssd_epi32(sum.v, x.v, w.v);
  }
};

}  // namespace

const ByteWinogradFunctions kByteWinogradAvx512Vnni = ByteWinogradBody<WinogradVnni>::kFunctions;

}  // namespace tenon::cpu
