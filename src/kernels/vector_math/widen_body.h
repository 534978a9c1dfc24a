// f32 and bf16 as operands of arithmetic, in code that the compiler vectorizes; included (after
// <bit> and <cstdint>) by the bodies that are compiled once per instruction set, inside their
// namespaces.

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
