#pragma once

#include <algorithm>

#include "kernels/epilogue/step_function.h"

/// The FinishFunction over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

template <class V> struct Finish {
  const FinishTile& t;

  /// x = f(x, row, column, lanes) for every vector of the tile.
  template <class F> [[gnu::always_inline]] void each(F f) const {
    for (int64_t r = 0; r < t.rows; ++r) {
      float* x = t.tile + r * t.tile_stride;
      int64_t c = 0;
      for (; c + V::kWidth <= t.columns; c += V::kWidth) f(V::load(x + c), r, c).store(x + c);
      const int left = static_cast<int>(t.columns - c);
      if (left > 0) f(V::load(x + c, left), r, c).store(x + c, left);
    }
  }

  static V load(const void* p, ElementType type, int64_t index, int64_t lanes) {
    if (type == ElementType::f32) {
      const float* x = static_cast<const float*>(p) + index;
      return lanes >= V::kWidth ? V::load(x) : V::load(x, static_cast<int>(lanes));
    }
    const uint16_t* x = static_cast<const uint16_t*>(p) + index;
    return lanes >= V::kWidth ? V::load_bf16(x) : V::load_bf16(x, static_cast<int>(lanes));
  }

  V operand(const EpilogueStep& step, const EpilogueOperand& o, int64_t r, int64_t c) const {
    const int64_t row = t.row + r;
    switch (step.operand) {
      case OperandKind::scalar: return V::broadcast(scalar(o.data, step.operand_type, 0));
      case OperandKind::per_row: return V::broadcast(scalar(o.data, step.operand_type, row));
      case OperandKind::per_column:
        return load(o.data, step.operand_type, t.column + c, t.columns - c);
      case OperandKind::full:
        return load(o.data, step.operand_type, row * o.row_stride + t.column + c, t.columns - c);
      case OperandKind::earlier:
      case OperandKind::none: break;
    }
    return V::zero();
  }

  static float scalar(const void* p, ElementType type, int64_t index) {
    if (type == ElementType::f32) return static_cast<const float*>(p)[index];
    const uint32_t bits = uint32_t{static_cast<const uint16_t*>(p)[index]} << 16;
    return __builtin_bit_cast(float, bits);
  }

  void step(const EpilogueStep& s, const EpilogueOperand& o) const {
    with_function<V>(
        s, [&](auto f) { each([&](V x, int64_t, int64_t) { return f(x); }); },
        [&](auto f) {
          each([&](V x, int64_t r, int64_t c) { return f(x, operand(s, o, r, c)); });
        });
  }

  /// first = f(first) * second.
  static void gate(const EpilogueStep& s, float* first, const float* second, int64_t count) {
    const auto each = [&](auto f) {
      for (int64_t i = 0; i < count; i += V::kWidth)
        (f(V::load(first + i)) * V::load(second + i)).store(first + i);
    };
    with_function<V>(s, each, [&](auto f) { each([&](V x) { return f(x, V::zero()); }); });
  }

  /// Stores pairs of columns as one each: of as many rows at a time as there is room for.
  void store_gated(const EpilogueStep& s) const {
    constexpr int64_t kRoom = 512;
    float first[kRoom], second[kRoom];  // Not filled with zeros for each tile.
    const int64_t pairs = t.columns / 2;
    for (int64_t c = 0; c < pairs; c += kRoom) {
      const int64_t count = std::min(kRoom, pairs - c);
      const int64_t stride = (count + V::kWidth - 1) / V::kWidth * V::kWidth;
      for (int64_t r = 0, rows; r < t.rows; r += rows) {
        rows = std::min(kRoom / stride, t.rows - r);
        for (int64_t i = 0; i < rows; ++i)
          take_apart(t.tile + (r + i) * t.tile_stride + 2 * c, count, stride, first + i * stride,
                     second + i * stride);
        gate(s, first, second, rows * stride);
        FinishTile half = t;
        half.tile = first, half.tile_stride = stride;
        half.rows = rows, half.columns = count;
        half.output =
            static_cast<char*>(t.output) + (r * t.output_stride + c) * element_size(t.output_type);
        Finish<V>{half}.store();
      }
    }
  }

  /// By whole vectors where there are such; zeros up to `room`.
  static void take_apart(const float* pairs, int64_t count, int64_t room, float* first,
                         float* second) {
    constexpr int64_t kWidth = V::kWidth;
    int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth)
#pragma GCC ivdep
      for (int64_t k = 0; k < kWidth; ++k) {
        first[i + k] = pairs[2 * (i + k)];
        second[i + k] = pairs[2 * (i + k) + 1];
      }
    for (; i < room; ++i) {
      first[i] = i < count ? pairs[2 * i] : 0.0f;
      second[i] = i < count ? pairs[2 * i + 1] : 0.0f;
    }
  }

  void store() const {
    if (t.output_type == ElementType::bf16)
      return store_rows<uint16_t>([](V x, auto... to) { x.store_bf16(to...); });
    if (t.output != t.tile) store_rows<float>([](V x, auto... to) { x.store(to...); });
  }

  /// `put(x, to)` stores a vector, `put(x, to, n)` its first n elements.
  template <class T, class Put> void store_rows(const Put& put) const {
    for (int64_t r = 0; r < t.rows; ++r) {
      const float* x = t.tile + r * t.tile_stride;
      T* y = static_cast<T*>(t.output) + r * t.output_stride;
      int64_t c = 0;
      for (; c + V::kWidth <= t.columns; c += V::kWidth) put(V::load(x + c), y + c);
      const int left = static_cast<int>(t.columns - c);
      if (left > 0) put(V::load(x + c, left), y + c, left);
    }
  }
};

