// One unit's step of a recurrent cell. kCell: 0 LSTM (gates input, output, forget, cell), 1 GRU (update, reset, candidate)
// whose reset acts behind the product, 2 plain. activation<i>(direction, x) are the planner's.

struct CellState {
  float h, c;
};

__device__ inline float clipped(float x) {
  return kClip > 0 ? fminf(fmaxf(x, -float(kClip)), float(kClip)) : x;
}

/// A gate's sum with its view of the cell.
__device__ inline float seen(float sum, float peephole, float c) { return kHasPeepholes ? sum + peephole * c : sum; }

/// `x` and `r`: the products with the input and with the state, each with its bias; `peephole`: input, output, forget.
__device__ inline CellState advance_cell(int direction, const float (&x)[kGates], const float (&r)[kGates],
                                         const float (&peephole)[3], CellState s) {
  CellState next;
  if constexpr (kCell == 0) {
    const float in = activation<0>(direction, clipped(seen(x[0] + r[0], peephole[0], s.c)));
    const float forget =
        kInputForget ? 1 - in : activation<0>(direction, clipped(seen(x[2] + r[2], peephole[2], s.c)));
    next.c = forget * s.c + in * activation<1>(direction, clipped(x[3] + r[3]));
    const float out = activation<0>(direction, clipped(seen(x[1] + r[1], peephole[1], next.c)));
    next.h = out * activation<2>(direction, clipped(next.c));
  } else if constexpr (kCell == 1) {
    const float update = activation<0>(direction, clipped(x[0] + r[0]));
    const float reset = activation<0>(direction, clipped(x[1] + r[1]));
    const float fresh = activation<1>(direction, clipped(x[2] + reset * r[2]));
    next.h = (1 - update) * fresh + update * s.h;
    next.c = 0;
  } else {
    next.h = activation<0>(direction, clipped(x[0] + r[0]));
    next.c = 0;
  }
  return next;
}

__device__ inline float optional(const X* from, Index at) { return from != nullptr ? widen(from[at]) : 0.0f; }
__device__ inline Index state_index(int direction, int batch, int unit) {
  return (kBatchFirst ? batch * kDirections + direction : direction * kBatch + batch) * Index(kHidden) + unit;
}
/// Row of x's products for step `t` of an element of the batch.
__device__ inline Index product_index(int t, int batch, int direction) {
  return (kBatchFirst ? batch * kStepCount + t : t * kBatch + batch) * Index(kDirections * kGates * kHidden) +
         direction * Index(kGates * kHidden);
}
__device__ inline Index output_index(int t, int batch, int direction, int unit) {
  return (kBatchFirst ? (batch * kStepCount + t) * kDirections + direction : (t * kDirections + direction) * kBatch + batch) *
             Index(kHidden) + unit;
}
/// Steps of an element of the batch; invalid lengths are clamped to the tensor.
__device__ inline int length_of(const Length* lengths, int batch) {
  if (lengths == nullptr) return kStepCount;
  const Length length = lengths[batch];
  return length < 0 ? 0 : (length > kStepCount ? kStepCount : int(length));
}
__device__ inline bool runs_backward(int direction) { return kReverse || direction == 1; }

/// Biases of a unit: of the input's products and of the state's.
__device__ inline void load_biases(const X* bias, int direction, int unit, float (&input)[kGates], float (&state)[kGates]) {
#pragma unroll
  for (int g = 0; g < kGates; ++g) {
    const Index at = direction * Index(2 * kGates * kHidden) + g * kHidden + unit;
    input[g] = optional(bias, at);
    state[g] = optional(bias, at + kGates * kHidden);
  }
}
