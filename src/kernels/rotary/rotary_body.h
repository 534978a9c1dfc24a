// One row of a rotary embedding; included once (after <bit>, <cstdint>, <cstring> and rotary.h) per
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

template <class T>
void row_of(const RotaryRow& row) {
  const auto *x = static_cast<const T*>(row.x), *cos = static_cast<const T*>(row.cos),
             *sin = static_cast<const T*>(row.sin);
  auto* __restrict y = static_cast<T*>(row.y);
  const int64_t half = row.rotated / 2;
  const int64_t step = row.interleaved ? 2 : 1, partner = row.interleaved ? 1 : half;
  for (int64_t i = 0; i < half; ++i) {
    const float a = widen(x[i * step]), b = widen(x[i * step + partner]), c = widen(cos[i]),
                s = widen(sin[i]);
    narrow(c * a - s * b, y[i * step]);
    narrow(s * a + c * b, y[i * step + partner]);
  }
  std::memcpy(y + row.rotated, x + row.rotated,
              static_cast<size_t>(row.size - row.rotated) * sizeof(T));
}

inline void rotate(const RotaryRow& row) {
  row.type == ElementType::f32 ? row_of<float>(row) : row_of<uint16_t>(row);
}
