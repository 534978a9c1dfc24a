#pragma once

#include <bit>
#include <cstdint>

namespace tenon {

/// Conversions between float and the narrower formats of ir/data_types.def, by bit pattern.
/// Rounding is to nearest, ties to even.

inline float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
inline uint16_t bf16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return static_cast<uint16_t>(nan ? (bits >> 16) | 0x40u : rounded);
}

/// Branch-free, so that loops over it vectorize.
inline float f16_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7FFFu) << 13;
  // The exponent is moved by a multiplication, which also normalizes subnormal numbers.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t finite = std::bit_cast<uint32_t>(scaled);
  const uint32_t special = magnitude | 0x7F800000u;
  return std::bit_cast<float>(sign | (magnitude >= 0x0F800000u ? special : finite));
}
inline uint16_t f16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  // Adding 0.5 aligns the last place of a subnormal half with that of the float: the addition
  // rounds.
  const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(aligned) - 0x3F000000u;
  const uint32_t normal = (magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t special = magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u;
  const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  return static_cast<uint16_t>(sign | (magnitude >= 0x477FF000u ? special : finite));
}

/// A number of at least 0 to one with so many places behind the first of its mantissa, as formats
/// have it whose least normal number is `least`. Branch-free too; large numbers stay large.
inline float round_to_places(float value, int places, float least) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const int shift = 23 - places;
  const uint32_t half = (1u << (shift - 1)) - 1u + ((bits >> shift) & 1u);
  const float normal = std::bit_cast<float>((bits + half) & ~((1u << shift) - 1u));
  // Its last place is that of the least normal number: the addition rounds.
  const float aligner = least * static_cast<float>(1u << shift);
  const float subnormal = (value + aligner) - aligner;
  return value < least ? subnormal : normal;
}

/// The 8- and 4-bit formats. The saturating conversions give the largest finite number for numbers
/// that are too large, the others NaN (or infinity where the format has one), as in the tables of
/// ONNX Cast.
enum class SmallFloat : uint8_t { kE4M3, kE4M3Fnuz, kE5M2, kE5M2Fnuz, kE2M1 };

float small_float_decode(SmallFloat format, uint8_t bits);
/// kE2M1 always saturates and has neither infinity nor NaN, which becomes -0.
uint8_t small_float_encode(SmallFloat format, float value, bool saturate);

/// Powers of two without sign.
enum class PowerRounding : uint8_t { kUp, kDown, kNearest };
float e8m0_decode(uint8_t bits);
uint8_t e8m0_encode(float value, bool saturate, PowerRounding rounding);

}  // namespace tenon
