#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// The same interface as vector_avx512.h over one float in plain C++, for machines without a better
/// one.
namespace tenon::vector_math {

struct F32x1 {
  static constexpr int kWidth = 1;
  using Mask = bool;
  float v;

  static F32x1 zero() { return {0.0f}; }
  static F32x1 broadcast(float x) { return {x}; }
  static F32x1 load(const float* p) { return {*p}; }
  static F32x1 load(const float* p, int n) { return {n > 0 ? *p : 0.0f}; }
  static F32x1 load_bf16(const uint16_t* p) { return {std::bit_cast<float>(uint32_t{*p} << 16)}; }
  static F32x1 load_bf16(const uint16_t* p, int n) { return n > 0 ? load_bf16(p) : zero(); }
  static void load_bf16_pairs(const uint16_t* p, F32x1& even, F32x1& odd) {
    even = load_bf16(p), odd = load_bf16(p + 1);
  }
  void store(float* p) const { *p = v; }
  void store(float* p, int n) const {
    if (n > 0) *p = v;
  }
  void store_bf16(uint16_t* p) const {
    const uint32_t bits = std::bit_cast<uint32_t>(v);
    *p = v != v ? 0x7fc0 : static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
  void store_bf16(uint16_t* p, int n) const {
    if (n > 0) store_bf16(p);
  }
  static void store_bf16_pairs(uint16_t* p, F32x1 even, F32x1 odd) {
    even.store_bf16(p), odd.store_bf16(p + 1);
  }

  friend F32x1 operator+(F32x1 a, F32x1 b) { return {a.v + b.v}; }
  friend F32x1 operator-(F32x1 a, F32x1 b) { return {a.v - b.v}; }
  friend F32x1 operator*(F32x1 a, F32x1 b) { return {a.v * b.v}; }
  friend F32x1 operator/(F32x1 a, F32x1 b) { return {a.v / b.v}; }
  friend Mask operator<(F32x1 a, F32x1 b) { return a.v < b.v; }
  friend Mask is_nan(F32x1 a) { return a.v != a.v; }
  friend F32x1 fma(F32x1 a, F32x1 b, F32x1 c) { return {std::fma(a.v, b.v, c.v)}; }
  friend F32x1 max(F32x1 a, F32x1 b) { return {a.v > b.v ? a.v : b.v}; }
  friend F32x1 min(F32x1 a, F32x1 b) { return {a.v < b.v ? a.v : b.v}; }
  friend F32x1 abs(F32x1 a) { return {std::fabs(a.v)}; }
  friend F32x1 sqrt(F32x1 a) { return {std::sqrt(a.v)}; }
  friend F32x1 round(F32x1 a) { return {std::nearbyint(a.v)}; }
  friend F32x1 copysign(F32x1 a, F32x1 s) { return {std::copysign(a.v, s.v)}; }
  friend F32x1 select(Mask m, F32x1 yes, F32x1 no) { return m ? yes : no; }
  friend F32x1 scale_by_power(F32x1 a, F32x1 n) {
    return {n.v == n.v ? std::ldexp(a.v, static_cast<int>(n.v)) : n.v};
  }
  friend F32x1 split_exponent(F32x1 a, F32x1& mantissa) {
    int e = 0;
    mantissa = {std::frexp(a.v, &e) * 2.0f};
    return {static_cast<float>(e - 1)};
  }
  static void transpose(F32x1 (&)[1]) {}
  friend float sum(F32x1 a) { return a.v; }
  friend float maximum(F32x1 a) { return a.v; }
};

}  // namespace tenon::vector_math
