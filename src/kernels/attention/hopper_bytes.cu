// Operands of attention on Hopper (attention/hopper_tiles.cu): sums of products as scores, and values of 8 bits as the
// halves that weights are multiplied with.

#if BYTE_OPERANDS
typedef f16 Weight;

/// Four bytes as halves without their zero point, exactly. Bytes are the low parts of halves from 1024 on, where the last
/// place is 1; VALUE_START is what these numbers have on top, twice.
__device__ inline void widen_four(u32 word, u32 (&to)[2], u8) {
  to[0] = __byte_perm(word, 0x64646464u, 0x4140), to[1] = __byte_perm(word, 0x64646464u, 0x4342);
#pragma unroll
  for (int i = 0; i < 2; ++i) asm("sub.rn.f16x2 %0, %0, %1;" : "+r"(to[i]) : "r"(u32(VALUE_START)));
}
__device__ inline void widen_four(u32 word, u32 (&to)[2], i8) { widen_four(word ^ 0x80808080u, to, u8()); }
__device__ inline void widen_four(u32 word, u32 (&to)[2], e4m3) {
#pragma unroll
  for (int i = 0; i < 2; ++i) asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(to[i]) : "h"(u16(word >> 16 * i)));
}
/// The upper halves of such floats.
__device__ inline void widen_four(u32 word, u32 (&to)[2], e5m2) {
  to[0] = __byte_perm(word, 0, 0x1404), to[1] = __byte_perm(word, 0, 0x3424);
}

/// Those of a stage, by all threads that multiply.
__device__ inline void widen_values(u32 stage) {
  constexpr int kPieces = kFetchedRow / 16;
  for (int i = threadIdx.x; i < kFetchedBoxes * kKeys * kPieces; i += kConsumers) {
    const int row = i / kPieces, piece = i % kPieces, key = row % kKeys, column = row / kKeys * kFetchedRow + piece * 16;
    if (column / 64 >= kValueBoxes) continue;
    const int place = kFetchedRow == 128 ? piece ^ key % 8 : piece ^ key / 2 % 4;
    const uint4 bytes = load_shared_piece(stage + kFetchedAt + row * kFetchedRow + place * 16);
    const u32 words[4] = {bytes.x, bytes.y, bytes.z, bytes.w}, to = stage + kKeyBytes + (column / 64 * kKeys + key) * 128;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      u32 low[2], high[2];
      widen_four(words[2 * k], low, ValueByte());
      widen_four(words[2 * k + 1], high, ValueByte());
      store_shared_piece(to + (column % 64 / 8 + k ^ key % 8) * 16, make_uint4(low[0], low[1], high[0], high[1]));
    }
  }
}
/// They are there for all groups' products.
__device__ inline void meet_with_values() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  barrier_of(5, kConsumers);
}
__device__ inline void widen_values_of(u32 stage, u32 barrier, u32 phase) {
  barrier_wait(barrier, phase);
  widen_values(stage);
  meet_with_values();
}
__device__ inline void widen_all_values(u32 ring, const Barriers& barriers, int tiles, u32 phase) {
  for (int t = 0; t < tiles; ++t) {
    barrier_wait(barriers.values(t), phase);
    widen_values(ring + t * kStageBytes);
  }
  meet_with_values();
}
#else
typedef X Weight;
__device__ inline void widen_values_of(u32, u32, u32) {}
__device__ inline void widen_all_values(u32, const Barriers&, int, u32) {}
#endif

#if INTEGER_SCORES
typedef int ScoreSum;
#define SCORE_SUMS(sums, scores) int sums[kKeys / 2]
/// Sums below 2^22 are the last places of floats from 2^23 + 2^22 on. Where scores need nothing but a factor they keep that
/// start: it cancels where scores are taken relative to the greatest of their row.
__device__ inline void take_scores(float (&scores)[kKeys / 2], const int (&sums)[kKeys / 2]) {
#pragma unroll
  for (int i = 0; i < kKeys / 2; ++i) scores[i] = __int_as_float(sums[i] + 0x4b400000) - (kPlain ? 0.0f : 12582912.0f);
}
#define TAKE_SCORES(scores, sums) take_scores(scores, sums)
#else
typedef float ScoreSum;
#define SCORE_SUMS(sums, scores) float(&sums)[kKeys / 2] = scores
#define TAKE_SCORES(scores, sums)
#endif
