// Elements of 8 bits: floats in two formats (sm_89), and pairs of elements.

struct e4m3 {
  u8 bits;
};
struct e5m2 {
  u8 bits;
};
template <>
struct WideOf<e4m3> {
  using type = float;
};
template <>
struct WideOf<e5m2> {
  using type = float;
};
__device__ inline float low_half(u32 pair) { return widen(f16{u16(pair)}); }
__device__ inline float widen(e4m3 v) {
  u32 r;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(u16(v.bits)));
  return low_half(r);
}
__device__ inline float widen(e5m2 v) {
  u32 r;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"(u16(v.bits)));
  return low_half(r);
}

/// v / scale to nearest even, by the reciprocal and made good by the remainder: neither scale nor inverse may be denormal or
/// too large. Quotients beyond every type's range stay there.
__device__ inline float quotient(float v, float scale, float inverse) {
  constexpr float kLimit = 1048576.0f;
  const float q = fminf(fmaxf(v * inverse, -kLimit), kLimit);
  return fmaf(fmaf(-q, scale, v), inverse, q);
}

/// A number of multiples of the scale, not yet rounded; by the reciprocal as quotient() says.
template <bool kByReciprocal>
__device__ inline float in_scales(float v, float scale, float inverse) {
  return kByReciprocal ? quotient(v, scale, inverse) : __fdiv_rn(v, scale);
}
/// To nearest even, for numbers up to 2^22.
__device__ inline float round_small(float v) { return (v + 12582912.0f) - 12582912.0f; }
/// The integer that stands for it; NaN becomes 0.
__device__ inline float whole_in_scales(float v, float zero, float low, float high) {
  return v != v ? 0.0f : round_small(fminf(fmaxf(v, low - zero), high - zero)) + zero;
}

// Conversions of numbers go through the unit for exponentials, 16 a cycle. Here they are sums with numbers whose last place
// is 1 instead: the bits of 2^23 + n are those of 2^23 plus n.

/// To integers of 8 bits, of numbers that are whole: kernels that quantize narrow no others.
template <class T>
struct NarrowWhole {
  template <class V>
  __device__ static T from(V v) {
    return T(v);
  }
  __device__ static T from(float v) { return T(__float_as_uint(v + 12582912.0f)); }
};
template <>
struct Narrow<i8> : NarrowWhole<i8> {};
template <>
struct Narrow<u8> : NarrowWhole<u8> {};

template <class T>
__device__ inline float byte_number(T v) {
  return float(widen(v));
}
__device__ inline float byte_number(u8 v) { return __uint_as_float(v | 0x4b000000u) - 8388608.0f; }
__device__ inline float byte_number(i8 v) { return __uint_as_float((u8(v) ^ 0x80u) | 0x4b000000u) - 8388736.0f; }
template <class At, int N, class T>
__device__ inline void widen_bytes(const Fetched<At, N, T>& from, float (&to)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = byte_number(from.v[packs_in_one<At, N>() ? 0 : i]);
}

/// Bytes as they lie in floats: 32768 above them, and those with a sign 128 more.
template <class T>
__device__ inline float raw_byte(T v) {
  return __uint_as_float(0x47000000u | u32(T(-1) < T(0) ? u8(v) ^ 0x80u : u8(v)) << 8);
}
/// Their start, as a number that the assembler does not know: else it keeps a copy of each selector in its place. Numbers of
/// multiprocessors have 16 bits.
__device__ inline u32 raw_start() {
  u32 number;
  asm("mov.u32 %0, %%smid;" : "=r"(number));
  return 0x47000000u | number >> 16;
}
template <class At, int N, class T>
__device__ inline void raw_bytes(const Fetched<At, N, T>& from, float (&to)[N]) {
  if constexpr (packs_in_one<At, N>() || N % 4 != 0) {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = raw_byte(from.v[packs_in_one<At, N>() ? 0 : i]);
  } else {
    const u32 start = raw_start();
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      u32 word;
      memcpy(&word, from.v + i, 4);
      if constexpr (T(-1) < T(0)) word ^= 0x80808080u;
#pragma unroll
      for (int k = 0; k < 4; ++k) to[i + k] = __uint_as_float(__byte_perm(word, start, 0x7404 | k << 4));
    }
  }
}

