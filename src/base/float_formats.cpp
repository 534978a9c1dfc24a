#include "base/float_formats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon {
namespace {

/// How the bits of a small format are laid out and its special values.
struct Layout {
  int mantissa_bits;
  int bias;
  uint8_t sign_bit;
  uint8_t largest;   ///< Largest finite magnitude.
  uint8_t overflow;  ///< Magnitude for numbers that are too large, not saturated.
  uint8_t nan;
  bool has_infinity;
  bool has_nan;
  bool negative_zero_is_nan;
};

constexpr Layout kLayouts[] = {
    {3, 7, 0x80, 0x7E, 0x7F, 0x7F, false, true, false},   // E4M3
    {3, 8, 0x80, 0x7F, 0x80, 0x80, false, true, true},    // E4M3 FNUZ
    {2, 15, 0x80, 0x7B, 0x7C, 0x7E, true, true, false},   // E5M2
    {2, 16, 0x80, 0x7F, 0x80, 0x80, false, true, true},   // E5M2 FNUZ
    {1, 1, 0x08, 0x07, 0x07, 0x08, false, false, false},  // E2M1
};

const Layout& layout_of(SmallFloat format) {
  return kLayouts[static_cast<int>(format)];
}

/// Finite magnitude bits; may exceed the layout's largest.
uint32_t round_magnitude(const Layout& layout, float magnitude) {
  const int smallest_exponent = 1 - layout.bias;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, smallest_exponent);
  const float units = std::nearbyint(std::ldexp(magnitude, layout.mantissa_bits - exponent));
  const uint32_t offset = static_cast<uint32_t>(exponent - smallest_exponent)
                          << layout.mantissa_bits;
  // Units include the implicit one, which adds one to the exponent field of normal numbers.
  return offset + static_cast<uint32_t>(units);
}

uint8_t too_large(const Layout& layout, bool saturate, uint8_t sign) {
  if (saturate || !layout.has_nan) return sign | layout.largest;
  return layout.negative_zero_is_nan ? layout.nan : sign | layout.overflow;
}

}  // namespace

float small_float_decode(SmallFloat format, uint8_t bits) {
  const Layout& layout = layout_of(format);
  const bool negative = (bits & layout.sign_bit) != 0;
  const uint8_t magnitude = bits & (layout.sign_bit - 1);
  if (layout.negative_zero_is_nan && bits == layout.nan)
    return std::numeric_limits<float>::quiet_NaN();
  if (layout.has_nan && magnitude > layout.largest) {
    const bool infinite = layout.has_infinity && magnitude == layout.overflow;
    const float special =
        infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    return negative ? -special : special;
  }
  const int field = magnitude >> layout.mantissa_bits;
  const int fraction = magnitude & ((1 << layout.mantissa_bits) - 1);
  const int units = field == 0 ? fraction : fraction | (1 << layout.mantissa_bits);
  const int exponent = (field == 0 ? 1 : field) - layout.bias - layout.mantissa_bits;
  const float value = std::ldexp(static_cast<float>(units), exponent);
  return negative ? -value : value;
}

uint8_t small_float_encode(SmallFloat format, float value, bool saturate) {
  const Layout& layout = layout_of(format);
  const uint8_t sign = std::signbit(value) ? layout.sign_bit : 0;
  if (std::isnan(value)) {
    if (layout.negative_zero_is_nan || !layout.has_nan) return layout.nan;
    return sign | layout.nan;
  }
  if (std::isinf(value)) return too_large(layout, saturate, sign);
  const uint32_t magnitude = value == 0 ? 0 : round_magnitude(layout, std::fabs(value));
  if (magnitude > layout.largest) return too_large(layout, saturate, sign);
  if (magnitude == 0 && layout.negative_zero_is_nan) return 0;
  return sign | static_cast<uint8_t>(magnitude);
}

float e8m0_decode(uint8_t bits) {
  if (bits == 0xFF) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0f, bits - 127);
}

uint8_t e8m0_encode(float value, bool saturate, PowerRounding rounding) {
  constexpr uint8_t kNan = 0xFF;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return kNan;
  if (std::isinf(value)) return saturate ? 0xFE : kNan;
  if (magnitude < 0x1p-127f) return saturate ? 0 : kNan;
  int exponent = 0;
  const float fraction = std::frexp(magnitude, &exponent);  // In [0.5, 1).
  int power = exponent - 1;
  if (rounding == PowerRounding::kUp && fraction > 0.5f) ++power;
  if (rounding == PowerRounding::kNearest && fraction >= 0.75f) ++power;
  if (power > 127) return saturate ? 0xFE : kNan;
  return static_cast<uint8_t>(power + 127);
}

}  // namespace tenon
