#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/float_formats.h"
#include "kernels/attention/attention.h"
#include "kernels/vector_math/functions.h"

/// Softmax and the last division, over a vector type V of kernels/vector_math, and the bytes B.
namespace tenon::cpu::attention_detail {

inline constexpr float kNever = -std::numeric_limits<float>::infinity();

inline float mask_value(const AttentionProblem& p, const void* mask, int64_t at) {
  switch (p.mask) {
    case MaskKind::none: return 0;
    case MaskKind::boolean: return static_cast<const uint8_t*>(mask)[at] != 0 ? 0.0f : kNever;
    case MaskKind::f32: return static_cast<const float*>(mask)[at];
    case MaskKind::bf16:
      return __builtin_bit_cast(float, static_cast<uint32_t>(static_cast<const uint16_t*>(mask)[at])
                                           << 16);
  }
  return 0;
}

template <class B> struct SoftmaxRows {
  using V = typename B::Vector;
  const ScoreRows& s;

  int64_t padded() const { return (s.keys + V::kWidth - 1) / V::kWidth * V::kWidth; }

  void apply(const std::vector<ScoreStep>& steps, float* row) const {
    for (const ScoreStep& step : steps) {
      if (step.instruction.function == PointwiseFunction::k_round) {
        for (int64_t k = 0; k < padded(); k += V::kWidth) round(V::load(row + k)).store(row + k);
        continue;
      }
      const float* number = step.number.empty() ? nullptr : step.number.data();
      s.blocks.apply(step.instruction, step.number_first ? number : row,
                     step.number_first ? row : number, nullptr, row, padded());
    }
  }

  /// Scale, cap, mask and causality; keys behind the end become -infinity.
  void prepare(int64_t r, float* row) const {
    const AttentionProblem& p = s.problem;
    const V scale = V::broadcast(p.scale);
    for (int64_t k = 0; k < padded() && p.scale != 1; k += V::kWidth)
      (V::load(row + k) * scale).store(row + k);
    if (p.softcap > 0) {
      const V cap = V::broadcast(p.softcap), inverse = V::broadcast(1 / p.softcap);
      for (int64_t k = 0; k < padded(); k += V::kWidth)
        (cap * vector_math::tanh(V::load(row + k) * inverse)).store(row + k);
    }
    apply(p.steps, row);
    const int64_t at = s.mask_at + r * p.mask_strides[2];
    if (p.mask == MaskKind::f32 && p.mask_strides[3] == 1) {
      const float* from = static_cast<const float*>(s.mask) + at;
      for (int64_t k = 0; k < s.keys; ++k) row[k] += from[k];
    } else if (p.mask != MaskKind::none) {
      for (int64_t k = 0; k < s.keys; ++k)
        row[k] += mask_value(p, s.mask, at + k * p.mask_strides[3]);
    }
    apply(p.masked_steps, row);
    int64_t visible = s.keys;
    if (p.causal)
      visible = std::clamp<int64_t>(s.first_query + r + p.diagonal + 1 - s.first_key, 0, s.keys);
    std::fill(row + visible, row + padded(), kNever);
  }

  static float largest(const float* row, int64_t count) {
    V top = V::broadcast(kNever);
    for (int64_t k = 0; k < count; k += V::kWidth) top = max(V::load(row + k), top);
    float lanes[V::kWidth];
    top.store(lanes);
    return *std::max_element(lanes, lanes + V::kWidth);
  }

  void put(int64_t r, int64_t k, V x) const {
    if (s.multiples != nullptr)
      B::store(s.multiples + r * s.stride + k, x, V::zero());
    else if (s.probabilities == nullptr)
      x.store(s.scores + r * s.stride + k);
    else
      x.store_bf16(static_cast<uint16_t*>(s.probabilities) + r * s.stride + k);
  }

  /// Scores to what their weights are parts of the sum of.
  void exponentiate(int64_t r, float* row) const {
    const V shift = V::broadcast(s.most[r]);
    for (int64_t k = 0; k < padded(); k += V::kWidth)
      vector_math::exp_of_share(V::load(row + k) - shift).store(row + k);
  }

  /// Weights, still to be divided by their sum, rounded as the problem says.
  void round_row(int64_t r, float* row) const {
    float total = s.total[r];
    if (!s.problem.weight_steps.empty()) {
      const V part = V::broadcast(1 / total);
      for (int64_t k = 0; k < padded(); k += V::kWidth) (V::load(row + k) * part).store(row + k);
      apply(s.problem.weight_steps, row);
      total = 1;
    }
    const V parts = V::broadcast(1 / (total * s.problem.weights_step));
    const V limit = V::broadcast(s.problem.weights_limit);
    const V step = V::broadcast(s.multiples != nullptr ? 1.0f : s.problem.weights_step);
    const int places = s.problem.weights_places;
    if (places == 0) {
      for (int64_t k = 0; k < padded(); k += V::kWidth)
        put(r, k, round(min(V::load(row + k) * parts, limit)) * step);
      return;
    }
    for (int64_t k = 0; k < padded(); k += V::kWidth)
      min(V::load(row + k) * parts, limit).store(row + k);
    for (int64_t k = 0; k < padded(); ++k)
      row[k] = round_to_places(row[k], places, s.problem.weights_least);
    for (int64_t k = 0; k < padded(); k += V::kWidth) put(r, k, V::load(row + k) * step);
  }

  void row(int64_t r) const {
    float* row = s.scores + r * s.stride;
    prepare(r, row);
    if (s.are_final && s.most[r] != kNever) {
      exponentiate(r, row);
      return round_row(r, row);
    }
    const float next = std::max(s.most[r], largest(row, padded()));
    if (next == kNever) {
      for (int64_t k = 0; k < padded(); k += V::kWidth) put(r, k, V::zero());
      return;
    }
    const V shift = V::broadcast(next);
    V total = V::zero();
    for (int64_t k = 0; k < padded(); k += V::kWidth) {
      const V x = vector_math::exp_of_share(V::load(row + k) - shift);
      if (s.are_all)
        x.store(row + k);
      else
        put(r, k, x);
      total = total + x;
    }
    float lanes[V::kWidth], block = 0;
    total.store(lanes);
    for (const float lane : lanes) block += lane;
    if (s.most[r] == kNever) {
      s.total[r] = block;
    } else {
      const float factor = std::exp(s.most[r] - next);
      s.total[r] = s.total[r] * factor + block;
      float* sums = s.sums + r * s.sums_stride;
      if (factor != 1 && s.sums != nullptr)
        for (int64_t c = 0; c < s.problem.value_size; ++c) sums[c] *= factor;
    }
    s.most[r] = next;
    if (s.are_all) round_row(r, row);
  }

  static void all(const ScoreRows& rows) {
    for (int64_t r = 0; r < rows.rows; ++r) SoftmaxRows{rows}.row(r);
  }
};

template <class V>
void store_rows(const AttentionProblem& p, const float* sums, int64_t stride, const float* total,
                int64_t rows, void* out, int64_t to) {
  const float empty = p.masked_rows_zero ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  for (int64_t r = 0; r < rows; ++r, sums += stride, to += p.out.position) {
    const V scale = V::broadcast(total[r] == 0 ? empty : 1 / total[r]);
    for (int64_t c = 0; c < p.value_size; c += V::kWidth) {
      const int n = static_cast<int>(std::min<int64_t>(p.value_size - c, V::kWidth));
      const V x = V::load(sums + c, n) * scale;
      if (p.bf16)
        x.store_bf16(static_cast<uint16_t*>(out) + to + c, n);
      else
        x.store(static_cast<float*>(out) + to + c, n);
    }
  }
}

}  // namespace tenon::cpu::attention_detail
