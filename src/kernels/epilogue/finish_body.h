#pragma once

#include "kernels/epilogue/finish.h"
#include "kernels/vector_math/activations.h"

/// The FinishFunction over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

namespace vm = vector_math;

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

  template <PointwiseFunction F>
  void unary(const EpilogueStep& s) const {
    each([&](V x, int64_t, int64_t) { return vm::apply_unary(F, x, s.alpha, s.beta); });
  }

  template <PointwiseFunction F>
  void binary(const EpilogueStep& s, const EpilogueOperand& o) const {
    if (s.operand_first)
      each([&](V x, int64_t r, int64_t c) { return vm::apply_binary(F, operand(s, o, r, c), x); });
    else
      each([&](V x, int64_t r, int64_t c) { return vm::apply_binary(F, x, operand(s, o, r, c)); });
  }

  void scalar_function(const EpilogueStep& s, const EpilogueOperand& o) const {
    each([&](V x, int64_t r, int64_t c) {
      float a[V::kWidth], b[V::kWidth];
      x.store(a);
      operand(s, o, r, c).store(b);
      for (int i = 0; i < V::kWidth; ++i) {
        a[i] = s.operand_first ? apply_scalar(s.function, b[i], a[i], s.alpha, s.beta)
                               : apply_scalar(s.function, a[i], b[i], s.alpha, s.beta);
      }
      return V::load(a);
    });
  }

  void step(const EpilogueStep& s, const EpilogueOperand& o) const {
    switch (s.function) {
#define TENON_UNARY(name)           \
  case PointwiseFunction::k_##name: \
    return unary<PointwiseFunction::k_##name>(s);
      TENON_UNARY(relu)
      TENON_UNARY(leaky_relu)
      TENON_UNARY(sigmoid)
      TENON_UNARY(hard_sigmoid)
      TENON_UNARY(hard_swish)
      TENON_UNARY(swish)
      TENON_UNARY(gelu_erf)
      TENON_UNARY(gelu_tanh)
      TENON_UNARY(tanh)
      TENON_UNARY(erf)
      TENON_UNARY(exp)
      TENON_UNARY(clip)
      TENON_UNARY(affine)
#undef TENON_UNARY
#define TENON_BINARY(name)          \
  case PointwiseFunction::k_##name: \
    return binary<PointwiseFunction::k_##name>(s, o);
      TENON_BINARY(add)
      TENON_BINARY(sub)
      TENON_BINARY(mul)
      TENON_BINARY(div)
      TENON_BINARY(max)
      TENON_BINARY(min)
      TENON_BINARY(prelu)
#undef TENON_BINARY
      default:
        return scalar_function(s, o);
    }
  }

  void store() const {
    if (t.output_type == ElementType::bf16) return store_bf16();
    if (t.output == t.tile) return;
    for (int64_t r = 0; r < t.rows; ++r) {
      const float* x = t.tile + r * t.tile_stride;
      float* y = static_cast<float*>(t.output) + r * t.output_stride;
      int64_t c = 0;
      for (; c + V::kWidth <= t.columns; c += V::kWidth) V::load(x + c).store(y + c);
      const int left = static_cast<int>(t.columns - c);
      if (left > 0) V::load(x + c, left).store(y + c, left);
    }
  }

  void store_bf16() const {
    for (int64_t r = 0; r < t.rows; ++r) {
      const float* x = t.tile + r * t.tile_stride;
      uint16_t* y = static_cast<uint16_t*>(t.output) + r * t.output_stride;
      int64_t c = 0;
      for (; c + V::kWidth <= t.columns; c += V::kWidth) V::load(x + c).store_bf16(y + c);
      const int left = static_cast<int>(t.columns - c);
      if (left > 0) V::load(x + c, left).store_bf16(y + c, left);
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
