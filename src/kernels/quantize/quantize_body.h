// Runs of quantization; included once (after <algorithm>, <bit>, <cstdint> and quantize.h) per
// instruction set, inside a namespace of that set's own. The compiler vectorizes the loops.

inline float widen(float value) {
  return value;
}
inline float widen(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}
inline void narrow(float value, float& to) {
  to = value;
}
/// Round to nearest even; NaN stays one.
inline void narrow(float value, uint16_t& to) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  to = static_cast<uint16_t>(value != value ? (bits >> 16 | 0x40) : rounded);
}

/// To the nearest integer, ties to even, by an addition that leaves no room for a fraction. What is
/// far out saturates later anyway.
inline float rounded(float x) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
  const float bounded = x < -4.0e6f ? -4.0e6f : (x > 4.0e6f ? 4.0e6f : x);
  return (bounded + kMagic) - kMagic;
}

template <bool kEach, class From, class To>
void quantize_run(const QuantizeRun& run, float low, float high) {
  const auto* from = static_cast<const From*>(run.from);
  auto* to = static_cast<To*>(run.to);
  for (int64_t i = 0; i < run.count; ++i) {
    const int64_t s = kEach ? i : 0;
    const float value = rounded(widen(from[i]) / run.scales[s]) + run.zeros[s];
    // What is not a number becomes 0, as in a cast.
    const float inside = value < low ? low : (value > high ? high : value);
    to[i] = static_cast<To>(static_cast<int32_t>(inside == inside ? inside : 0.0f));
  }
}

template <class From>
void quantize_from(const QuantizeRun& run) {
  if (run.quantized == QuantizedType::i8)
    run.each ? quantize_run<true, From, int8_t>(run, -128, 127)
             : quantize_run<false, From, int8_t>(run, -128, 127);
  else
    run.each ? quantize_run<true, From, uint8_t>(run, 0, 255)
             : quantize_run<false, From, uint8_t>(run, 0, 255);
}

inline void quantize(const QuantizeRun& run) {
  run.real == ElementType::f32 ? quantize_from<float>(run) : quantize_from<uint16_t>(run);
}

template <bool kEach, class From, class To>
void dequantize_run(const QuantizeRun& run) {
  const auto* from = static_cast<const From*>(run.from);
  auto* to = static_cast<To*>(run.to);
  for (int64_t i = 0; i < run.count; ++i) {
    const int64_t s = kEach ? i : 0;
    narrow((static_cast<float>(from[i]) - run.zeros[s]) * run.scales[s], to[i]);
  }
}

template <class From, class To>
void dequantize_to(const QuantizeRun& run) {
  run.each ? dequantize_run<true, From, To>(run) : dequantize_run<false, From, To>(run);
}

template <class From>
void dequantize_from(const QuantizeRun& run) {
  run.real == ElementType::f32 ? dequantize_to<From, float>(run)
                               : dequantize_to<From, uint16_t>(run);
}

inline void dequantize(const QuantizeRun& run) {
  if (run.quantized == QuantizedType::i8) return dequantize_from<int8_t>(run);
  if (run.quantized == QuantizedType::u8) return dequantize_from<uint8_t>(run);
  dequantize_from<int32_t>(run);
}
