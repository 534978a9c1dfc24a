#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/epilogue/step_function.h"
#include "kernels/quantized/byte_finish.h"

/// The finish over any vector type; included by one source an instruction set. B converts:
/// B::Vector from_i32(), from_i8(), from_u8() and store().
namespace tenon::cpu {
namespace {

template <class B>
struct RowFinish {
  using V = typename B::Vector;
  static constexpr int kVectors = kBytePanel / V::kWidth;
  using Row = V[kVectors];

  const ByteFinish& t;

  template <class F>
  [[gnu::always_inline]] static void each(Row& x, F f) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) x[v] = f(x[v], v);
  }

  /// `count` bytes of row data, readable as a whole panel: themselves, or a copy.
  [[gnu::always_inline]] const void* whole(const void* from, int64_t size, void* copy) const {
    if (t.columns == kBytePanel) return from;
    std::memset(copy, 0, static_cast<size_t>(kBytePanel * size));
    return std::memcpy(copy, from, static_cast<size_t>(t.columns * size));
  }

  [[gnu::always_inline]] void load_operand(const ByteStep& s, const ByteStepOperand& o, int64_t r,
                                           Row& y) const {
    float copy[kBytePanel];
    const int64_t size = byte_type_size(s.type);
    const void* from =
        s.operand == ByteOperand::columns
            ? whole(o.data, 4, copy)
            : whole(static_cast<const char*>(o.data) + r * o.row_stride * size, size, copy);
    if (s.type == ByteType::f32) {
      each(y, [&](V, int v) { return V::load(static_cast<const float*>(from) + v * V::kWidth); });
      return;
    }
    const V zero = V::broadcast(s.operand_zero), scale = V::broadcast(s.operand_scale);
    if (s.type == ByteType::i8)
      each(y, [&](V, int v) {
        return (B::from_i8(static_cast<const int8_t*>(from) + v * V::kWidth) - zero) * scale;
      });
    else
      each(y, [&](V, int v) {
        return (B::from_u8(static_cast<const uint8_t*>(from) + v * V::kWidth) - zero) * scale;
      });
  }

  [[gnu::always_inline]] static V bounded(V x, float inverse, float low, float high) {
    return min(max(x * V::broadcast(inverse), V::broadcast(low)), V::broadcast(high));
  }
  [[gnu::always_inline]] static V round_trip(const ByteStep& s, V x) {
    return round(bounded(x, s.inverse, s.low, s.high)) * V::broadcast(s.scale);
  }

  /// A tile in the first-level cache goes through one step after the other, so that each chooses
  /// its function once.
  static constexpr int64_t kTileRows = 16;

  template <class F>
  [[gnu::always_inline]] static void whole_tile(float* x, int64_t rows, F f) {
    for (int64_t i = 0; i < rows * kBytePanel; i += V::kWidth) f(V::load(x + i)).store(x + i);
  }

