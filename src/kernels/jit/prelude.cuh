// Start of every kernel that is compiled at run time: element types, conversions, packs of 16 bytes, sums over groups
// of threads. The constants of the problem (kernels/jit/kernel_code.h) follow it.
//
// Constants outside of functions are enumerators or macros: NVRTC keeps each `constexpr` there as a variable in memory,
// which drivers place, write and link whenever the code is loaded.

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct boolean {
  u8 byte;
};

// widen: memory to the type of arithmetic.
__device__ inline float widen(f16 v) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v.bits));
  return r;
}
__device__ inline float widen(bf16 v) { return __uint_as_float(u32(v.bits) << 16); }
__device__ inline bool widen(boolean v) { return v.byte != 0; }
template <class T>
__device__ inline T widen(T v) {
  return v;
}

template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<f16> {
  using type = float;
};
template <>
struct WideOf<bf16> {
  using type = float;
};
template <>
struct WideOf<boolean> {
  using type = bool;
};
template <class T>
using Wide = typename WideOf<T>::type;

// narrow<T>: back to memory, to nearest even.
template <class T>
struct Narrow {
  template <class V>
  __device__ static T from(V v) {
    return T(v);
  }
};
template <>
struct Narrow<f16> {
  __device__ static f16 from(float v) {
    f16 r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(v));
    return r;
  }
};
template <>
struct Narrow<bf16> {
  __device__ static bf16 from(float v) {
    bf16 r;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(v));
#else
    const u32 bits = __float_as_uint(v);
    r.bits = v != v ? u16(0x7fff) : u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
    return r;
  }
};
template <>
struct Narrow<boolean> {
  template <class V>
  __device__ static boolean from(V v) {
    return {u8(v != V(0) ? 1 : 0)};
  }
};
template <class T, class V>
__device__ inline T narrow(V v) {
  return Narrow<T>::from(v);
}

// Doubles to integers as a host that saturates does it: NaN gives 0.
template <class T>
__device__ inline T saturate(double v, double low, double high) {
  return v != v ? T(0) : (v <= low ? T(low) : (v >= high ? T(high) : T(v)));
}

#define kInfinity __longlong_as_double(0x7ff0000000000000ll)
#define kNan __longlong_as_double(0x7ff8000000000000ll)

/// N elements that are loaded and stored together.
template <class T, int N>
struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) Pack {
  T v[N];
};
template <int N, class T>
__device__ inline Pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}
template <int N, class T>
__device__ inline void store_pack(T* to, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}
template <int N, class T, class V>
__device__ inline void load_wide(const T* from, V (&to)[N]) {
  const Pack<T, N> pack = load_pack<N>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = V(widen(pack.v[i]));
}
template <int N, class T, class V>
__device__ inline void store_narrow(T* to, const V (&from)[N]) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack.v[i] = narrow<T>(from[i]);
  store_pack<N>(to, pack);
}

/// Addresses of shared memory as 32-bit numbers, as instructions take them.
__device__ inline u32 shared_address(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }

#ifndef OPEN_BYTES
#define OPEN_BYTES 8
#endif
/// Number i of a kernel's first argument, where code is open (OpenSource of kernels/jit/kernel_code.h): of OPEN_BYTES, 4
/// where none is negative or has more. Arguments have no name outside of the kernel, but this is their assembler's.
template <class T, int i>
__device__ inline T open_constant() {
  if constexpr (OPEN_BYTES == 4 || sizeof(T) == 4) {
    u32 value;
    asm("ld.param.u32 %0, [kernel_param_0+%1];" : "=r"(value) : "n"(i * OPEN_BYTES));
    return T(value);
  } else {
    T value;
    asm("ld.param.s64 %0, [kernel_param_0+%1];" : "=l"(value) : "n"(i * 8));
    return value;
  }
}

// Set by the host where the launch behind this one begins by waiting, too (Kernel::let_next_start). Kernels of libraries
// do not always: cuDNN's epilogues read residuals without waiting for the launch ahead.
extern "C" {
__constant__ unsigned tenon_lets_next_start = 0;
}
__device__ inline void release_next() {
#if __CUDA_ARCH__ >= 900
  if (tenon_lets_next_start != 0) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/// Asks for bytes to be fetched from memory into the second-level cache, by the threads of each block.
__device__ inline void prefetch_bytes(const void* from, int bytes) {
  for (int i = threadIdx.x * 128; i < bytes; i += blockDim.x * 128)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(static_cast<const char*>(from) + i));
}

