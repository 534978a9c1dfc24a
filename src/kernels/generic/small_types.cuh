// Element types of 8 bits and fewer, a byte each: floats in five formats and powers of two, integers of 4 and 2 bits.
// SMALL_SATURATES: whether numbers that are too large become the largest one; SMALL_ROUNDING: 0 up, 1 down, 2 nearest,
// for powers of two.

template <int kMantissa_, int kBias_, int kSign_, int kLargest_, int kOverflow_, int kNan_, bool kInfinity_,
          bool kHasNan_, bool kNegativeZeroIsNan_>
struct SmallFloat {
  u8 bits;
  enum : int { kMantissa = kMantissa_, kBias = kBias_, kSign = kSign_, kLargest = kLargest_,
                       kOverflow = kOverflow_, kNotNumber = kNan_ };
  enum : bool { kInfinite = kInfinity_, kHasNan = kHasNan_, kNegativeZeroIsNan = kNegativeZeroIsNan_ };
};
typedef SmallFloat<3, 7, 0x80, 0x7E, 0x7F, 0x7F, false, true, false> e4m3;
typedef SmallFloat<3, 8, 0x80, 0x7F, 0x80, 0x80, false, true, true> e4m3fnuz;
typedef SmallFloat<2, 15, 0x80, 0x7B, 0x7C, 0x7E, true, true, false> e5m2;
typedef SmallFloat<2, 16, 0x80, 0x7F, 0x80, 0x80, false, true, true> e5m2fnuz;
typedef SmallFloat<1, 1, 0x08, 0x07, 0x07, 0x08, false, false, false> e2m1;
struct e8m0 {
  u8 bits;
};
template <int kBits, bool kSigned>
struct SmallInteger {
  u8 bits;
};
typedef SmallInteger<4, true> s4;
typedef SmallInteger<4, false> u4;
typedef SmallInteger<2, true> s2;
typedef SmallInteger<2, false> u2;

template <int m, int b, int s, int l, int o, int n, bool i, bool h, bool z>
struct WideOf<SmallFloat<m, b, s, l, o, n, i, h, z>> {
  using type = float;
};
template <>
struct WideOf<e8m0> {
  using type = float;
};
template <int kBits, bool kSigned>
struct WideOf<SmallInteger<kBits, kSigned>> {
  using type = i64;
};

template <int m, int b, int s, int l, int o, int n, bool i, bool h, bool z>
__device__ inline float widen(SmallFloat<m, b, s, l, o, n, i, h, z> v) {
  typedef SmallFloat<m, b, s, l, o, n, i, h, z> T;
  const bool negative = (v.bits & T::kSign) != 0;
  const int magnitude = v.bits & (T::kSign - 1);
  if (T::kNegativeZeroIsNan && v.bits == T::kNotNumber) return float(kNan);
  if (T::kHasNan && magnitude > T::kLargest) {
    const float special = T::kInfinite && magnitude == T::kOverflow ? float(kInfinity) : float(kNan);
    return negative ? -special : special;
  }
  const int field = magnitude >> T::kMantissa, fraction = magnitude & ((1 << T::kMantissa) - 1);
  const int units = field == 0 ? fraction : fraction | (1 << T::kMantissa);
  const float value = ldexpf(float(units), (field == 0 ? 1 : field) - T::kBias - T::kMantissa);
  return negative ? -value : value;
}
__device__ inline float widen(e8m0 v) { return v.bits == 0xFF ? float(kNan) : ldexpf(1.0f, int(v.bits) - 127); }
template <int kBits, bool kSigned>
__device__ inline i64 widen(SmallInteger<kBits, kSigned> v) {
  const int low = v.bits & ((1 << kBits) - 1);
  return kSigned && low >= (1 << (kBits - 1)) ? low - (1 << kBits) : low;
}

template <class T>
__device__ inline u8 too_large(bool negative) {
  const u8 sign = negative ? T::kSign : 0;
  if (SMALL_SATURATES || !T::kHasNan) return sign | T::kLargest;
  return T::kNegativeZeroIsNan ? T::kNotNumber : sign | T::kOverflow;
}

template <int m, int b, int s, int l, int o, int n, bool i, bool h, bool z>
struct Narrow<SmallFloat<m, b, s, l, o, n, i, h, z>> {
  typedef SmallFloat<m, b, s, l, o, n, i, h, z> T;
  __device__ static T from(float v) {
    const bool negative = signbit(v);
    const u8 sign = negative ? T::kSign : 0;
    if (v != v) return {u8(T::kNegativeZeroIsNan || !T::kHasNan ? T::kNotNumber : sign | T::kNotNumber)};
    if (isinf(v)) return {too_large<T>(negative)};
    u32 magnitude = 0;
    if (v != 0) {
      constexpr int kSmallest = 1 - T::kBias;
      int exponent = 0;
      frexpf(fabsf(v), &exponent);
      exponent = exponent - 1 < kSmallest ? kSmallest : exponent - 1;
      magnitude = (u32(exponent - kSmallest) << T::kMantissa) + u32(rintf(ldexpf(fabsf(v), T::kMantissa - exponent)));
    }
    if (magnitude > u32(T::kLargest)) return {too_large<T>(negative)};
    if (magnitude == 0 && T::kNegativeZeroIsNan) return {0};
    return {u8(sign | magnitude)};
  }
};
template <>
struct Narrow<e8m0> {
  __device__ static e8m0 from(float v) {
    const float magnitude = fabsf(v);
    if (v != v) return {0xFF};
    if (isinf(v)) return {u8(SMALL_SATURATES ? 0xFE : 0xFF)};
    if (magnitude < 5.8774717541114375e-39f) return {u8(SMALL_SATURATES ? 0 : 0xFF)};
    int exponent = 0;
    const float fraction = frexpf(magnitude, &exponent);
    int power = exponent - 1;
    if (SMALL_ROUNDING == 0 && fraction > 0.5f) ++power;
    if (SMALL_ROUNDING == 2 && fraction >= 0.75f) ++power;
    if (power > 127) return {u8(SMALL_SATURATES ? 0xFE : 0xFF)};
    return {u8(power + 127)};
  }
};
template <int kBits, bool kSigned>
struct Narrow<SmallInteger<kBits, kSigned>> {
  template <class V>
  __device__ static SmallInteger<kBits, kSigned> from(V v) {
    const int low = int(i64(v) & ((1 << kBits) - 1));
    return {u8(kSigned && low >= (1 << (kBits - 1)) ? low - (1 << kBits) : low)};
  }
};