  /// f(x, y) with the step's operand; 0 where it has none.
  template <class F>
  [[gnu::always_inline]] void with_operand(const ByteStep& s, const ByteStepOperand& o,
                                           int64_t first, int64_t rows, float* x, F f) const {
    for (int64_t r = 0; r < rows; ++r) {
      Row y = {};
      if (s.operand != ByteOperand::none) load_operand(s, o, first + r, y);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        float* at = x + r * kBytePanel + v * V::kWidth;
        f(V::load(at), y[v]).store(at);
      }
    }
  }

  [[gnu::noinline]] void function(const ByteStep& s, const ByteStepOperand& o, int64_t first,
                                  int64_t rows, float* x) const {
    with_function<V>(
        s, [&](auto f) { whole_tile(x, rows, f); },
        [&](auto f) { with_operand(s, o, first, rows, x, f); });
  }

  void step(const ByteStep& s, const ByteStepOperand& o, int64_t first, int64_t rows,
            float* x) const {
    switch (s.kind) {
      case ByteStep::Kind::clamp: {
        const V low = V::broadcast(s.low), high = V::broadcast(s.high);
        return whole_tile(x, rows, [&](V a) { return min(max(a, low), high); });
      }
      case ByteStep::Kind::round: {
        const V inverse = V::broadcast(s.inverse), scale = V::broadcast(s.scale);
        const V low = V::broadcast(s.low), high = V::broadcast(s.high);
        return whole_tile(x, rows,
                          [&](V a) { return round(min(max(a * inverse, low), high)) * scale; });
      }
      case ByteStep::Kind::add:
        return with_operand(s, o, first, rows, x, [](V a, V y) { return a + y; });
      case ByteStep::Kind::function:
        return function(s, o, first, rows, x);
    }
  }

  [[gnu::always_inline]] void store(Row& x, int64_t r) const {
    if (t.type == ByteType::f32) {
      float* to = static_cast<float*>(t.output) + r * t.output_stride;
      for (int v = 0; v < kVectors; ++v) {
        const int64_t left = t.columns - v * V::kWidth;
        if (left >= V::kWidth)
          x[v].store(to + v * V::kWidth);
        else if (left > 0)
          x[v].store(to + v * V::kWidth, static_cast<int>(left));
      }
      return;
    }
    uint8_t* to = static_cast<uint8_t*>(t.output) + r * t.output_stride;
    uint8_t copy[kBytePanel];
    uint8_t* bytes = t.columns == kBytePanel ? to : copy;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      B::store(bytes + v * V::kWidth, bounded(x[v], t.inverse, t.low, t.high),
               V::broadcast(t.zero));
    if (bytes == copy) std::memcpy(to, copy, static_cast<size_t>(t.columns));
  }

  [[gnu::always_inline]] V start(int64_t r, int v) const {
    const int at = v * V::kWidth;
    return fma(B::from_i32(t.sums + r * kBytePanel + at), V::load(t.scales + at),
               V::load(t.biases + at));
  }

  /// Bytes with the most frequent steps, whose numbers stay in registers: a round
  /// trip, a residual of the type that kAdd tells, another round trip, each or none.
  template <bool kFirst, ByteType kAdd, bool kLast>
  void run_bytes() const {
    const ByteStep* next = t.steps.data();
    const ByteStep first = kFirst ? *next++ : ByteStep{};
    constexpr bool kAdds = kAdd != ByteType::f32;
    const ByteStepOperand residual = kAdds ? t.operands[next - t.steps.data()] : ByteStepOperand{};
    const ByteStep add = kAdds ? *next++ : ByteStep{};
    const ByteStep last = kLast ? *next : ByteStep{};
    const V operand_zero = V::broadcast(add.operand_zero);
    const V operand_scale = V::broadcast(add.operand_scale);
    const V zero = V::broadcast(t.zero);
    const float inverse = t.inverse, low = t.low, high = t.high;
    uint8_t* to = static_cast<uint8_t*>(t.output);
    const char* from = static_cast<const char*>(residual.data);
    for (int64_t r = 0; r < t.rows; ++r, to += t.output_stride, from += residual.row_stride) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int at = v * V::kWidth;
        const int64_t left = t.columns - at;
        if (left <= 0) break;
        char copy[V::kWidth];
        const char* bytes = from + at;
        if (kAdds && left < V::kWidth)
          bytes = static_cast<const char*>(std::memcpy(copy, bytes, static_cast<size_t>(left)));
        V x = start(r, v);
        if constexpr (kFirst) x = round_trip(first, x);
        if constexpr (kAdd == ByteType::i8)
          x = x +
              (B::from_i8(reinterpret_cast<const int8_t*>(bytes)) - operand_zero) * operand_scale;
        if constexpr (kAdd == ByteType::u8)
          x = x +
              (B::from_u8(reinterpret_cast<const uint8_t*>(bytes)) - operand_zero) * operand_scale;
        if constexpr (kLast) x = round_trip(last, x);
        x = bounded(x, inverse, low, high);
        if (left >= V::kWidth) {
          B::store(to + at, x, zero);
        } else {
          uint8_t result[V::kWidth];
          B::store(result, x, zero);
          std::memcpy(to + at, result, static_cast<size_t>(left));
        }
      }
    }
  }

  template <bool kFirst, bool kLast>
  void run_bytes(ByteType add) const {
    if (add == ByteType::i8) return run_bytes<kFirst, ByteType::i8, kLast>();
    if (add == ByteType::u8) return run_bytes<kFirst, ByteType::u8, kLast>();
    run_bytes<kFirst, ByteType::f32, kLast>();
  }

  /// Whether run_bytes() did it.
  bool run_frequent() const {
    if (t.type == ByteType::f32) return false;
    size_t i = 0;
    const auto takes = [&](bool wanted) { return wanted && ++i > 0; };
    const auto is = [&](ByteStep::Kind kind) {
      return i < t.steps.size() && t.steps[i].kind == kind;
    };
    const bool first = takes(is(ByteStep::Kind::round));
    ByteType add = ByteType::f32;
    if (is(ByteStep::Kind::add) && t.steps[i].type != ByteType::f32) add = t.steps[i++].type;
    const bool last = takes(add != ByteType::f32 && is(ByteStep::Kind::round));
    if (i != t.steps.size()) return false;
    if (first)
      last ? run_bytes<true, true>(add) : run_bytes<true, false>(add);
    else
      last ? run_bytes<false, true>(add) : run_bytes<false, false>(add);
    return true;
  }

  void run() const {
    if (run_frequent()) return;
    alignas(64) float tile[kTileRows * kBytePanel];
    for (int64_t first = 0; first < t.rows; first += kTileRows) {
      const int64_t rows = std::min(kTileRows, t.rows - first);
      for (int64_t r = 0; r < rows; ++r)
        for (int v = 0; v < kVectors; ++v)
          start(first + r, v).store(tile + r * kBytePanel + v * V::kWidth);
      for (size_t i = 0; i < t.steps.size(); ++i)
        step(t.steps[i], t.operands[i], first, rows, tile);
      for (int64_t r = 0; r < rows; ++r) {
        Row x;
        each(x, [&](V, int v) { return V::load(tile + r * kBytePanel + v * V::kWidth); });
        store(x, first + r);
      }
    }
  }
};

}  // namespace
}  // namespace tenon::cpu
