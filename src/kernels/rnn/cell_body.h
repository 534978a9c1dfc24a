#pragma once

#include <algorithm>
#include <utility>

#include "kernels/epilogue/finish.h"
#include "kernels/rnn/cell.h"
#include "kernels/vector_math/activations.h"

/// Recurrent cells over a vector type V of kernels/vector_math; included by one source an
/// instruction set.
namespace tenon::cpu {
namespace {

/// Sums of one product: [row][block][gate][kUnitBlock], at most so many.
constexpr int kMaxBlocks = 8;
constexpr int64_t kSums = 48 * kUnitBlock;

/// M rows times U blocks of G gates, all in registers. The order of summation is that of k, however
/// many rows and blocks go together.
template <class V, int M, int G, int U> struct RecurrentProduct {
  static constexpr int kVectors = G * static_cast<int>(kUnitBlock) / V::kWidth;
  static constexpr int64_t kStep = G * kUnitBlock;

  [[gnu::always_inline]] static void store(const V (&sums)[M][U][kVectors], float* to) {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
      for (int u = 0; u < U; ++u)
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v)
          sums[m][u][v].store(to + (m * U + u) * kStep + v * V::kWidth);
  }

  static void run_f32(const CellStep& s, int64_t block, float* to) {
    V sums[M][U][kVectors] = {};
    const int64_t between = s.k * kStep;
    const float* w = static_cast<const float*>(s.weights) + block * between;
    const float* h = s.product_state;
    for (int64_t k = 0; k < s.k; ++k, w += kStep) {
#pragma GCC unroll 8
      for (int u = 0; u < U; ++u)
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          const V weight = V::load(w + u * between + v * V::kWidth);
#pragma GCC unroll 8
          for (int m = 0; m < M; ++m)
            sums[m][u][v] = fma(V::broadcast(h[m * s.stride + k]), weight, sums[m][u][v]);
        }
    }
    store(sums, to);
  }

  static void run_bf16(const CellStep& s, int64_t block, float* to) {
    V sums[M][U][kVectors] = {};
    const int64_t between = s.k * kStep;
    const uint16_t* w = static_cast<const uint16_t*>(s.weights) + block * between;
    const float* h = s.product_state;
    for (int64_t k = 0; k < s.k; k += 2, w += 2 * kStep) {
#pragma GCC unroll 8
      for (int u = 0; u < U; ++u)
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          V even, odd;
          V::load_bf16_pairs(w + u * between + 2 * v * V::kWidth, even, odd);
#pragma GCC unroll 8
          for (int m = 0; m < M; ++m) {
            const float* state = h + m * s.stride + k;
            sums[m][u][v] = fma(V::broadcast(state[0]), even, sums[m][u][v]);
            sums[m][u][v] = fma(V::broadcast(state[1]), odd, sums[m][u][v]);
          }
        }
    }
    store(sums, to);
  }

  static void run(const CellStep& s, int64_t block, float* to) {
    s.weight_type == ElementType::f32 ? run_f32(s, block, to) : run_bf16(s, block, to);
  }
};

/// Out of line: it serves every gate of every cell.
template <class V> [[gnu::noinline]] V activate(const EpilogueStep& f, V x) {
  if (f.function == PointwiseFunction::k_sigmoid) return vector_math::sigmoid(x);
  if (f.function == PointwiseFunction::k_tanh) return vector_math::tanh(x);
  if (vector_math::has_vector_form(f.function))
    return vector_math::apply_unary(f.function, x, f.alpha, f.beta);
  float lanes[V::kWidth];
  x.store(lanes);
  for (float& lane : lanes) lane = apply_scalar(f.function, lane, 0, f.alpha, f.beta);
  return V::load(lanes);
}

