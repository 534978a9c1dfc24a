#include <immintrin.h>

#include "kernels/quantized/byte_winograd_body.h"

namespace tenon::cpu {
namespace {

struct WinogradPairs {
  static constexpr int kTiles = 6, kVectors = 2;
  static constexpr bool kFormsInRegisters = false;

  [[gnu::always_inline]] static __m256i load(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  [[gnu::always_inline]] static void store(void* p, __m256i x) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), x);
  }

  struct Short {
    static constexpr int kWidth = 16;
    __m256i v;
    [[gnu::always_inline]] static Short load(const void* p) { return {WinogradPairs::load(p)}; }
    [[gnu::always_inline]] static Short broadcast(int16_t x) { return {_mm256_set1_epi16(x)}; }
    [[gnu::always_inline]] void store(void* p) const { WinogradPairs::store(p, v); }
    template <int kBits> [[gnu::always_inline]] Short shifted() const {
      return {_mm256_slli_epi16(v, kBits)};
    }
    [[gnu::always_inline]] Short operator+(Short x) const { return {_mm256_add_epi16(v, x.v)}; }
    [[gnu::always_inline]] Short operator-(Short x) const { return {_mm256_sub_epi16(v, x.v)}; }
  };
  struct Long {
    static constexpr int kWidth = 8;
    __m256i v;
    [[gnu::always_inline]] static Long zero() { return {_mm256_setzero_si256()}; }
    [[gnu::always_inline]] static Long load(const void* p) { return {WinogradPairs::load(p)}; }
    [[gnu::always_inline]] static Long broadcast(const void* p) {
      int32_t x;
      std::memcpy(&x, p, sizeof(x));
      return {_mm256_set1_epi32(x)};
    }
    [[gnu::always_inline]] void store(void* p) const { WinogradPairs::store(p, v); }
    template <int kBits> [[gnu::always_inline]] Long shifted() const {
      return {_mm256_slli_epi32(v, kBits)};
    }
    [[gnu::always_inline]] Long operator+(Long x) const { return {_mm256_add_epi32(v, x.v)}; }
    [[gnu::always_inline]] Long operator-(Long x) const { return {_mm256_sub_epi32(v, x.v)}; }
    [[gnu::always_inline]] Long operator*(Long x) const { return {_mm256_mullo_epi32(v, x.v)}; }
  };

  template <bool kSigned> [[gnu::always_inline]] static Short bytes(const void* p) {
    const __m128i x = _mm_loadu_si128(static_cast<const __m128i*>(p));
    return {kSigned ? _mm256_cvtepi8_epi16(x) : _mm256_cvtepu8_epi16(x)};
  }
  [[gnu::always_inline]] static Long divided(Long x, int bits) {
    return {_mm256_srai_epi32(x.v, bits)};
  }
  [[gnu::always_inline]] static void multiply_add(Long& sum, Long x, Long w) {
    sum = sum + Long{_mm256_madd_epi16(x.v, w.v)};
  }
};

}  // namespace

const ByteWinogradFunctions kByteWinogradAvx2 = ByteWinogradBody<WinogradPairs>::kFunctions;

}  // namespace tenon::cpu
