// What the attention kernels share: where queries, keys and masks lie, and what a score becomes.

struct Head {
  const X *q, *k, *v;
  const Mask* mask;
  X* out;
};

__device__ inline Head locate_head(const X* q, const X* k, const X* v, const Mask* mask, X* out, Index batch, Index head) {
  const Index shared = head / (kHeads / kKvHeads);
  return {q + batch * Index(kQBatch) + head * Index(kQHead), k + batch * Index(kKBatch) + shared * Index(kKHead),
          v + batch * Index(kVBatch) + shared * Index(kVHead),
          mask == nullptr ? nullptr : mask + batch * Index(kMaskBatch) + head * Index(kMaskHead),
          out + batch * Index(kOutBatch) + head * Index(kOutHead)};
}

/// A product of query `i` and key `j` to the exponent of its probability, in units of log 2.
__device__ inline float to_exponent(float product, const Mask* mask, int i, int j) {
  constexpr float kLog2 = 1.4426950408889634f;
  if (j >= kKvLength) return -float(kInfinity);
  if (kCausal && j > i + kDiagonal) return -float(kInfinity);
  float score = product * float(kScale);
  if (kSoftcap > 0) score = float(kSoftcap) * tanhf(score / float(kSoftcap));
#if ATTENTION_MASK == 1
  if (!widen(mask[i * Index(kMaskQuery) + j * Index(kMaskKey)])) return -float(kInfinity);
#elif ATTENTION_MASK == 2
  score += float(widen(mask[i * Index(kMaskQuery) + j * Index(kMaskKey)]));
#endif
  return score * kLog2;
}

__device__ inline float power_of_2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

/// 1 / the sum of a row; rows whose every score is masked have none.
__device__ inline float inverse_sum(float sum) {
  if (sum > 0 || sum != sum) return 1 / sum;
  return kMaskedRowsZero ? 0.0f : float(kNan);
}

/// One past the last key that queries up to `last` see.
__device__ inline int last_key(int last) {
  if (!kCausal) return kKvLength;
  const int end = last + kDiagonal + 1;
  return end < kKvLength ? (end < 0 ? 0 : end) : kKvLength;
}