// Two elements side by side, to nearest even; what is too large becomes the largest number, which may be less than the
// type's.
#ifndef BYTE_LOWEST
#define BYTE_LOWEST(T) (T(-1) < T(0) ? -128.0f : 0.0f)
#define BYTE_HIGHEST(T) (T(-1) < T(0) ? 127.0f : 255.0f)
#endif
/// With a range, numbers are places between the lowest and the highest byte, 0 to 1: no comparisons, of which there are half as
/// many a cycle.
template <class T>
__device__ inline u32 rounded_bits(float v) {
#ifdef BYTE_RANGE
  return __float_as_uint(fmaf(__saturatef(v), BYTE_RANGE, BYTE_START));
#endif
  return __float_as_uint(fminf(fmaxf(v, BYTE_LOWEST(T)), BYTE_HIGHEST(T)) + 12582912.0f);
}
__device__ inline u16 byte_pair(i8, float a, float b) {
  return u16(__byte_perm(rounded_bits<i8>(a), rounded_bits<i8>(b), 0x0040));
}
__device__ inline u16 byte_pair(u8, float a, float b) {
  return u16(__byte_perm(rounded_bits<u8>(a), rounded_bits<u8>(b), 0x0040));
}
__device__ inline u16 byte_pair(e4m3, float a, float b) {
  u16 r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(b), "f"(a));
  return r;
}
__device__ inline u16 byte_pair(e5m2, float a, float b) {
  u16 r;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(b), "f"(a));
  return r;
}
/// x / (1 + e^-x) of x / 2, likewise: within 1 / 4096 of x. `scaled` is the argument of the tangent.
__device__ inline float byte_swish(float h, float scaled) {
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(scaled));
  return fmaf(h, r, h);
}

#ifdef PACKED_GELU
/// Two bytes among the bits of halves, of half the arguments of a GELU as byte_gelu() has it: c1 and c3 are the cubic's, width
/// and offset give places between the lowest and the highest byte.
__device__ inline u32 gelu_pair(float a, float b, u32 c1, u32 c3, u32 factor, u32 offset, u32 width, u32 start) {
  u32 h, r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(b), "f"(a));
  asm("{\n.reg .b32 t;\n"
      "mul.rn.f16x2 t, %1, %1;\nfma.rn.f16x2 t, t, %3, %2;\nmul.rn.f16x2 t, t, %1;\ntanh.approx.f16x2 t, t;\n"
      "fma.rn.f16x2 t, %1, t, %1;\nfma.rn.sat.f16x2 t, t, %4, %5;\nfma.rn.f16x2 %0, t, %6, %7;\n}"
      : "=r"(r)
      : "r"(h), "r"(c1), "r"(c3), "r"(factor), "r"(offset), "r"(width), "r"(start));
  return r;
}
/// Two floats of 8 bits, likewise; `factor` is 1 / scale. A larger result than halves hold is the largest half.
__device__ inline u32 gelu_pair(float a, float b, u32 c1, u32 c3, u32 factor) {
  u32 h, r;
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(b), "f"(a));
  asm("{\n.reg .b32 t;\n"
      "mul.rn.f16x2 t, %1, %1;\nfma.rn.f16x2 t, t, %3, %2;\nmul.rn.f16x2 t, t, %1;\ntanh.approx.f16x2 t, t;\n"
      "fma.rn.f16x2 t, %1, t, %1;\nmul.rn.f16x2 %0, t, %4;\n}"
      : "=r"(r)
      : "r"(h), "r"(c1), "r"(c3), "r"(factor));
  return r;
}
__device__ inline u16 float_pair(e4m3, u32 halves) {
  u16 r;
  asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(r) : "r"(halves));
  return r;
}
__device__ inline u16 float_pair(e5m2, u32 halves) {
  u16 r;
  asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(r) : "r"(halves));
  return r;
}
#endif
template <class T>
__device__ inline u32 integer_word(const float* v) {
#ifdef PACKED_GELU
  return __byte_perm(gelu_pair(v[0], v[1], PACKED_GELU), gelu_pair(v[2], v[3], PACKED_GELU), 0x6420);
#endif
  const u32 low = __byte_perm(rounded_bits<T>(v[0]), rounded_bits<T>(v[1]), 0x0040);
  return __byte_perm(low, __byte_perm(rounded_bits<T>(v[2]), rounded_bits<T>(v[3]), 0x0040), 0x5410);
}
/// Four of them.
template <class T>
__device__ inline u32 byte_word(T type, const float* v) {
#ifdef PACKED_GELU
  return float_pair(type, gelu_pair(v[0], v[1], PACKED_GELU)) | u32(float_pair(type, gelu_pair(v[2], v[3], PACKED_GELU))) << 16;
#else
  return byte_pair(type, v[0], v[1]) | u32(byte_pair(type, v[2], v[3])) << 16;
#endif
}
__device__ inline u32 byte_word(i8, const float* v) { return integer_word<i8>(v); }
__device__ inline u32 byte_word(u8, const float* v) { return integer_word<u8>(v); }
/// x Phi(x) of x / 2, for results of 8 bits: Phi as (1 + tanh(h (a + b h^2))) / 2, within 3e-4, and 1 / 4096 of x.
__device__ inline float byte_gelu(float h, float a, float b) {
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(h * fmaf(h * h, b, a)));
  return fmaf(h, r, h);
}

/// What is left of a number that becomes such a float.
template <class T>
__device__ inline float round_to_float8(float v) {
  return widen(T{u8(byte_pair(T(), v, 0.0f))});
}

template <class T>
struct NarrowToByte {
  __device__ static T from(float v) { return {u8(byte_pair(T(), v, 0.0f))}; }
};
template <>
struct Narrow<e4m3> : NarrowToByte<e4m3> {};
template <>
struct Narrow<e5m2> : NarrowToByte<e5m2> {};
