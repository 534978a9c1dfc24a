// Weights of kBits bits, counted from 0 on, as operands of tensor cores: 16 columns by 16 of k, of which a thread has
// columns `row` and `row + 8`. Differences from zero points are exact in 16 bits.

enum : int { kWordsEach = kBits / 4 };  // Of a thread, for each such matrix.

/// Takes the zero point from the result of a conversion: both halves of a word, or a float.
__device__ inline u32 minus_of(float zero, [[maybe_unused]] bool second) {
#if MATRIX_BF16
  if constexpr (kBits == 8) return __float_as_uint(-(8388608 + zero));
  else return pair_of(bf16(), -(128 + zero), -(128 + zero));
#else
  const float start = kBits == 4 && second ? 64 : 1024;
  return pair_of(f16(), -(start + zero), -(start + zero));
#endif
}

/// The digits of a word that `mask` leaves, among those of `start`, in one instruction.
__device__ inline u32 digits_of(u32 word, u32 mask, u32 start) {
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(word), "r"(mask), "r"(start));  // (a & b) | c
  return r;
}

#if MATRIX_BF16
__device__ inline u32 add_pairs(u32 a, u32 b) {
  u32 r;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(0x3f803f80u), "r"(b));
  return r;
}
/// Two bytes of a word, from the lower or the upper half of it.
__device__ inline u32 pair_of_bytes(u32 word, int half, u32 minus) {
  const float a = __uint_as_float(__byte_perm(word, 0x4b000000u, half == 0 ? 0x7440 : 0x7442));
  const float b = __uint_as_float(__byte_perm(word, 0x4b000000u, half == 0 ? 0x7441 : 0x7443));
  return pair_of(bf16(), a + __uint_as_float(minus), b + __uint_as_float(minus));
}
#else
__device__ inline u32 add_pairs(u32 a, u32 b) {
  u32 r;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
/// a / 16 + b.
__device__ inline u32 add_sixteenths(u32 a, u32 b) {
  u32 r;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(0x2c002c00u), "r"(b));
  return r;
}
__device__ inline u32 pair_of_bytes(u32 word, int half, u32 minus) {
  return add_pairs(__byte_perm(word, 0x64646464u, half == 0 ? 0x4140 : 0x4342), minus);
}
#endif

/// Numbers of 4 bits become the last digits of 1024 (f16) or 128 (bf16); in f16 those four bits further up are sixteenths.
__device__ inline void unpack_weights(u32 (&a)[4], const u32* words, const u32 (&minus)[2]) {
  if constexpr (kBits == 8) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = pair_of_bytes(words[i % 2], i / 2, minus[i % 2]);
  } else {
    const u32 w = words[0];
#if MATRIX_BF16
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = add_pairs(digits_of(w >> (4 * i), 0x000f000fu, 0x43004300u), minus[i % 2]);
#else
    const u32 upper = w >> 8;
    a[0] = add_pairs(digits_of(w, 0x000f000fu, 0x64006400u), minus[0]);
    a[1] = add_sixteenths(digits_of(w, 0x00f000f0u, 0x64006400u), minus[1]);
    a[2] = add_pairs(digits_of(upper, 0x000f000fu, 0x64006400u), minus[0]);
    a[3] = add_sixteenths(digits_of(upper, 0x00f000f0u, 0x64006400u), minus[1]);
#endif
  }
}
