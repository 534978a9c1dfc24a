#include <algorithm>
#include <cmath>
#include <span>

#include "ops/gate_activations.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/small_gemm.h"
#include "ops/table.h"

namespace tenon {
namespace {

template <class T> T apply(const GateActivation& f, T x) {
  const T a = static_cast<T>(f.alpha), b = static_cast<T>(f.beta);
  switch (f.function) {
    case PointwiseFunction::k_relu: return x > 0 ? x : T(0);
    case PointwiseFunction::k_tanh: return std::tanh(x);
    case PointwiseFunction::k_sigmoid: return 1 / (1 + std::exp(-x));
    case PointwiseFunction::k_affine: return a * x + b;
    case PointwiseFunction::k_leaky_relu: return x >= 0 ? x : a * x;
    case PointwiseFunction::k_thresholded_relu: return x > a ? x : T(0);
    case PointwiseFunction::k_scaled_tanh: return a * std::tanh(b * x);
    case PointwiseFunction::k_hard_sigmoid: return std::clamp(a * x + b, T(0), T(1));
    case PointwiseFunction::k_elu: return x >= 0 ? x : a * (std::exp(x) - 1);
    case PointwiseFunction::k_softsign: return x / (1 + std::abs(x));
    default: return std::log1p(std::exp(-std::abs(x))) + std::max(x, T(0));
  }
}

/// The activations of all directions.
Result<std::vector<GateActivation>> functions_of(const Rnn& op, const Fail& fail) {
  auto activations = gate_activations(op);
  if (!activations.ok()) return fail("{}", activations.error().message);
  return activations;
}

struct RnnSizes {
  Dim steps, batch, input;
};

Status expect_shape(const Shape& shape, const Shape& expected, std::string_view what,
                    const Fail& fail) {
  TENON_TRY(expect_rank(shape, static_cast<int>(expected.size()), what, fail));
  for (size_t i = 0; i < expected.size(); ++i)
    if (surely_differ(shape[i], expected[i]))
      return fail("{} must have the shape {}, not {}", what, to_string(expected), to_string(shape));
  return {};
}

/// Shapes of the eight operands; absent ones have none.
using Shapes = std::vector<std::optional<Shape>>;

Result<RnnSizes> check_shapes(const Rnn& op, const Shapes& shapes, const Fail& fail) {
  TENON_TRY(expect_rank(*shapes[0], 3, "x", fail));
  const Shape& x = *shapes[0];
  if (op.hidden < 1 || op.hidden > INT32_MAX) return fail("hidden size {}", op.hidden);
  const RnnSizes sizes{x[op.batch_first ? 1 : 0], x[op.batch_first ? 0 : 1], x[2]};
  const int64_t directions = directions_of(op), rows = gates_of(op) * op.hidden;
  const Shape state = op.batch_first ? Shape{sizes.batch, directions, op.hidden}
                                     : Shape{directions, sizes.batch, op.hidden};
  const std::pair<std::string_view, Shape> expected[] = {
      {"x", x},
      {"W", {directions, rows, sizes.input}},
      {"R", {directions, rows, op.hidden}},
      {"B", {directions, 2 * rows}},
      {"the lengths", {sizes.batch}},
      {"the initial h", state},
      {"the initial c", state},
      {"the peepholes", {directions, 3 * op.hidden}}};
  for (size_t i = 1; i < shapes.size(); ++i)
    if (shapes[i]) TENON_TRY(expect_shape(*shapes[i], expected[i].second, expected[i].first, fail));
  return sizes;
}

/// One direction's weights and states, computed step by step.
template <class T> struct Cell {
  const Rnn& op;
  std::span<const GateActivation> f;
  int64_t batch, input, hidden;
  std::vector<T> w, r;              ///< Transposed: [input, gates*hidden], [hidden, gates*hidden].
  std::vector<T> bias, state_bias;  ///< gates*hidden each.
  std::vector<T> peepholes;         ///< Input, output, forget; zero when absent.
  std::vector<T> h, c;              ///< [batch, hidden].
  std::vector<T> gates, recurrent;

  T clipped(T x) const {
    const T limit = static_cast<T>(op.clip);
    return limit > 0 ? std::clamp(x, -limit, limit) : x;
  }

  /// gates = x W^T + bias, recurrent = h R^T + its bias.
  void project(const T* x, int64_t x_step) {
    const int64_t width = gates_of(op) * hidden;
    for (int64_t b = 0; b < batch; ++b) {
      std::copy(bias.begin(), bias.end(), gates.begin() + b * width);
      std::copy(state_bias.begin(), state_bias.end(), recurrent.begin() + b * width);
    }
    multiply_add(batch, width, input, x, x_step, w.data(), width, gates.data(), width);
    multiply_add(batch, width, hidden, h.data(), hidden, r.data(), width, recurrent.data(), width);
  }

  void lstm(int64_t b) {
    const T *g = gates.data() + b * 4 * hidden, *s = recurrent.data() + b * 4 * hidden;
    for (int64_t i = 0; i < hidden; ++i) {
      T& cell = c[b * hidden + i];
      const auto sum = [&](int64_t gate) { return g[gate * hidden + i] + s[gate * hidden + i]; };
      const T in = apply(f[0], clipped(sum(0) + peepholes[i] * cell));
      const T forget = op.input_forget
                           ? 1 - in
                           : apply(f[0], clipped(sum(2) + peepholes[2 * hidden + i] * cell));
      cell = forget * cell + in * apply(f[1], clipped(sum(3)));
      const T out = apply(f[0], clipped(sum(1) + peepholes[hidden + i] * cell));
      h[b * hidden + i] = out * apply(f[2], clipped(cell));
    }
  }

  void gru(int64_t b) {
    const int64_t width = 3 * hidden;
    const T *g = gates.data() + b * width, *s = recurrent.data() + b * width;
    std::vector<T> update(hidden), reset(hidden), candidate(hidden);
    for (int64_t i = 0; i < hidden; ++i) {
      update[i] = apply(f[0], clipped(g[i] + s[i]));
      reset[i] = apply(f[0], clipped(g[hidden + i] + s[hidden + i]));
      candidate[i] = reset[i] * s[2 * hidden + i];
    }
    if (!op.linear_before_reset) {
      for (int64_t i = 0; i < hidden; ++i) reset[i] *= h[b * hidden + i];
      std::copy_n(state_bias.data() + 2 * hidden, hidden, candidate.data());
      multiply_add(1, hidden, hidden, reset.data(), hidden, r.data() + 2 * hidden, width,
                   candidate.data(), hidden);
    }
    for (int64_t i = 0; i < hidden; ++i) {
      const T fresh = apply(f[1], clipped(g[2 * hidden + i] + candidate[i]));
      T& state = h[b * hidden + i];
      state = (1 - update[i]) * fresh + update[i] * state;
    }
  }

  void plain(int64_t b) {
    for (int64_t i = 0; i < hidden; ++i)
      h[b * hidden + i] = apply(f[0], clipped(gates[b * hidden + i] + recurrent[b * hidden + i]));
  }

  void step(int64_t b) {
    if (op.cell == RnnKind::kLstm) return lstm(b);
    if (op.cell == RnnKind::kGru) return gru(b);
    plain(b);
  }
};

/// [rows, columns] to [columns, rows].
template <class T> std::vector<T> transposed(const T* from, int64_t rows, int64_t columns) {
  std::vector<T> to(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  return to;
}

/// The numbers of one direction of an optional operand, zeros when it is absent.
template <class T>
std::vector<T> part(const EvalContext& context, int index, int64_t direction, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count), T(0));
  if (!context.has_input(index)) return values;
  const Values<T> all(context.input(index));
  std::copy_n(all.data() + direction * count, count, values.begin());
  return values;
}

/// A state operand's rows of one direction.
template <class T>
std::vector<T> state_part(const Rnn& op, const EvalContext& context, int index, int64_t d,
                          int64_t batch) {
  if (!op.batch_first) return part<T>(context, index, d, batch * op.hidden);
  std::vector<T> values(static_cast<size_t>(batch * op.hidden), T(0));
  if (!context.has_input(index)) return values;
  const Values<T> all(context.input(index));
  for (int64_t b = 0; b < batch; ++b)
    std::copy_n(all.data() + (b * directions_of(op) + d) * op.hidden, op.hidden,
                values.begin() + b * op.hidden);
  return values;
}

template <class T>
Cell<T> cell_of(const Rnn& op, const EvalContext& context, int64_t d, int64_t batch, int64_t input,
                std::span<const GateActivation> functions) {
  const int64_t rows = gates_of(op) * op.hidden;
  const Values<T> w(context.input(1)), r(context.input(2));
  const std::vector<T> both = part<T>(context, 3, d, 2 * rows);
  return Cell<T>{op,
                 functions.subspan(d * activations_of(op), activations_of(op)),
                 batch,
                 input,
                 op.hidden,
                 transposed(w.data() + d * rows * input, rows, input),
                 transposed(r.data() + d * rows * op.hidden, rows, op.hidden),
                 std::vector<T>(both.begin(), both.begin() + rows),
                 std::vector<T>(both.begin() + rows, both.end()),
                 part<T>(context, 7, d, 3 * op.hidden),
                 state_part<T>(op, context, 5, d, batch),
                 state_part<T>(op, context, 6, d, batch),
                 std::vector<T>(static_cast<size_t>(batch * rows)),
                 std::vector<T>(static_cast<size_t>(batch * rows))};
}

/// Outputs as [steps, directions, batch, hidden] and [directions, batch, hidden].
template <class T> struct Sequences {
  int64_t steps, batch, input, directions;
  std::vector<int64_t> lengths;
  std::vector<T> y, h, c;
};

template <class T>
void run_direction(const Rnn& op, Cell<T>& cell, const Values<T>& x, int64_t d, Sequences<T>& s) {
  const bool backward = op.direction == RnnDirection::kReverse || d == 1;
  const int64_t hidden = op.hidden;
  std::vector<T> row(static_cast<size_t>(s.batch * s.input));
  for (int64_t t = 0; t < s.steps; ++t) {
    const auto place = [&](int64_t b) { return backward ? s.lengths[b] - 1 - t : t; };
    for (int64_t b = 0; b < s.batch; ++b) {
      if (t >= s.lengths[b]) continue;
      const int64_t at = op.batch_first ? b * s.steps + place(b) : place(b) * s.batch + b;
      std::copy_n(x.data() + at * s.input, s.input, row.data() + b * s.input);
    }
    cell.project(row.data(), s.input);
    for (int64_t b = 0; b < s.batch; ++b) {
      if (t >= s.lengths[b]) continue;
      cell.step(b);
      const int64_t at = op.batch_first ? (b * s.steps + place(b)) * s.directions + d
                                        : (place(b) * s.directions + d) * s.batch + b;
      std::copy_n(cell.h.data() + b * hidden, hidden, s.y.data() + at * hidden);
    }
  }
  for (int64_t b = 0; b < s.batch; ++b) {
    const int64_t at = op.batch_first ? b * s.directions + d : d * s.batch + b;
    std::copy_n(cell.h.data() + b * hidden, hidden, s.h.data() + at * hidden);
    std::copy_n(cell.c.data() + b * hidden, hidden, s.c.data() + at * hidden);
  }
}

Shape all_shape(const Rnn& op, const RnnSizes& s) {
  const Dim directions = directions_of(op);
  return op.batch_first ? Shape{s.batch, s.steps, directions, op.hidden}
                        : Shape{s.steps, directions, s.batch, op.hidden};
}
Shape last_shape(const Rnn& op, const RnnSizes& s) {
  const Dim directions = directions_of(op);
  return op.batch_first ? Shape{s.batch, directions, op.hidden}
                        : Shape{directions, s.batch, op.hidden};
}

template <class T> Status run(const Rnn& op, EvalContext& context, const RnnSizes& sizes) {
  TENON_ASSIGN(const auto functions, functions_of(op, context));
  const Tensor& x = context.input(0);
  Sequences<T> s{sizes.steps.constant(),
                 sizes.batch.constant(),
                 sizes.input.constant(),
                 directions_of(op),
                 {},
                 {},
                 {},
                 {}};
  s.lengths.assign(s.batch, s.steps);
  if (context.has_input(4)) {
    TENON_ASSIGN(s.lengths, integers_of(context, 4));
    for (const int64_t length : s.lengths)
      if (length < 0 || length > s.steps)
        return context.fail(fmt::format("length {} is outside [0, {}]", length, s.steps));
  }
  s.y.assign(s.steps * s.directions * s.batch * op.hidden, T(0));
  s.h.assign(s.directions * s.batch * op.hidden, T(0));
  s.c = s.h;
  const Values<T> values(x);
  for (int64_t d = 0; d < s.directions; ++d) {
    Cell<T> cell = cell_of<T>(op, context, d, s.batch, s.input, functions);
    run_direction(op, cell, values, d, s);
  }
  const Extents last = constants(last_shape(op, sizes));
  context.set_output(0, tensor_of_values(x.type(), constants(all_shape(op, sizes)), s.y));
  if (context.output_count() > 1) context.set_output(1, tensor_of_values(x.type(), last, s.h));
  if (context.output_count() > 2) context.set_output(2, tensor_of_values(x.type(), last, s.c));
  return {};
}

}  // namespace

Status infer(const Rnn& op, InferContext& context) {
  Shapes shapes(8);
  for (int i = 0; i < 8; ++i)
    if (context.has_input(i)) shapes[i] = context.shape(i);
  TENON_ASSIGN(const RnnSizes sizes, check_shapes(op, shapes, context));
  TENON_ASSIGN(const auto functions, functions_of(op, context));
  static_cast<void>(functions);
  const DataType type = context.input(0).type;
  context.set_output(0, type, all_shape(op, sizes));
  for (int i = 1; i < context.output_count(); ++i)
    context.set_output(i, type, last_shape(op, sizes));
  return {};
}

Status evaluate(const Rnn& op, EvalContext& context) {
  Shapes shapes(8);
  for (int i = 0; i < 8; ++i)
    if (context.has_input(i)) shapes[i] = shape_of(context.input(i));
  TENON_ASSIGN(const RnnSizes sizes, check_shapes(op, shapes, context));
  return with_real(context.input(0).type(),
                   [&](auto real) { return run<decltype(real)>(op, context, sizes); });
}

}  // namespace tenon
