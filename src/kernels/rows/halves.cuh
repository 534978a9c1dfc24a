// Rows of 16-bit numbers as floats.

/// Halves two at a time: alone, each would have to be taken from its word first.
__device__ inline void widen_pair(u32 word, float& low, float& high, f16) {
  asm("{\n.reg .f16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}" : "=f"(low), "=f"(high) : "r"(word));
}
__device__ inline void widen_pair(u32 word, float& low, float& high, bf16) {
  low = __uint_as_float(word << 16), high = __uint_as_float(word & 0xffff0000u);
}
template <class At, int N, class T>
__device__ inline void widen_row(const Fetched<At, N, T>& from, float (&to)[N]) {
  if constexpr (sizeof(T) == 2 && !packs_in_one<At, N>()) {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      u32 word;
      memcpy(&word, from.v + i, 4);
      widen_pair(word, to[i], to[i + 1], T());
    }
  } else {
    widen_fetched<At, N>(from, to);
  }
}
