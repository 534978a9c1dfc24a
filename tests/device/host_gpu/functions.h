#pragma once

#include <math.h>

#include <cstring>

#include "assembly.h"

/// CUDA's own words, types and functions.
#define __device__
#define __global__
#define __constant__
#define __shared__ static
#define __forceinline__ [[gnu::always_inline]]
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define __grid_constant__

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline int2 make_int2(int x, int y) {
  return {x, y};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

inline void __syncthreads() {
  host::meet(host::of_block, static_cast<int>(host::alive));
}
inline void __syncwarp(unsigned mask = ~0U) {
  host::meet_warp(mask);
}

namespace host {

template <class T> T of_lane(T value, int from, unsigned mask) {
  static_assert(sizeof value <= 2 * sizeof(unsigned));
  unsigned words[2] = {};
  std::memcpy(words, &value, sizeof value);
  exchange(words, 2, mask, [&](const Slot* of) {
    if (from >= 0 && from < kWarp) std::memcpy(&value, of[from].words, sizeof value);
  });
  return value;
}

}  // namespace host

template <class T> T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  return host::of_lane(value, host::lane() / width * width + from % width, mask);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int step, int = 32) {
  return host::of_lane(value, host::lane() ^ step, mask);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, int step, int width = 32) {
  const int own = host::lane();
  return host::of_lane(value, own % width >= step ? own - step : own, mask);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, int step, int width = 32) {
  const int own = host::lane();
  return host::of_lane(value, own % width + step < width ? own + step : own, mask);
}
inline unsigned __ballot_sync(unsigned mask, int holds) {
  const unsigned own = holds != 0 ? 1 : 0, there = mask & host::alive_of_warp[host::warp()];
  unsigned all = 0;
  host::exchange(&own, 1, mask, [&](const host::Slot* of) {
    for (int i = 0; i < host::kWarp; ++i)
      if ((there >> i & 1) != 0) all |= of[i].words[0] << i;
  });
  return all;
}
inline int __all_sync(unsigned mask, int holds) {
  return __ballot_sync(mask, holds == 0) == 0;
}

inline size_t __cvta_generic_to_shared(const void* at) {
  return reinterpret_cast<size_t>(at);
}

namespace host {

template <class To, class From> To same_bits(From from) {
  static_assert(sizeof(To) == sizeof from);
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace host

inline unsigned __float_as_uint(float v) {
  return host::same_bits<unsigned>(v);
}
inline float __uint_as_float(unsigned v) {
  return host::same_bits<float>(v);
}
inline float __int_as_float(int v) {
  return host::same_bits<float>(v);
}
inline double __longlong_as_double(long long v) {
  return host::same_bits<double>(v);
}
inline long long __double_as_longlong(double v) {
  return host::same_bits<long long>(v);
}

inline unsigned __byte_perm(unsigned low, unsigned high, unsigned places) {
  const unsigned long long all = static_cast<unsigned long long>(high) << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned place = places >> 4 * i & 15;
    const auto byte = static_cast<unsigned>(all >> 8 * (place & 7) & 0xff);
    result |= ((place & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xffU : 0U) << 8 * i;
  }
  return result;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned count) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (count & 31));
}
inline int __popc(unsigned v) {
  return __builtin_popcount(v);
}
inline int __ffs(int v) {
  return __builtin_ffs(v);
}
inline float __saturatef(float v) {
  return v != v ? 0 : fminf(fmaxf(v, 0.0F), 1.0F);
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}

namespace host {

/// The larger ones of two numbers of 16 bits.
template <class T> unsigned larger_halves(unsigned a, unsigned b) {
  unsigned result = 0;
  for (int i = 0; i < 2; ++i) {
    const T x = static_cast<T>(a >> 16 * i), y = static_cast<T>(b >> 16 * i);
    result |= unsigned{static_cast<unsigned short>(x > y ? x : y)} << 16 * i;
  }
  return result;
}

}  // namespace host

inline unsigned __vmaxs2(unsigned a, unsigned b) {
  return host::larger_halves<short>(a, b);
}
inline unsigned __vmaxu2(unsigned a, unsigned b) {
  return host::larger_halves<unsigned short>(a, b);
}

template <class T, class V> T atomicAdd(T* to, V value) {
  const T before = *to;
  *to = static_cast<T>(before + value);
  return before;
}
template <class T, class V> T atomicMax(T* to, V value) {
  const T before = *to;
  if (static_cast<T>(value) > before) *to = static_cast<T>(value);
  return before;
}

template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return T(b) < T(a) ? T(b) : T(a);
}
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return T(a) < T(b) ? T(b) : T(a);
}
inline double cospi(double v) {
  return cos(M_PI * remainder(v, 2));
}
inline double sinpi(double v) {
  return sin(M_PI * remainder(v, 2));
}
inline void sincospi(double v, double* sine, double* cosine) {
  *sine = sinpi(v), *cosine = cospi(v);
}
inline float rsqrtf(float v) {
  return 1 / sqrtf(v);
}
inline double rsqrt(double v) {
  return 1 / sqrt(v);
}
