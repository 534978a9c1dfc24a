#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/epilogue/step_function.h"
#include "kernels/quantized/byte_finish.h"
#include "kernels/vector_math/byte_limits.h"

/// The finish over any vector type; included by one source an instruction set. B converts:
/// B::Vector from_i32(), from_i8(), from_u8() and store().
namespace tenon::cpu {
namespace {

template <class B> struct RowFinish {
  using V = typename B::Vector;
  static constexpr int kVectors = kBytePanel / V::kWidth;
  using Row = V[kVectors];
  using Limits = typename B::Limits;

  const ByteFinish& t;
  /// Of a row in the tile: whole vectors, no more than there are columns for.
  const int64_t width = (t.columns + V::kWidth - 1) / V::kWidth * V::kWidth;

  template <class F> [[gnu::always_inline]] static void each(Row& x, F f) {
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

  template <class F> [[gnu::always_inline]] void whole_tile(float* x, int64_t rows, F f) const {
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
      case ByteStep::Kind::function: return function(s, o, first, rows, x);
    }
  }

  /// Rows [first, first + rows) of the output from the tile.
  void store(const float* x, int64_t first, int64_t rows) const {
    if (t.type != ByteType::f32) return store_bytes(x, first, rows);
    for (int64_t r = first; r < first + rows; ++r)
      for (int64_t at = 0; at < t.columns; at += V::kWidth, x += V::kWidth)
        V::load(x).store(float_row(r) + at,
                         static_cast<int>(std::min<int64_t>(t.columns - at, V::kWidth)));
  }

  void store_bytes(const float* x, int64_t first, int64_t rows) const {
    const Limits limits(byte_limits());
    const V inverse = V::broadcast(t.inverse);
    uint8_t bytes[kTileRows * kBytePanel];
    for (int64_t r = 0; r < rows; r += 2) {
      V row[2][kVectors] = {};
      const int64_t at[2] = {r, std::min(r + 1, rows - 1)};
      for (int i = 0; i < 2; ++i)
        for (int v = 0; v * V::kWidth < width; ++v)
          row[i][v] = V::load(x + at[i] * width + v * V::kWidth) * inverse;
      B::template store_rows<false>(bytes + at[0] * kBytePanel, bytes + at[1] * kBytePanel, row,
                                    limits);
    }
    copy_out(bytes, first, rows);
  }
  void copy_out(const uint8_t* bytes, int64_t first, int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(byte_row(first + r), bytes + r * kBytePanel, static_cast<size_t>(t.columns));
  }

  vector_math::ByteLimits byte_limits() const {
    return vector_math::ByteLimits::of(t.zero, t.low, t.high, t.type == ByteType::i8, t.is_bounded);
  }
  uint8_t* byte_row(int64_t r) const {
    return static_cast<uint8_t*>(t.output) + r * t.output_stride;
  }
  float* float_row(int64_t r) const {
    return static_cast<float*>(t.output) + r * t.output_stride;
  }

  /// The most frequent steps, which are taken while sums are in registers: a round trip, a residual
  /// of bytes, another round trip, each or none. What numbers are multiplied by ahead of a rounding
  /// is multiplied into the factor before it; `after` is that of the end.
  struct Head {
    const ByteStep *first = nullptr, *add = nullptr, *last = nullptr;
    const ByteStepOperand* operands = nullptr;  ///< of the first of them
    ByteStepOperand residual;
    size_t count = 0;
    float after = 1.0f;
  };

  Head find_head() const {
    Head head{.operands = t.operands};
    const auto is_round = [&] {
      return head.count < t.steps.size() && t.steps[head.count].kind == ByteStep::Kind::round;
    };
    if (is_round()) head.first = &t.steps[head.count++];
    if (head.count < t.steps.size() && t.steps[head.count].kind == ByteStep::Kind::add &&
        t.steps[head.count].type != ByteType::f32) {
      head.residual = t.operands[head.count];
      head.add = &t.steps[head.count++];
    }
    if (is_round() && t.steps[head.count].operand == ByteOperand::none)
      head.last = &t.steps[head.count++];
    if (head.count == t.steps.size() && t.type != ByteType::f32) head.after = t.inverse;
    return head;
  }

  /// Factors and addends of the columns of a panel.
  struct Linear {
    V scales[kVectors], biases[kVectors];

    [[gnu::always_inline]] Linear(const float* s, const float* b, float factor, float addend) {
      for (int v = 0; v < kVectors; ++v) {
        scales[v] = V::load(s + v * V::kWidth) * V::broadcast(factor);
        biases[v] = fma(V::load(b + v * V::kWidth), V::broadcast(factor), V::broadcast(addend));
      }
    }
    /// Those of a rounding's columns.
    [[gnu::always_inline]] Linear(const ByteStep& s, const ByteStepOperand& o, float factor,
                                  float addend) {
      const bool differ = s.operand == ByteOperand::columns;
      const auto* from = static_cast<const float*>(o.data);
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = v * V::kWidth;
        const V scale = differ ? V::load(from + at) : V::broadcast(s.scale);
        const V bias = differ ? V::load(from + o.row_stride + at) : V::zero();
        scales[v] = scale * V::broadcast(factor);
        biases[v] = fma(bias, V::broadcast(factor), V::broadcast(addend));
      }
    }
    [[gnu::always_inline]] V operator()(V x, int v) const { return fma(x, scales[v], biases[v]); }
  };

