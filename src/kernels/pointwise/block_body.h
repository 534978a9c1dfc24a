#pragma once

#include <algorithm>
#include <cstdint>

#include "base/float_formats.h"
#include "kernels/epilogue/finish.h"
#include "kernels/pointwise/executor.h"
#include "kernels/vector_math/activations.h"

/// Loops over one block of registers, over a vector type V of kernels/vector_math, and B of its
/// conversions (bytes_*.h).
namespace tenon::cpu::block_detail {

/// Blocks are a multiple of every vector's width long, so the loops may run over the end of the
/// used part.
template <class V, class F> [[gnu::always_inline]] inline void each(float* out, int64_t n, F f) {
  for (int64_t i = 0; i < n; i += V::kWidth)
    f(i).store(out + i, static_cast<int>(std::min<int64_t>(V::kWidth, n - i)));
}

template <class V> [[gnu::always_inline]] inline V at(const float* p, int64_t i, int64_t n) {
  return n - i >= V::kWidth ? V::load(p + i) : V::load(p + i, static_cast<int>(n - i));
}

template <class V, PointwiseFunction kFunction>
void unary_loop(const PointwiseProgram::Instruction& in, const float* x, float* out, int64_t n) {
  const auto alpha = static_cast<float>(in.alpha), beta = static_cast<float>(in.beta);
  each<V>(out, n, [&](int64_t i) {
    return vector_math::apply_unary(kFunction, at<V>(x, i, n), alpha, beta);
  });
}

template <class V, PointwiseFunction kFunction>
void binary_loop(const float* x, const float* y, float* out, int64_t n) {
  each<V>(out, n, [&](int64_t i) {
    return vector_math::apply_binary(kFunction, at<V>(x, i, n), at<V>(y, i, n));
  });
}

/// A loop compiled for each function that has a vector form.
template <class V>
bool apply_vector(const PointwiseProgram::Instruction& in, const float* x, const float* y,
                  float* out, int64_t n) {
  switch (in.function) {
#define TENON_POINTWISE(name, arity, category, ...)                                        \
  case PointwiseFunction::k_##name:                                                        \
    if constexpr (vector_math::has_vector_form(PointwiseFunction::k_##name)) {             \
      if constexpr (arity == 1) unary_loop<V, PointwiseFunction::k_##name>(in, x, out, n); \
      if constexpr (arity == 2) binary_loop<V, PointwiseFunction::k_##name>(x, y, out, n); \
      return true;                                                                         \
    }                                                                                      \
    return false;
#include "ops/pointwise.def"
  }
  return false;
}

/// As cpu.quantize.runs rounds: to the nearest integer, ties to even; NaN becomes the byte 0.
template <class B>
void quantize_loop(const PointwiseProgram::Instruction& in, const float* x, float* out, int64_t n) {
  using V = typename B::Vector;
  const bool is_signed = in.to == DataType::kInt8;
  const auto at_zero = static_cast<float>(in.beta);
  const V scale = V::broadcast(static_cast<float>(in.alpha)), zero = V::broadcast(at_zero);
  const V low = V::broadcast((is_signed ? -128.0f : 0.0f) - at_zero);
  const V high = V::broadcast((is_signed ? 127.0f : 255.0f) - at_zero);
  each<V>(out, n, [&](int64_t i) {
    const V quotient = at<V>(x, i, n) / scale;
    const V inside = B::at_order(quotient, min(max(quotient, low), high), V::zero() - zero);
    return round(inside) + zero;
  });
}

template <class V>
void dequantize_loop(const PointwiseProgram::Instruction& in, const float* x, float* out,
                     int64_t n) {
  const V scale = V::broadcast(static_cast<float>(in.alpha));
  const V zero = V::broadcast(static_cast<float>(in.beta));
  each<V>(out, n, [&](int64_t i) { return (at<V>(x, i, n) - zero) * scale; });
}

inline float widen(uint16_t value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value) << 16);
}

/// A template, so that each instruction set has its own.
template <class V> void cast_loop(DataType to, const float* x, float* out, int64_t n) {
  if (to == DataType::kBool) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] != 0 ? 1.0f : 0.0f;
  } else if (to == DataType::kFloat16) {
    for (int64_t i = 0; i < n; ++i) out[i] = f16_to_float(f16_from_float(x[i]));
  } else if (to == DataType::kBFloat16) {
    uint16_t rounded[V::kWidth];
    for (int64_t i = 0; i < n; i += V::kWidth) {
      const int count = static_cast<int>(std::min<int64_t>(V::kWidth, n - i));
      at<V>(x, i, n).store_bf16(rounded, count);
      for (int k = 0; k < count; ++k) out[i + k] = widen(rounded[k]);
    }
  } else {
    std::copy_n(x, n, out);
  }
}

