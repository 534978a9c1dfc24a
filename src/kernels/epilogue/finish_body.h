#pragma once

#include "kernels/epilogue/step_function.h"

/// The FinishFunction over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

template <class V>
struct Finish {
  const FinishTile& t;

  /// x = f(x, row, column, lanes) for every vector of the tile.
  template <class F>
  [[gnu::always_inline]] void each(F f) const {
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
      case OperandKind::scalar:
        return V::broadcast(scalar(o.data, step.operand_type, 0));
      case OperandKind::per_row:
        return V::broadcast(scalar(o.data, step.operand_type, row));
      case OperandKind::per_column:
        return load(o.data, step.operand_type, t.column + c, t.columns - c);
      case OperandKind::full:
        return load(o.data, step.operand_type, row * o.row_stride + t.column + c, t.columns - c);
      case OperandKind::none:
        break;
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

  void store() const {
    if (t.output_type == ElementType::bf16)
      return store_rows<uint16_t>([](V x, auto... to) { x.store_bf16(to...); });
    if (t.output != t.tile) store_rows<float>([](V x, auto... to) { x.store(to...); });
  }

  /// `put(x, to)` stores a vector, `put(x, to, n)` its first n elements.
  template <class T, class Put>
  void store_rows(const Put& put) const {
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

template <class V>
void finish(const FinishTile& tile, std::span<const EpilogueStep> steps,
            const EpilogueOperand* operands) {
  const Finish<V> finish{tile};
  for (size_t i = 0; i < steps.size(); ++i) finish.step(steps[i], operands[i]);
  finish.store();
}

}  // namespace
}  // namespace tenon::cpu