  /// The nearest of low .. high.
  struct Rounding {
    V low, high;
    explicit Rounding(const ByteStep& s) : low(V::broadcast(s.low)), high(V::broadcast(s.high)) {}
    [[gnu::always_inline]] V operator()(V x) const { return round(min(max(x, low), high)); }
  };

  /// The head's steps with their constants.
  template <bool kFirst, ByteType kAdd, bool kLast> struct HeadRows {
    static constexpr bool kAdds = kAdd != ByteType::f32;
    const char* residual;
    int64_t stride;
    V operand_factor, last_factor;
    Linear start, middle;
    Rounding round_first, round_last;

    [[gnu::always_inline]] static HeadRows of(const ByteFinish& t, const Head& head) {
      const ByteStep first = kFirst ? *head.first : ByteStep{},
                     add = kAdds ? *head.add : ByteStep{};
      const ByteStep last = kLast ? *head.last : ByteStep{};
      const float end_factor = kLast ? last.inverse : head.after;
      const float factor = add.operand_scale * end_factor;
      const float addend = kAdds ? -add.operand_zero * factor : 0.0f;
      const ByteStepOperand columns = kFirst ? head.operands[0] : ByteStepOperand{};
      return {.residual = static_cast<const char*>(head.residual.data),
              .stride = head.residual.row_stride,
              .operand_factor = V::broadcast(factor),
              .last_factor = V::broadcast(last.scale * head.after),
              .start = Linear(t.scales, t.biases, kFirst ? first.inverse : end_factor,
                              kFirst ? 0.0f : addend),
              .middle = Linear(first, columns, end_factor, addend),
              .round_first = Rounding(first),
              .round_last = Rounding(last)};
    }
    [[gnu::always_inline]] V operand(const void* bytes, int v) const {
      if constexpr (kAdd == ByteType::i8)
        return B::from_i8(static_cast<const int8_t*>(bytes) + v * V::kWidth);
      return B::from_u8(static_cast<const uint8_t*>(bytes) + v * V::kWidth);
    }
    /// Two rows of sums, step by step, so that a step seldom waits for the one before.
    [[gnu::always_inline]] void operator()(Row (&x)[2], const int64_t (&at)[2]) const {
      const auto all = [&](auto f) [[gnu::always_inline]] {
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i)
          each(x[i], [&](V y, int v) [[gnu::always_inline]] { return f(y, i, v); });
      };
      all([&](V y, int, int v) { return start(y, v); });
      if constexpr (kFirst) {
        all([&](V y, int, int) { return round_first(y); });
        all([&](V y, int, int v) { return middle(y, v); });
      }
      if constexpr (kAdds)
        all([&](V y, int i, int v) {
          return fma(operand(residual + at[i] * stride, v), operand_factor, y);
        });
      if constexpr (kLast) all([&](V y, int, int) { return round_last(y) * last_factor; });
    }
  };

