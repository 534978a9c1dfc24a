// A unit's step where states lie in memory between launches: h, then c, of all directions as floats.

struct Stored {
  const float* products;
  const X *bias, *peepholes;
  const Length* lengths;
  X *y, *last_h, *last_c;
};
#define kStates (Index(kDirections) * kBatch * kHidden)

/// Gives the new h. `from` and `to` may be the same.
__device__ inline float advance_stored(const Stored& s, int step, int direction, int batch, int unit, const float* from,
                                       float* to, const float (&sums)[kGates]) {
  const Index at = (Index(direction) * kBatch + batch) * kHidden + unit;
  CellState state = {from[at], from[kStates + at]};
  const int length = length_of(s.lengths, batch);
  const int t = runs_backward(direction) ? length - 1 - step : step;
  if (step < length) {
    float x[kGates], r[kGates], peephole[3];
    load_biases(s.bias, direction, unit, x, r);
#pragma unroll
    for (int g = 0; g < kGates; ++g) {
      x[g] += s.products[product_index(t, batch, direction) + g * kHidden + unit];
      r[g] += sums[g];
    }
#pragma unroll
    for (int p = 0; p < 3; ++p) peephole[p] = optional(s.peepholes, (direction * 3 + p) * Index(kHidden) + unit);
    state = advance_cell(direction, x, r, peephole, state);
    s.y[output_index(t, batch, direction, unit)] = narrow<X>(state.h);
  } else {
    s.y[output_index(step, batch, direction, unit)] = narrow<X>(0.0f);
  }
  to[at] = state.h;
  to[kStates + at] = state.c;
  if (step == kStepCount - 1) {
    if (s.last_h != nullptr) s.last_h[state_index(direction, batch, unit)] = narrow<X>(state.h);
    if (s.last_c != nullptr) s.last_c[state_index(direction, batch, unit)] = narrow<X>(state.c);
  }
  return state.h;
}
