#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/arithmetic.h"
#include "base/float_formats.h"
#include "ir/data_type.h"

namespace tenon {

/// How the elements of each DataType are stored and computed with. For each type a struct with
///   Storage   the type in memory
///   Compute   the type of arithmetic: float for narrow floats, the integer itself, bool
///   load      Storage to Compute, exact
///   store     Compute to Storage: real types round to nearest even (8-bit ones saturate),
///             integers narrower than a byte wrap
///   saturate  (integers) double to Storage: truncated and saturated
/// `with_element(type, f)` calls f with the struct of a DataType.
template <DataType kType> struct Element;

template <class T> struct NativeElement {
  using Storage = T;
  using Compute = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
  static T saturate(double value) {
    if constexpr (std::is_integral_v<T>) return saturate_to<T>(value);
    return static_cast<T>(value);
  }
};
template <> struct Element<DataType::kFloat32> : NativeElement<float> {};
template <> struct Element<DataType::kFloat64> : NativeElement<double> {};
template <> struct Element<DataType::kInt8> : NativeElement<int8_t> {};
template <> struct Element<DataType::kInt16> : NativeElement<int16_t> {};
template <> struct Element<DataType::kInt32> : NativeElement<int32_t> {};
template <> struct Element<DataType::kInt64> : NativeElement<int64_t> {};
template <> struct Element<DataType::kUInt8> : NativeElement<uint8_t> {};
template <> struct Element<DataType::kUInt16> : NativeElement<uint16_t> {};
template <> struct Element<DataType::kUInt32> : NativeElement<uint32_t> {};
template <> struct Element<DataType::kUInt64> : NativeElement<uint64_t> {};

/// A byte that is 0 or 1; any other byte reads as true.
template <> struct Element<DataType::kBool> {
  using Storage = uint8_t;
  using Compute = bool;
  static bool load(uint8_t value) { return value != 0; }
  static uint8_t store(bool value) { return value ? 1 : 0; }
  static uint8_t saturate(double value) { return value != 0 ? 1 : 0; }
};

template <> struct Element<DataType::kFloat16> {
  using Storage = uint16_t;
  using Compute = float;
  static float load(uint16_t value) { return f16_to_float(value); }
  static uint16_t store(float value) { return f16_from_float(value); }
};
template <> struct Element<DataType::kBFloat16> {
  using Storage = uint16_t;
  using Compute = float;
  static float load(uint16_t value) { return bf16_to_float(value); }
  static uint16_t store(float value) { return bf16_from_float(value); }
};

template <SmallFloat kFormat> struct SmallFloatElement {
  using Storage = uint8_t;
  using Compute = float;
  static float load(uint8_t value) { return small_float_decode(kFormat, value); }
  static uint8_t store(float value) { return small_float_encode(kFormat, value, true); }
};
template <> struct Element<DataType::kFloat8E4M3> : SmallFloatElement<SmallFloat::kE4M3> {};
template <> struct Element<DataType::kFloat8E4M3Fnuz> : SmallFloatElement<SmallFloat::kE4M3Fnuz> {};
template <> struct Element<DataType::kFloat8E5M2> : SmallFloatElement<SmallFloat::kE5M2> {};
template <> struct Element<DataType::kFloat8E5M2Fnuz> : SmallFloatElement<SmallFloat::kE5M2Fnuz> {};
template <> struct Element<DataType::kFloat4E2M1> : SmallFloatElement<SmallFloat::kE2M1> {};
template <> struct Element<DataType::kFloat8E8M0> {
  using Storage = uint8_t;
  using Compute = float;
  static float load(uint8_t value) { return e8m0_decode(value); }
  static uint8_t store(float value) { return e8m0_encode(value, true, PowerRounding::kUp); }
};

/// Integers of less than a byte, one to a byte. Loading looks at the low bits only.
template <int kBits, bool kSigned> struct NarrowInteger {
  using Storage = std::conditional_t<kSigned, int8_t, uint8_t>;
  using Compute = Storage;
  static constexpr int kMin = kSigned ? -(1 << (kBits - 1)) : 0;
  static constexpr int kMax = kSigned ? (1 << (kBits - 1)) - 1 : (1 << kBits) - 1;
  static Storage load(Storage value) {
    const int low = value & ((1 << kBits) - 1);
    return static_cast<Storage>(low > kMax ? low - (1 << kBits) : low);
  }
  static Storage store(Storage value) { return load(value); }
  static Storage saturate(double value) {
    if (value != value) return 0;
    return static_cast<Storage>(value < kMin ? kMin : (value > kMax ? kMax : value));
  }
};
template <> struct Element<DataType::kInt4> : NarrowInteger<4, true> {};
template <> struct Element<DataType::kUInt4> : NarrowInteger<4, false> {};
template <> struct Element<DataType::kInt2> : NarrowInteger<2, true> {};
template <> struct Element<DataType::kUInt2> : NarrowInteger<2, false> {};

/// f(Element<type>{}).
template <class F> decltype(auto) with_element(DataType type, F&& f) {
  switch (type) {
// It would join the case with the line behind the macro.
// clang-format off
#define TENON_DATA_TYPE(enumerator, name, bytes, category) \
  case DataType::enumerator: return f(Element<DataType::enumerator>{});
#include "ir/data_types.def"
    // clang-format on
  }
  __builtin_unreachable();
}

}  // namespace tenon
