// Types, conversions and vector access for device code. Stands alone: no toolkit need be installed where it is compiled.
#pragma once

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

/// 16-bit floats as they are stored; arithmetic is in float.
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

inline float to_float(f16 value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
inline float to_float(bf16 value) { return __uint_as_float(static_cast<u32>(value.bits) << 16); }
inline float to_float(float value) { return value; }

/// Rounded to nearest, ties to even.
template <class T>
inline T from_float(float value);
template <>
inline float from_float<float>(float value) {
  return value;
}
template <>
inline f16 from_float<f16>(float value) {
  f16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
}
template <>
inline bf16 from_float<bf16>(float value) {
  bf16 result;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
#else
  const u32 bits = __float_as_uint(value);
  const u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  result.bits = static_cast<u16>((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
#endif
  return result;
}

/// Several elements that are loaded and stored at once; at most 16 bytes.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T v[N];
};
template <int N, class T>
inline Vector<T, N> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T, N>*>(from);
}
template <int N, class T>
inline void store_vector(T* to, const Vector<T, N>& value) {
  *reinterpret_cast<Vector<T, N>*>(to) = value;
}

/// Of kernels launched with overlaps_previous: waits until the kernel ahead in the stream has ended and its results can be
/// read. Does nothing elsewhere.
inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// Lets the kernel behind in the stream start, as far as there is room; its wait_for_previous() still waits for the end of
/// this one.
inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Over the 32 threads of a warp; every thread gets the result.
template <class T>
inline T warp_sum(T value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}
template <class T>
inline T warp_max(T value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = other > value ? other : value;
  }
  return value;
}
