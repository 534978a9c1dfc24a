#pragma once

#include <math.h>

#include "block.h"

/// Instructions that kernels name themselves, by functions that host_nvrtc.cpp puts in their place:
/// the text, the outputs, the inputs.
namespace host {

using Text = const char*;

template <class... Operands> void nothing(Text, const Operands&...) {}
template <class... Operands> void unknown(Text text, const Operands&...) {
  fail(text);
}

inline float from_bits(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned bits_of(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float from_f16(unsigned short h) {
  const unsigned sign = (h & 0x8000U) << 16, digits = h & 0x3ffU;
  const int exponent = h >> 10 & 31;
  if (exponent == 31) return from_bits(sign | 0x7f800000U | digits << 13);
  const float value = exponent == 0 ? ldexpf(static_cast<float>(digits), -24)
                                    : ldexpf(static_cast<float>(digits | 0x400U), exponent - 25);
  return sign != 0 ? -value : value;
}
inline unsigned short to_f16(float value) {
  const auto sign = static_cast<unsigned short>(bits_of(value) >> 16 & 0x8000U);
  const float size = fabsf(value);
  if (value != value) return sign | 0x7fff;
  if (size >= 65520) return sign | 0x7c00;
  if (size < 0x1p-14F) return sign | static_cast<unsigned short>(nearbyintf(size * 0x1p24F));
  // Even numbers of the last place are rounded to, as the digits of a sum of 2^13 places.
  const unsigned bits = bits_of(size);
  return sign | static_cast<unsigned short>(
                    (bits + 0xfff + (bits >> 13 & 1) - (unsigned{112} << 23)) >> 13);
}
inline float from_bf16(unsigned short b) {
  return from_bits(unsigned{b} << 16);
}
inline unsigned short to_bf16(float value) {
  const unsigned bits = bits_of(value);
  return value != value ? 0x7fff
                        : static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline void f32_of_f16(Text, float& to, unsigned short from) {
  to = from_f16(from);
}
inline void f32_of_pair(Text, float& low, float& high, unsigned from) {
  low = from_f16(static_cast<unsigned short>(from)),
  high = from_f16(static_cast<unsigned short>(from >> 16));
}
inline void f16_of_f32(Text, unsigned short& to, float from) {
  to = to_f16(from);
}
inline void bf16_of_f32(Text, unsigned short& to, float from) {
  to = to_bf16(from);
}
inline void pair_of_f32(Text text, unsigned& to, float high, float low) {
  const auto limited = [&](float v) {
    return std::strstr(text, "satfinite") == nullptr ? v : fminf(fmaxf(v, -65504), 65504);
  };
  to = unsigned{to_f16(limited(high))} << 16 | to_f16(limited(low));
}

inline void larger(Text, float& to, float a, float b) {
  to = a > b || a != a ? a : b;
}
inline void power_of_2(Text, float& to, float v) {
  to = exp2f(v);
}
inline void inverse(Text, float& to, float v) {
  to = 1 / v;
}
inline void hyperbolic(Text, float& to, float v) {
  to = tanhf(v);
}
inline void limited_sum(Text, float& to, float a, float b, float c) {
  to = fminf(fmaxf(fmaf(a, b, c), 0.0F), 1.0F);
}
inline void bits_by_table(Text text, unsigned& to, unsigned a, unsigned b, unsigned c) {
  to = std::strstr(text, "0x6a") != nullptr ? (a & b) ^ c : (a & b) | c;
}

inline void most_of_warp(Text, unsigned& to, unsigned own) {
  unsigned most = 0;
  exchange(&own, 1, ~0U, [&](const Slot* of) {
    for (int i = 0; i < kWarp; ++i) most = of[i].words[0] > most ? of[i].words[0] : most;
  });
  to = most;
}

/// Of the kernel's first argument.
template <class T> void parameter(Text, T& to, int at) {
  std::memcpy(&to, static_cast<char*>(parameters[0]) + at, sizeof to);
}
template <class T> void multiprocessor(Text, T& to) {
  to = 0;
}

/// Addresses in shared memory are the lower halves of the host's.
inline char* shared_at(unsigned address) {
  constexpr uintptr_t kLower = 0xffffffffU;
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(shared_memory) & ~kLower) | address);
}

/// Copies that go on meanwhile are done at once. `all` bytes, those behind `bytes` being 0.
inline void copy_of(Text, unsigned to, const void* from, int all, int bytes) {
  std::memset(shared_at(to), 0, static_cast<size_t>(all));
  std::memcpy(shared_at(to), from, static_cast<size_t>(bytes));
}
inline void copy(Text text, unsigned to, const void* from, int bytes) {
  copy_of(text, to, from, bytes, bytes);
}
inline void copy_of_16(Text text, unsigned to, const void* from, int bytes) {
  copy_of(text, to, from, 16, bytes);
}
inline void copy_16(Text text, unsigned to, const void* from) {
  copy_of(text, to, from, 16, 16);
}

template <int kCount, class T> void store(Text, unsigned to, unsigned word) {
  for (int i = 0; i < kCount; ++i) {
    const T value = static_cast<T>(word);
    std::memcpy(shared_at(to) + i * sizeof value, &value, sizeof value);
  }
}
inline void load_shared(Text, float& a, float& b, float& c, float& d, unsigned at) {
  const auto* from = reinterpret_cast<const float*>(shared_at(at));
  a = from[0], b = from[1], c = from[2], d = from[3];
}
template <class T> void load_four(Text, T& a, T& b, T& c, T& d, const void* at) {
  const T* from = static_cast<const T*>(at);
  a = from[0], b = from[1], c = from[2], d = from[3];
}
template <class T> void load_two(Text, T& a, T& b, const void* at) {
  const T* from = static_cast<const T*>(at);
  a = from[0], b = from[1];
}

/// Four matrices of 8 x 8 numbers of 16 bits, of which each lane names a row and gets two numbers.
inline void load_matrices(Text text, unsigned& r0, unsigned& r1, unsigned& r2, unsigned& r3,
                          unsigned address) {
  const bool across = std::strstr(text, ".trans") != nullptr;
  unsigned* const to[] = {&r0, &r1, &r2, &r3};
  const int own = lane();
  exchange(&address, 1, ~0U, [&](const Slot* of) {
    for (int m = 0; m < 4; ++m) {
      unsigned short v[2];
      for (int i = 0; i < 2; ++i) {
        const int row = across ? own % 4 * 2 + i : own / 4;
        const int column = across ? own / 4 : own % 4 * 2 + i;
        std::memcpy(&v[i], shared_at(of[m * 8 + row].words[0]) + column * 2, 2);
      }
      *to[m] = unsigned{v[1]} << 16 | v[0];
    }
  });
}

/// A 16x8 tile of sums, of which each lane has four numbers, and the product of 16 x kDepth and
/// kDepth x 8 numbers, in words of kEach: value(word, number in it, is left).
template <int kEach, class T, class Value>
void add_product(T* const (&sums)[4], const unsigned (&words)[6], Value value) {
  constexpr int kDepth = 8 * kEach;
  const int own = lane();
  exchange(words, 6, ~0U, [&](const Slot* of) {
    for (int i = 0; i < 4; ++i) {
      const int row = own / 4 + i / 2 * 8, column = own % 4 * 2 + i % 2;
      T sum = *sums[i];
      for (int k = 0; k < kDepth; ++k) {
        const int half = k / (kDepth / 2), word = k % (kDepth / 2) / kEach;
        const unsigned left = of[row % 8 * 4 + word].words[row / 8 + half * 2];
        const unsigned right = of[column * 4 + word].words[4 + half];
        sum += value(left, k % kEach, true) * value(right, k % kEach, false);
      }
      *sums[i] = sum;
    }
  });
}
inline void multiply(Text text, float& c0, float& c1, float& c2, float& c3, unsigned a0,
                     unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  const bool is_bf16 = std::strstr(text, "bf16") != nullptr;
  add_product<2>({&c0, &c1, &c2, &c3}, {a0, a1, a2, a3, b0, b1}, [&](unsigned word, int i, bool) {
    const auto half = static_cast<unsigned short>(word >> 16 * i);
    return is_bf16 ? from_bf16(half) : from_f16(half);
  });
}
inline void multiply_bytes(Text text, int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1,
                           unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  const bool is_unsigned = std::strstr(text, ".u8.s8") != nullptr;
  add_product<4>({&c0, &c1, &c2, &c3}, {a0, a1, a2, a3, b0, b1},
                 [&](unsigned word, int i, bool left) {
                   const auto byte = static_cast<unsigned char>(word >> 8 * i);
                   return left && is_unsigned ? int{byte} : int{static_cast<signed char>(byte)};
                 });
}

}  // namespace host