/// Steps some of which take values from before the last one: a few columns of a row at a time, of
/// which all values are kept.
template <class V> struct KeptValues {
  static constexpr int64_t kColumns = 64;
  static constexpr size_t kMostSteps = 24;
  float values[kMostSteps + 1][kColumns];  ///< Behind so many steps.

  /// Columns [c, c + count) of row r, in the tile.
  void run(const Finish<V>& finish, std::span<const EpilogueStep> steps,
           const EpilogueOperand* operands, int64_t r, int64_t c, int64_t count) {
    float* x = finish.t.tile + r * finish.t.tile_stride + c;
    copy(x, count, values[0], kColumns);
    for (size_t i = 0; i < steps.size(); ++i) step(finish, steps[i], operands[i], i, r, c, count);
    copy(values[steps.size()], count, x, count);
  }

  static void copy(const float* from, int64_t count, float* to, int64_t room) {
    for (int64_t i = 0; i < room; ++i) to[i] = i < count ? from[i] : 0.0f;
  }

  void step(const Finish<V>& finish, const EpilogueStep& s, const EpilogueOperand& o, size_t i,
            int64_t r, int64_t c, int64_t count) {
    const float *x = values[i - s.from], *y = values[i - s.back];
    float* to = values[i + 1];
    with_function<V>(
        s,
        [&](auto f) {
          for (int64_t k = 0; k < kColumns; k += V::kWidth) f(V::load(x + k)).store(to + k);
        },
        [&](auto f) {
          for (int64_t k = 0; k < count; k += V::kWidth) {
            const V operand =
                s.operand == OperandKind::earlier ? V::load(y + k) : finish.operand(s, o, r, c + k);
            f(V::load(x + k), operand).store(to + k);
          }
        });
  }
};

template <class V>
void apply_steps(const Finish<V>& finish, std::span<const EpilogueStep> steps,
                 const EpilogueOperand* operands) {
  const bool kept = std::any_of(steps.begin(), steps.end(), [](const EpilogueStep& s) {
    return s.from != 0 || s.operand == OperandKind::earlier;
  });
  if (!kept) {
    for (size_t i = 0; i < steps.size(); ++i) finish.step(steps[i], operands[i]);
    return;
  }
  KeptValues<V> values;
  for (int64_t r = 0; r < finish.t.rows; ++r)
    for (int64_t c = 0; c < finish.t.columns; c += KeptValues<V>::kColumns)
      values.run(finish, steps, operands, r, c,
                 std::min<int64_t>(KeptValues<V>::kColumns, finish.t.columns - c));
}

template <class V>
void finish(const FinishTile& tile, std::span<const EpilogueStep> steps,
            const EpilogueOperand* operands) {
  const Finish<V> finish{tile};
  const int64_t each = columns_of_result(steps);
  apply_steps(finish, steps.first(steps.size() - (each > 1 ? 1 : 0)), operands);
  return each == 1 ? finish.store() : finish.store_gated(steps.back());
}

}  // namespace
}  // namespace tenon::cpu