  /// Gives put(r, next, rows) the results of the head's steps for rows r and `next`, the one behind
  /// it or itself, for all of [begin, end).
  template <bool kFirst, ByteType kAdd, bool kLast, class Put>
  [[gnu::always_inline]] void run_head(const Head& head, int64_t begin, int64_t end,
                                       Put put) const {
    const auto rows = HeadRows<kFirst, kAdd, kLast>::of(t, head);
    const int32_t* const sums = t.sums;  // The compiler cannot tell that stores leave it as it is.
    for (int64_t r = begin; r < end; r += 2) {
      const int64_t at[2] = {r, r + 1 < end ? r + 1 : r};
      Row x[2];
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i)
        each(x[i],
             [&](V, int v) { return B::from_i32(sums + at[i] * kBytePanel + v * V::kWidth); });
      rows(x, at);
      put(at[0], at[1], x);
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

  /// The head is all: from registers to the output.
  void run_whole(const Head& head) const {
    if (t.type == ByteType::f32)
      return run_head(head, 0, t.rows, [&](int64_t r, int64_t next, const V(&x)[2][kVectors]) {
        store_floats(float_row(r), x[0], t.columns);
        store_floats(float_row(next), x[1], t.columns);
      });
    run_bytes(head, 0, t.rows, static_cast<uint8_t*>(t.output), t.output_stride);
  }
  void run_bytes(const Head& head, int64_t begin, int64_t end, uint8_t* to, int64_t stride) const {
    const auto limits = byte_limits();
    limits.are_of_type() ? run_bytes<true>(head, begin, end, to, stride, limits)
                         : run_bytes<false>(head, begin, end, to, stride, limits);
  }
  template <bool kOfType>
  [[gnu::always_inline]] void run_bytes(const Head& head, int64_t begin, int64_t end, uint8_t* to,
                                        int64_t stride, const Limits& limits) const {
    run_head(head, begin, end, [=](int64_t r, int64_t next, const V(&x)[2][kVectors]) {
      B::template store_rows<kOfType>(to + r * stride, to + next * stride, x, limits);
    });
  }

  /// As much of a head as is written where a whole panel is not: the residual is read, and bytes
  /// are written, by way of copies of whole rows.
  void run_part(Head head, int64_t first, int64_t rows, float* tile) const {
    char residual[kTileRows * kBytePanel];
    if (head.add != nullptr) {
      const char* from = static_cast<const char*>(head.residual.data);
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(residual + r * kBytePanel, from + (first + r) * head.residual.row_stride,
                    static_cast<size_t>(t.columns));
      head.residual = {residual - first * kBytePanel, kBytePanel};
    }
    if (head.count < t.steps.size() || t.type == ByteType::f32)
      return run_tile(head, first, rows, tile);
    uint8_t bytes[kTileRows * kBytePanel];
    run_bytes(head, first, first + rows, bytes - first * kBytePanel, kBytePanel);
    copy_out(bytes, first, rows);
  }

  void run_tile(const Head& head, int64_t first, int64_t rows, float* tile) const {
    const int64_t stride = width;
    run_head(head, first, first + rows, [=](int64_t r, int64_t next, const V(&x)[2][kVectors]) {
      for (int v = 0; v * V::kWidth < stride; ++v) {
        x[0][v].store(tile + (r - first) * stride + v * V::kWidth);
        x[1][v].store(tile + (next - first) * stride + v * V::kWidth);
      }
    });
  }

  [[gnu::always_inline]] static void store_floats(float* to, const Row& x, int64_t count) {
    for (int v = 0; v < kVectors && v * V::kWidth < count; ++v)
      x[v].store(to + v * V::kWidth,
                 static_cast<int>(std::min<int64_t>(count - v * V::kWidth, V::kWidth)));
  }

  void run() const {
    const Head head = find_head();
    const bool is_all = head.count == t.steps.size(), is_whole = t.columns == kBytePanel;
    if (is_all && (is_whole || (t.type == ByteType::f32 && head.add == nullptr)))
      return run_whole(head);
    alignas(64) float tile[kTileRows * kBytePanel];
    for (int64_t first = 0; first < t.rows; first += kTileRows) {
      const int64_t rows = std::min(kTileRows, t.rows - first);
      is_whole ? run_tile(head, first, rows, tile) : run_part(head, first, rows, tile);
      if (is_all && t.type != ByteType::f32) continue;
      for (size_t i = head.count; i < t.steps.size(); ++i)
        step(t.steps[i], t.operands[i], first, rows, tile);
      store(tile, first, rows);
    }
  }
};

}  // namespace
}  // namespace tenon::cpu