// Launches that may overlap the end of the one before: nothing of its results is touched above begin_kernel().
__device__ inline void begin_kernel() {
  release_next();
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
// NaN wins.
struct Max {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return (a > b || a != a) ? a : b;
  }
#if __CUDA_ARCH__ >= 800
  __device__ float operator()(float a, float b) const {
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
  }
#endif
};

// GELU for results of 16 bits, with the relative accuracy of small results kept.
__device__ inline float rough_power_of_2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
__device__ inline float rough_inverse(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
/// x, or 0 below it, minus |x| times the tail of the distribution beyond |x|, whose logarithm is close to a polynomial.
__device__ inline float rough_gelu_erf(float x) {
  const float a = fminf(fabsf(x), 6.0f);
  return Max()(x, 0.0f) -
         a * rough_power_of_2(
                 fmaf(fmaf(fmaf(fmaf(fmaf(fmaf(2.75345508e-05f, a, -0.000683639265f), a, 0.0076228503f), a, -0.0523283906f), a, -0.459908887f), a, -1.15076123f), a, -1.00002421f));
}
/// x / (1 + 2^(k x (1 + 0.044715 x^2))), k = -2 sqrt(2 / pi) / log(2), of two numbers with one division. Results below -7
/// are 0.
__device__ inline void rough_gelu_tanh(float& x, float& y) {
  const auto power = [](float v) { return rough_power_of_2(v * fmaf(v * v, -0.10294324f, -2.302208198f)); };
  x = Max()(x, -7.0f), y = Max()(y, -7.0f);
  const float a = 1 + power(x), b = 1 + power(y), inverse = rough_inverse(a * b);
  x *= b * inverse, y *= a * inverse;
}
template <int N>
__device__ inline void rough_gelu_tanh(float (&v)[N]) {
  float none = 0;
#pragma unroll
  for (int i = 0; i < N; i += 2) rough_gelu_tanh(v[i], i + 1 < N ? v[i + 1 < N ? i + 1 : i] : none);
}
__device__ inline float rough_gelu_tanh_of(float x) {
  float v[1] = {x};
  rough_gelu_tanh<1>(v);
  return v[0];
}

// Gate activations of recurrent cells, for states of 16 bits.
__device__ inline float rough_sigmoid(float x) { return rough_inverse(1 + rough_power_of_2(-1.44269504f * x)); }
/// Close to 0 it is a polynomial: 1 - 2 / (1 + e^2x) has few digits there.
__device__ inline float rough_tanh(float x) {
  const float far = fmaf(-2, rough_inverse(1 + rough_power_of_2(2.88539008f * x)), 1);
  const float near = x * fmaf(x * x, -0.33333333f, 1);
  return fabsf(x) < 0.03f ? near : far;
}

/// The values of a group of kGroup threads (a power of 2, up to the block) combined, the same in
/// every thread. Groups above a warp are the whole block, which must call this together. The order is fixed.
template <int kGroup, class T, class Operation>
__device__ inline T combine_group(T value, Operation combine) {
  constexpr int kWidth = kGroup < 32 ? kGroup : 32;
#pragma unroll
  for (int step = kWidth / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, step, 32));
  if constexpr (kGroup > 32) {
    constexpr int kWarps = kGroup / 32;
    __shared__ T partial[kWarps];
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
#pragma unroll
    for (int i = 1; i < kWarps; ++i) value = combine(value, partial[i]);
  }
  return value;
}

