// Shared by the attention kernels: the arithmetic of scores.

/// The summand of a score, in units of log 2. The lowest number has no such product: it becomes one that scores are
/// lost in all the same, so that a query all of whose keys have it weights them equally.
__device__ inline float mask_in_log_2(float mask) {
  constexpr float kLog2 = 1.4426950408889634f;
  return mask < -2e38f && mask > -float(kInfinity) ? -3e38f : mask * kLog2;
}

/// A product of query `i` and key `j` to the exponent of its probability, in units of log 2.
__device__ inline float to_exponent(float product, const Mask* mask, int i, int j) {
  constexpr float kLog2 = 1.4426950408889634f;
  if (j >= kKvLength) return -float(kInfinity);
  if (kCausal && j > i + kDiagonal) return -float(kInfinity);
  float score = product * float(kScale);
  if (kSoftcap > 0) score = float(kSoftcap) * tanhf(score / float(kSoftcap));
  score = score_steps(score);
  if constexpr (kMaskedSteps) {
#if ATTENTION_MASK == 2
    score += float(widen(mask[i * Index(kMaskQuery) + j * Index(kMaskKey)]));
#endif
    return masked_steps(score) * kLog2;
  }
  float exponent = score * kLog2;
#if ATTENTION_MASK == 1
  if (!widen(mask[i * Index(kMaskQuery) + j * Index(kMaskKey)])) exponent = -float(kInfinity);
#elif ATTENTION_MASK == 2
  exponent += mask_in_log_2(float(widen(mask[i * Index(kMaskQuery) + j * Index(kMaskKey)])));
#endif
  return exponent;
}

enum : bool { kRounds = float(kWeightsStep) > 0 };

/// A weight to a multiple of the step: quantized and dequantized.
__device__ inline float rounded_weight(float weight) {
  const float quotient = fminf(weight_steps(weight) / float(kWeightsStep), float(kWeightsLimit));
  if (kWeightsPlaces == 0) return rintf(quotient) * float(kWeightsStep);
  // A float of 8 bits: below the least normal number the addition rounds, else that to so many places does.
  constexpr int kShift = 23 - int(kWeightsPlaces);
  const u32 bits = __float_as_uint(quotient), half = (1u << (kShift - 1)) - 1u + (bits >> kShift & 1u);
  const float aligner = float(kWeightsLeast) * float(1u << kShift);
  const float normal = __uint_as_float((bits + half) & ~((1u << kShift) - 1u));
  const float small = __fadd_rn(__fadd_rn(quotient, aligner), -aligner);
  return (quotient < float(kWeightsLeast) ? small : normal) * float(kWeightsStep);
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
