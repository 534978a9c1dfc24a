// Results of a thread that lie beside each other leave it in words, those of 8 bits rounded on the way.

/// Two elements of 16 bits, or more of fewer.
template <class T>
__device__ inline u32 word_of(T type, const float* v) {
  if constexpr (sizeof(T) == 1) return byte_word(type, v);
  else if constexpr (sizeof(T) == 2) return pair_of(type, v[0], v[1]);
  else return __float_as_uint(v[0]);
}
template <int kCount>
__device__ inline void store_run(Y* y, Index at, const float (&v)[kCount]) {
  constexpr int kEach = 4 / sizeof(Y), kWords = kCount / kEach, kStep = kWords < 4 ? kWords : 4;
  if constexpr (packs_together<YAt, kCount>()) {
    Y* to = y + locate<YAt>(at);
#pragma unroll
    for (int i = 0; i < kWords; i += kStep) {
      Pack<u32, kStep> pack;
#pragma unroll
      for (int k = 0; k < kStep; ++k) pack.v[k] = word_of(Y(), v + (i + k) * kEach);
      store_pack<kStep>(reinterpret_cast<u32*>(to) + i, pack);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const u32 word = word_of(Y(), v + i * kEach);
#pragma unroll
      for (int k = 0; k < kEach; ++k)
        reinterpret_cast<Word*>(y)[locate<YAt>(Index(at + i * kEach + k))] = Word(word >> (k * 8 * sizeof(Y)));
    }
  }
}