/// Where element `at` of a tensor lies in another one: At::kRank axes with At::extent<i>() and At::stride<i>(), the last
/// one fastest.
/// Actual says them where At has other numbers in their place, of which the same is known when code is compiled.
template <class At>
struct Actual : At {};
template <class At, int kAxis, class Index>
__device__ inline Index offset_of(Index at) {
  if constexpr (kAxis == 0) {
    return at * Index(Actual<At>::template stride<0>());
  } else {
    const Index extent = Actual<At>::template extent<kAxis>();
    return at % extent * Index(Actual<At>::template stride<kAxis>()) + offset_of<At, kAxis - 1>(at / extent);
  }
}
template <class At, class Index>
__device__ inline Index locate(Index at) {
  if constexpr (At::kRank == 0) return 0;
  else return offset_of<At, At::kRank - 1>(at);
}

/// True when N consecutive elements, the first at a multiple of N, lie together (or in one place) in the other tensor.
template <class At, int N, int kAxis>
__device__ constexpr bool strides_divide() {
  if constexpr (kAxis < 0) return true;
  else return At::template stride<kAxis>() % N == 0 && strides_divide<At, N, kAxis - 1>();
}
template <class At, int N>
__device__ constexpr bool packs_together() {
  if constexpr (N == 1 || At::kRank == 0) {
    return N == 1;
  } else {
    return At::template stride<At::kRank - 1>() == 1 && At::template extent<At::kRank - 1>() % N == 0 &&
           At::kAlignment % N == 0 && strides_divide<At, N, At::kRank - 2>();
  }
}
template <class At, int N>
__device__ constexpr bool packs_in_one() {
  if constexpr (At::kRank == 0) return true;
  else return At::template stride<At::kRank - 1>() == 0 && At::template extent<At::kRank - 1>() % N == 0;
}

/// The value of load_located, as it lies in memory.
template <class At, int N, class T>
struct alignas(packs_together<At, N>() && sizeof(T) * N >= 16 ? 16 : alignof(T)) Fetched {
  T v[packs_in_one<At, N>() ? 1 : N];
};
template <class At, int N, class T, class Index>
__device__ inline void fetch_located(const T* from, Index at, Fetched<At, N, T>& to) {
  if constexpr (packs_in_one<At, N>()) {
    to.v[0] = from[locate<At>(at)];
  } else if constexpr (packs_together<At, N>()) {
    constexpr int kStep = sizeof(T) * N > 16 ? 16 / sizeof(T) : N;
    const T* p = from + locate<At>(at);
#pragma unroll
    for (int i = 0; i < N; i += kStep) {
      if constexpr (sizeof(T) == 1 && kStep % 4 == 0) {
        // Words that stay words.
        const Pack<u32, kStep / 4> words = load_pack<kStep / 4>(reinterpret_cast<const u32*>(p + i));
#pragma unroll
        for (int k = 0; k < kStep; k += 4) memcpy(to.v + i + k, words.v + k / 4, 4);
      } else {
        const Pack<T, kStep> pack = load_pack<kStep>(p + i);
#pragma unroll
        for (int k = 0; k < kStep; ++k) to.v[i + k] = pack.v[k];
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to.v[i] = from[locate<At>(Index(at + i))];
  }
}
template <class At, int N, class T, class V>
__device__ inline void widen_fetched(const Fetched<At, N, T>& from, V (&to)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = V(widen(from.v[packs_in_one<At, N>() ? 0 : i]));
}
/// N consecutive elements, from number `at` on, of a tensor as another tensor At; `at` is a multiple of N.
template <class At, int N, class T, class Index, class V>
__device__ inline void load_located(const T* from, Index at, V (&to)[N]) {
  Fetched<At, N, T> fetched;
  fetch_located<At, N>(from, at, fetched);
  widen_fetched<At, N>(fetched, to);
}
/// The reverse, for tensors without broadcast axes.
template <class At, int N, class T, class Index, class V>
__device__ inline void store_located(T* to, Index at, const V (&from)[N]) {
  if constexpr (packs_together<At, N>()) {
    constexpr int kStep = sizeof(T) * N > 16 ? 16 / sizeof(T) : N;
    T* p = to + locate<At>(at);
#pragma unroll
    for (int i = 0; i < N; i += kStep) {
      Pack<T, kStep> pack;
#pragma unroll
      for (int k = 0; k < kStep; ++k) pack.v[k] = narrow<T>(from[i + k]);
      store_pack<kStep>(p + i, pack);
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[locate<At>(Index(at + i))] = narrow<T>(from[i]);
  }
}
