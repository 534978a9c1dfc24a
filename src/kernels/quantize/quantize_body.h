// Runs of quantization; included once (after <algorithm>, <bit>, <cstdint>, quantize.h and a Bytes
// of vector_math/bytes_*.h) per instruction set, inside a namespace of that set's own. Loops
// without Bytes are vectorized by the compiler.

#include "kernels/vector_math/widen_body.h"

using V = Bytes::Vector;

inline V load(const float* p, int n) {
  return n == V::kWidth ? V::load(p) : V::load(p, n);
}
inline V load(const uint16_t* p, int n) {
  return n == V::kWidth ? V::load_bf16(p) : V::load_bf16(p, n);
}

/// To the nearest integer, ties to even. NaN becomes 0, as in a cast.
template <bool kEach, class From> void quantize_run(const QuantizeRun& run, float low, float high) {
  const auto* from = static_cast<const From*>(run.from);
  auto* to = static_cast<uint8_t*>(run.to);
  V scale = V::broadcast(run.scales[0]), zero = V::broadcast(run.zeros[0]);
  for (int64_t i = 0; i < run.count; i += V::kWidth) {
    const int n = static_cast<int>(std::min<int64_t>(V::kWidth, run.count - i));
    if (kEach) scale = load(run.scales + i, n), zero = load(run.zeros + i, n);
    const V x = load(from + i, n) / scale;
    const V inside = min(max(x, V::broadcast(low) - zero), V::broadcast(high) - zero);
    const V whole = Bytes::at_order(x, inside, V::zero() - zero);
    if (n == V::kWidth) {
      Bytes::store(to + i, whole, zero);
    } else {
      uint8_t last[V::kWidth];
      Bytes::store(last, whole, zero);
      std::copy_n(last, n, to + i);
    }
  }
}

template <class From> void quantize_from(const QuantizeRun& run) {
  if (run.quantized == QuantizedType::i8)
    run.each ? quantize_run<true, From>(run, -128, 127) : quantize_run<false, From>(run, -128, 127);
  else
    run.each ? quantize_run<true, From>(run, 0, 255) : quantize_run<false, From>(run, 0, 255);
}

inline void quantize(const QuantizeRun& run) {
  run.real == ElementType::f32 ? quantize_from<float>(run) : quantize_from<uint16_t>(run);
}

template <bool kEach, class From, class To> void dequantize_run(const QuantizeRun& run) {
  const auto* from = static_cast<const From*>(run.from);
  auto* to = static_cast<To*>(run.to);
  for (int64_t i = 0; i < run.count; ++i) {
    const int64_t s = kEach ? i : 0;
    narrow((static_cast<float>(from[i]) - run.zeros[s]) * run.scales[s], to[i]);
  }
}

template <class From, class To> void dequantize_to(const QuantizeRun& run) {
  run.each ? dequantize_run<true, From, To>(run) : dequantize_run<false, From, To>(run);
}

template <class From> void dequantize_from(const QuantizeRun& run) {
  run.real == ElementType::f32 ? dequantize_to<From, float>(run)
                               : dequantize_to<From, uint16_t>(run);
}

inline void dequantize(const QuantizeRun& run) {
  if (run.quantized == QuantizedType::i8) return dequantize_from<int8_t>(run);
  if (run.quantized == QuantizedType::u8) return dequantize_from<uint8_t>(run);
  dequantize_from<int32_t>(run);
}

/// Absent numbers of the last vector are 0, as are low and high at first.
inline void range(const float* from, int64_t count, float& low, float& high) {
  V lowest = V::broadcast(low), highest = V::broadcast(high);
  for (int64_t i = 0; i < count; i += V::kWidth) {
    const V x = load(from + i, static_cast<int>(std::min<int64_t>(V::kWidth, count - i)));
    lowest = min(x, lowest), highest = max(x, highest);
  }
  float lows[V::kWidth], highs[V::kWidth];
  lowest.store(lows), highest.store(highs);
  low = *std::min_element(lows, lows + V::kWidth);
  high = *std::max_element(highs, highs + V::kWidth);
}