/// One vector of units of one row.
template <class V> struct Units {
  const CellStep& s;
  const float* sums;  ///< Of gate 0; the next gate's lie kUnitBlock on.
  int row;
  int64_t unit;
  int lanes;

  int64_t at() const { return row * s.stride + unit; }
  V state(const float* base) const { return V::load(base + at(), lanes); }
  V recurrent(int gate) const { return V::load(sums + gate * kUnitBlock); }
  V input(int gate) const { return V::load(s.inputs[row] + gate * s.hidden + unit, lanes); }
  V gate(int function, V x) const {
    if (s.clip > 0) x = vector_math::clip(x, -s.clip, s.clip);
    return activate(s.functions[function], x);
  }
  V peephole(int which, V x, V c) const {
    if (s.peepholes == nullptr) return x;
    return fma(V::load(s.peepholes + which * s.hidden + unit, lanes), c, x);
  }
  void finish(V h) const {
    h.store(s.h_next + at(), lanes);
    if (s.output_type == ElementType::f32)
      h.store(static_cast<float*>(s.outputs[row]) + unit, lanes);
    else
      h.store_bf16(static_cast<uint16_t*>(s.outputs[row]) + unit, lanes);
  }

  void lstm() const {
    V c = state(s.c);
    const V one = V::broadcast(1.0f);
    const V in = gate(0, peephole(0, input(0) + recurrent(0), c));
    const V forget = s.input_forget ? one - in : gate(0, peephole(2, input(2) + recurrent(2), c));
    c = fma(forget, c, in * gate(1, input(3) + recurrent(3)));
    const V out = gate(0, peephole(1, input(1) + recurrent(1), c));
    c.store(s.c + at(), lanes);
    finish(out * gate(2, c));
  }

  void blend(V update, V candidate) const {
    const V h = state(s.h);
    finish(fma(update, h - candidate, candidate));
  }

  void gru_gates() const {
    gate(0, input(0) + recurrent(0)).store(s.update + at(), lanes);
    (gate(0, input(1) + recurrent(1)) * state(s.h)).store(s.reset + at(), lanes);
  }
  void gru_candidate() const { blend(state(s.update), gate(1, input(2) + recurrent(0))); }

  void gru_linear() const {
    const V update = gate(0, input(0) + recurrent(0)), reset = gate(0, input(1) + recurrent(1));
    V product = recurrent(2);
    if (s.state_bias != nullptr) product = product + V::load(s.state_bias + unit, lanes);
    blend(update, gate(1, fma(reset, product, input(2))));
  }

  void run() const {
    switch (s.cell) {
      case RnnCell::lstm: return lstm();
      case RnnCell::gru: return s.phase == 0 ? gru_gates() : gru_candidate();
      case RnnCell::gru_linear: return gru_linear();
      case RnnCell::plain: return finish(gate(0, input(0) + recurrent(0)));
    }
  }
};

template <class V> void finish_block(const CellStep& s, int64_t block, int row, const float* sums) {
  const int64_t first = block * kUnitBlock, last = std::min(s.hidden, first + kUnitBlock);
  for (int64_t unit = first; unit < last; unit += V::kWidth) {
    const int lanes = static_cast<int>(std::min<int64_t>(V::kWidth, last - unit));
    if (s.inputs[row] != nullptr) {
      Units<V>{s, sums + (unit - first), row, unit, lanes}.run();
    } else if (s.cell != RnnCell::gru || s.phase == 1) {
      const int64_t at = row * s.stride + unit;
      V::load(s.h + at, lanes).store(s.h_next + at, lanes);
    }
  }
}

/// Blocks that go together: as many as the registers hold.
template <class V, int M, int G> constexpr int blocks_together() {
  constexpr int kEach = M * G * static_cast<int>(kUnitBlock) / V::kWidth;
  constexpr int kRegisters = V::kWidth == 16 ? 16 : 8;
  return kRegisters / kEach > kMaxBlocks / 2 ? kMaxBlocks / 2
                                             : (kRegisters / kEach < 1 ? 1 : kRegisters / kEach);
}

template <class V, int M, int G> void step_rows(const CellStep& s) {
  constexpr int kTogether = blocks_together<V, M, G>();
  alignas(64) float sums[kSums];
  const int64_t count = s.last_block - s.first_block, whole = count / kTogether;
  const int64_t pieces = whole + count % kTogether;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t piece = s.backwards ? pieces - 1 - i : i;
    const bool several = piece < whole;
    const int64_t block =
        s.first_block + (several ? piece * kTogether : whole * kTogether + piece - whole);
    several ? RecurrentProduct<V, M, G, kTogether>::run(s, block, sums)
            : RecurrentProduct<V, M, G, 1>::run(s, block, sums);
    const int together = several ? kTogether : 1;
    for (int m = 0; m < M; ++m)
      for (int u = 0; u < together; ++u)
        finish_block<V>(s, block + u, m, sums + (m * together + u) * G * kUnitBlock);
  }
}

/// Steps of all numbers of rows and gates that cells have.
template <class V, int kMaxRows> struct CellTable {
  template <int G, int... M> static void rows(const CellStep& s, std::integer_sequence<int, M...>) {
    static constexpr void (*kTable[])(const CellStep&) = {step_rows<V, M + 1, G>...};
    kTable[s.rows - 1](s);
  }
  static void step(const CellStep& s) {
    constexpr std::make_integer_sequence<int, kMaxRows> kRows;
    switch (s.gates) {
      case 1: return rows<1>(s, kRows);
      case 2: return rows<2>(s, kRows);
      case 3: return rows<3>(s, kRows);
      default: return rows<4>(s, kRows);
    }
  }
};

}  // namespace
}  // namespace tenon::cpu
