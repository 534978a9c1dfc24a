// Weights of kBits bits, counted from 0 on, as operands of tensor cores: 16 columns by 16 of k, of which a thread has
// columns `row` and `row + 8`. Their digits stay where they are: the last ones of an f16 are the smallest numbers that it
// holds, multiples of 2^-24, which the tensor cores take as any other; in bf16 they are those of 128 and more.

enum : int { kWordsEach = kBits / 4 };  // Of a thread, for each such matrix.
#if MATRIX_BF16
enum : int { kOffset = kBits == 4 ? 128 : 0 };
#else
enum : int { kOffset = 0 };
#endif

/// What a sum is multiplied by; that of column `row` or `row + 8`.
__device__ inline float unit_of([[maybe_unused]] int second) {
#if MATRIX_BF16
  return 1;
#else
  return kBits == 4 && second == 1 ? 1048576 : 16777216;
#endif
}

/// Two negative zero points, with the offset, as numbers of column `row` or `row + 8` lie.
__device__ inline u32 minus_of(float zero, [[maybe_unused]] int second) {
#if MATRIX_BF16
  return pair_of(bf16(), -zero, -zero);
#else
  return (0x8000u | u32(zero) << (kBits == 4 && second == 1 ? 4 : 0)) * 0x10001u;
#endif
}
#if MATRIX_BF16
__device__ inline u32 add_pairs(u32 a, u32 b) {
  u32 r;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(0x3f803f80u), "r"(b));
  return r;
}
/// The digits of a word that `mask` leaves, among those of `start`, in one instruction.
__device__ inline u32 digits_of(u32 word, u32 mask, u32 start) {
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(word), "r"(mask), "r"(start));  // (a & b) | c
  return r;
}
/// Two bytes of a word, from the lower or the upper half of it.
__device__ inline u32 pair_of_bytes(u32 word, int half) {
  const float a = __uint_as_float(__byte_perm(word, 0x4b000000u, half == 0 ? 0x7440 : 0x7442));
  const float b = __uint_as_float(__byte_perm(word, 0x4b000000u, half == 0 ? 0x7441 : 0x7443));
  return pair_of(bf16(), a - 8388608, b - 8388608);
}
#else
__device__ inline u32 add_pairs(u32 a, u32 b) {
  u32 r;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ inline u32 pair_of_bytes(u32 word, int half) { return __byte_perm(word, 0, half == 0 ? 0x4140 : 0x4342); }
#endif

/// Numbers as they are, with the offset. In f16 those of column `row + 8` are 16 times as large where they have 4 bits.
__device__ inline void unpack_weights(u32 (&a)[4], const u32 (&words)[kWordsEach]) {
  if constexpr (kBits == 8) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = pair_of_bytes(words[i % 2], i / 2);
  } else {
    const u32 w = words[0];
#if MATRIX_BF16
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = digits_of(w >> (4 * i), 0x000f000fu, 0x43004300u);
#else
    const u32 upper = w >> 8;
    a[0] = w & 0x000f000fu;
    a[1] = w & 0x00f000f0u;
    a[2] = upper & 0x000f000fu;
    a[3] = upper & 0x00f000f0u;
#endif
  }
}

/// Takes off zero points, which leaves numbers that both types hold exactly: infinite numbers of x then have infinite results.
__device__ inline void subtract_zeros(u32 (&a)[4], const float (&zero)[2]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = add_pairs(a[i], minus_of(zero[i % 2] + kOffset, i % 2));
}

/// Weights of one, in the units of numbers of 4 or 8 bits.
__device__ inline void set_ones(u32 (&a)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
#if MATRIX_BF16
    a[i] = 0x3f803f80u;
#else
    a[i] = kBits == 4 && i % 2 == 1 ? 0x00100010u : 0x00010001u;
#endif
}