template <class B>
void apply(const PointwiseProgram::Instruction& in, const float* x, const float* y, const float* z,
           float* out, int64_t n) {
  using V = typename B::Vector;
  if (in.quantizes) {
    quantize_loop<B>(in, x, out, n);
  } else if (in.dequantizes) {
    dequantize_loop<V>(in, x, out, n);
  } else if (in.is_cast) {
    cast_loop<V>(in.to, x, out, n);
  } else if (in.function == PointwiseFunction::k_where) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] != 0 ? y[i] : z[i];
  } else if (!apply_vector<V>(in, x, y, out, n)) {
    const auto alpha = static_cast<float>(in.alpha), beta = static_cast<float>(in.beta);
    for (int64_t i = 0; i < n; ++i)
      out[i] = apply_scalar(in.function, x[i], y == nullptr ? 0.0f : y[i], alpha, beta);
  }
}

template <class V, class T>
void load_as(const void* base, int64_t at, int64_t stride, float* to, int64_t n) {
  const T* from = static_cast<const T*>(base) + at;
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i * stride]);
}

template <class V>
void load_bf16(const void* base, int64_t at, int64_t stride, float* to, int64_t n) {
  const uint16_t* from = static_cast<const uint16_t*>(base) + at;
  for (int64_t i = 0; i < n; ++i) to[i] = widen(from[i * stride]);
}

/// A template, so that each instruction set has its own.
template <class V>
void load(PointwiseType type, const void* from, int64_t at, int64_t stride, float* to, int64_t n) {
  if (stride == 0 && n > 1) {  // One element, repeated.
    load<V>(type, from, at, 1, to, 1);
    std::fill(to + 1, to + n, to[0]);
    return;
  }
  switch (type) {
    case PointwiseType::f32: return load_as<V, float>(from, at, stride, to, n);
    case PointwiseType::bf16: return load_bf16<V>(from, at, stride, to, n);
    case PointwiseType::f16:
      for (int64_t i = 0; i < n; ++i)
        to[i] = f16_to_float(static_cast<const uint16_t*>(from)[at + i * stride]);
      return;
    case PointwiseType::boolean: return load_as<V, uint8_t>(from, at, stride, to, n);
    case PointwiseType::i32: return load_as<V, int32_t>(from, at, stride, to, n);
    case PointwiseType::i64: return load_as<V, int64_t>(from, at, stride, to, n);
    case PointwiseType::i8: return load_as<V, int8_t>(from, at, stride, to, n);
    case PointwiseType::u8: return load_as<V, uint8_t>(from, at, stride, to, n);
  }
}

template <class V> void store_bf16(const float* from, uint16_t* to, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n && stride == 1; i += V::kWidth)
    at<V>(from, i, n).store_bf16(to + i, static_cast<int>(std::min<int64_t>(V::kWidth, n - i)));
  for (int64_t i = 0; i < n && stride != 1; ++i)
    at<V>(from + i, 0, 1).store_bf16(to + i * stride, 1);
}

/// Whole numbers that fit.
template <class B> void store_bytes(const float* from, uint8_t* to, int64_t stride, int64_t n) {
  using V = typename B::Vector;
  for (int64_t i = 0; i < n; i += V::kWidth) {
    const int64_t count = std::min<int64_t>(V::kWidth, n - i);
    uint8_t last[V::kWidth];
    const bool whole = stride == 1 && count == V::kWidth;
    B::store(whole ? to + i : last, at<V>(from, i, n), V::zero());
    for (int64_t k = 0; k < count && !whole; ++k) to[(i + k) * stride] = last[k];
  }
}

template <class B>
void store(PointwiseType type, const float* from, void* base, int64_t at, int64_t stride,
           int64_t n) {
  if (type == PointwiseType::f32) {
    auto* to = static_cast<float*>(base) + at;
    for (int64_t i = 0; i < n; ++i) to[i * stride] = from[i];
  } else if (type == PointwiseType::bf16) {
    store_bf16<typename B::Vector>(from, static_cast<uint16_t*>(base) + at, stride, n);
  } else if (type == PointwiseType::f16) {
    auto* to = static_cast<uint16_t*>(base) + at;
    for (int64_t i = 0; i < n; ++i) to[i * stride] = f16_from_float(from[i]);
  } else if (type == PointwiseType::i8 || type == PointwiseType::u8) {
    store_bytes<B>(from, static_cast<uint8_t*>(base) + at, stride, n);
  } else {
    auto* to = static_cast<uint8_t*>(base) + at;
    for (int64_t i = 0; i < n; ++i) to[i * stride] = from[i] != 0 ? 1 : 0;
  }
}

template <class B> const BlockFunctions& functions() {
  static constexpr BlockFunctions kFunctions{apply<B>, load<typename B::Vector>, store<B>};
  return kFunctions;
}

}  // namespace tenon::cpu::block_detail
