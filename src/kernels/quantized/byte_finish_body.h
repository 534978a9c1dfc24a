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
  /// Of a row in the tile: whole vectors, no more than there are columns for.
  const int64_t width = (t.columns + V::kWidth - 1) / V::kWidth * V::kWidth;

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

  /// Scale and bias of each column behind a rounding.
  struct Columns {
    alignas(64) float scales[kBytePanel], biases[kBytePanel];

    Columns(const ByteStep& s, const ByteStepOperand& o) {
      const bool differ = s.operand == ByteOperand::columns;
      const auto* from = static_cast<const float*>(o.data);
      for (int64_t i = 0; i < kBytePanel; i += V::kWidth) {
        (differ ? V::load(from + i) : V::broadcast(s.scale)).store(scales + i);
        (differ ? V::load(from + o.row_stride + i) : V::zero()).store(biases + i);
      }
    }
  };
  [[gnu::always_inline]] static V round_trip(const ByteStep& s, const Columns& columns, int at,
                                             V x) {
    return fma(round(bounded(x, s.inverse, s.low, s.high)), V::load(columns.scales + at),
               V::load(columns.biases + at));
  }

  /// A tile in the first-level cache goes through one step after the other, so that each chooses
  /// its function once.
  static constexpr int64_t kTileRows = 16;

  template <class F>
  [[gnu::always_inline]] void whole_tile(float* x, int64_t rows, F f) const {
    for (int64_t i = 0; i < rows * width; i += V::kWidth) f(V::load(x + i)).store(x + i);
  }

  /// f(x, y) with the step's operand; 0 where it has none.
  template <class F>
  [[gnu::always_inline]] void with_operand(const ByteStep& s, const ByteStepOperand& o,
                                           int64_t first, int64_t rows, float* x, F f) const {
    for (int64_t r = 0; r < rows; ++r) {
      Row y = {};
      if (s.operand != ByteOperand::none) load_operand(s, o, first + r, y);
      for (int v = 0; v * V::kWidth < width; ++v) {
        float* at = x + r * width + v * V::kWidth;
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
        const Columns columns(s, o);
        for (int64_t r = 0; r < rows; ++r)
          for (int at = 0; at < width; at += V::kWidth, x += V::kWidth)
            round_trip(s, columns, at, V::load(x)).store(x);
        return;
      }
      case ByteStep::Kind::add:
        return with_operand(s, o, first, rows, x, [](V a, V y) { return a + y; });
      case ByteStep::Kind::function:
        return function(s, o, first, rows, x);
    }
  }

  [[gnu::always_inline]] void store_bytes(uint8_t* to, int64_t left, V x, V zero) const {
    x = bounded(x, t.inverse, t.low, t.high);
    if (left >= V::kWidth) return B::store(to, x, zero);
    uint8_t copy[V::kWidth];
    B::store(copy, x, zero);
    std::memcpy(to, copy, static_cast<size_t>(left));
  }

  /// Rows of the tile to the output.
  void store(const float* x, int64_t first, int64_t rows) const {
    const V zero = V::broadcast(t.zero);
    for (int64_t r = first; r < first + rows; ++r)
      for (int64_t at = 0; at < t.columns; at += V::kWidth, x += V::kWidth) {
        const int64_t left = t.columns - at;
        if (t.type == ByteType::f32)
          V::load(x).store(static_cast<float*>(t.output) + r * t.output_stride + at,
                           static_cast<int>(std::min<int64_t>(left, V::kWidth)));
        else
          store_bytes(static_cast<uint8_t*>(t.output) + r * t.output_stride + at, left, V::load(x),
                      zero);
      }
  }

  [[gnu::always_inline]] V start(int64_t r, int at) const {
    return fma(B::from_i32(t.sums + r * kBytePanel + at), V::load(t.scales + at),
               V::load(t.biases + at));
  }

  /// The most frequent steps, which are taken while sums are in registers: a round trip, a residual
  /// of bytes, another round trip, each or none.
  struct Head {
    const ByteStep *first = nullptr, *add = nullptr, *last = nullptr;
    const ByteStepOperand* operands = nullptr;  ///< of the first of them
    size_t count = 0;
  };

  Head find_head() const {
    Head head{.operands = t.operands};
    const auto is_round = [&] {
      return head.count < t.steps.size() && t.steps[head.count].kind == ByteStep::Kind::round;
    };
    if (is_round()) head.first = &t.steps[head.count++];
    if (head.count < t.steps.size() && t.steps[head.count].kind == ByteStep::Kind::add &&
        t.steps[head.count].type != ByteType::f32)
      head.add = &t.steps[head.count++];
    if (is_round() && t.steps[head.count].operand == ByteOperand::none)
      head.last = &t.steps[head.count++];
    return head;
  }

  /// Gives put(row, column, numbers) what the steps of the head make of rows [begin, end).
  template <bool kFirst, ByteType kAdd, bool kLast, class Put>
  [[gnu::always_inline]] void run_head(const Head& head, int64_t begin, int64_t end,
                                       Put put) const {
    const ByteStep first = kFirst ? *head.first : ByteStep{};
    const Columns columns(first, kFirst ? head.operands[0] : ByteStepOperand{});
    constexpr bool kAdds = kAdd != ByteType::f32;
    const ByteStepOperand residual = kAdds ? head.operands[kFirst ? 1 : 0] : ByteStepOperand{};
    const ByteStep add = kAdds ? *head.add : ByteStep{}, last = kLast ? *head.last : ByteStep{};
    const V operand_zero = V::broadcast(add.operand_zero);
    const V operand_scale = V::broadcast(add.operand_scale);
    const char* from = static_cast<const char*>(residual.data) + begin * residual.row_stride;
    for (int64_t r = begin; r < end; ++r, from += residual.row_stride) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int at = v * V::kWidth;
        const int64_t left = t.columns - at;
        if (left <= 0) break;
        char copy[V::kWidth];
        const char* bytes = from + at;
        if (kAdds && left < V::kWidth)
          bytes = static_cast<const char*>(std::memcpy(copy, bytes, static_cast<size_t>(left)));
        V x = start(r, at);
        if constexpr (kFirst) x = round_trip(first, columns, at, x);
        if constexpr (kAdd == ByteType::i8)
          x = x +
              (B::from_i8(reinterpret_cast<const int8_t*>(bytes)) - operand_zero) * operand_scale;
        if constexpr (kAdd == ByteType::u8)
          x = x +
              (B::from_u8(reinterpret_cast<const uint8_t*>(bytes)) - operand_zero) * operand_scale;
        if constexpr (kLast) x = round_trip(last, x);
        put(r, at, x);
      }
    }
  }

  template <bool kFirst, bool kLast, class Put>
  [[gnu::always_inline]] void run_head(const Head& head, int64_t begin, int64_t end,
                                       Put put) const {
    const ByteType add = head.add == nullptr ? ByteType::f32 : head.add->type;
    if (add == ByteType::i8) return run_head<kFirst, ByteType::i8, kLast>(head, begin, end, put);
    if (add == ByteType::u8) return run_head<kFirst, ByteType::u8, kLast>(head, begin, end, put);
    run_head<kFirst, ByteType::f32, kLast>(head, begin, end, put);
  }

  template <class Put>
  [[gnu::always_inline]] void run_head(const Head& head, int64_t begin, int64_t end,
                                       Put put) const {
    if (head.first != nullptr)
      head.last != nullptr ? run_head<true, true>(head, begin, end, put)
                           : run_head<true, false>(head, begin, end, put);
    else
      head.last != nullptr ? run_head<false, true>(head, begin, end, put)
                           : run_head<false, false>(head, begin, end, put);
  }

  void run() const {
    const Head head = find_head();
    if (head.count == t.steps.size() && t.type != ByteType::f32) {
      const V zero = V::broadcast(t.zero);
      return run_head(head, 0, t.rows, [&](int64_t r, int at, V x) {
        store_bytes(static_cast<uint8_t*>(t.output) + r * t.output_stride + at, t.columns - at, x,
                    zero);
      });
    }
    alignas(64) float tile[kTileRows * kBytePanel];
    for (int64_t first = 0; first < t.rows; first += kTileRows) {
      const int64_t rows = std::min(kTileRows, t.rows - first);
      run_head(head, first, first + rows,
               [&](int64_t r, int at, V x) { x.store(tile + (r - first) * width + at); });
      for (size_t i = head.count; i < t.steps.size(); ++i)
        step(t.steps[i], t.operands[i], first, rows, tile);
      store(tile, first, rows);
    }
  }
};

}  // namespace
}  // namespace tenon::cpu
