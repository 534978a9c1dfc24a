#pragma once

#include <bit>
#include <cstdint>

/// Elements of f32 and bf16 tensors as floats.
namespace tenon::cpu {

inline float to_float(float value) {
  return value;
}
inline float to_float(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

inline void put_float(float value, float& to) {
  to = value;
}
/// Rounded to nearest even; NaN stays one.
inline void put_float(float value, uint16_t& to) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  to = static_cast<uint16_t>(value != value ? (bits >> 16 | 0x40)
                                            : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace tenon::cpu
