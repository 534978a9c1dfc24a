// Recurrences over several steps beside their formulas, written out for one unit at a time.
#include <cmath>

#include "evaluate_helper.h"
#include "ops/numerics.h"

namespace tenon {
namespace {

using enum DataType;

constexpr int kSteps = 3, kBatch = 2, kInput = 2, kHidden = 2;
constexpr int kLengths[kBatch] = {3, 2};
const double kNear = tolerance(Computation::kReference, kFloat32).relative * 10;

/// Numbers between -1 and 1 that differ.
Tensor drawn(Extents extents, int seed) {
  Tensor tensor(kFloat32, std::move(extents));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_double(i, std::sin(1.7 * static_cast<double>(i) + seed));
  return tensor;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

/// Operands of a recurrence of one direction with so many gates.
struct Operands {
  explicit Operands(int gates)
      : gates(gates),
        all{drawn({kSteps, kBatch, kInput}, 1),
            drawn({1, gates * kHidden, kInput}, 2),
            drawn({1, gates * kHidden, kHidden}, 3),
            drawn({1, 2 * gates * kHidden}, 4),
            tensor_of(kInt32, {kBatch}, {kLengths[0], kLengths[1]}),
            drawn({1, kBatch, kHidden}, 5)} {}

  /// W x + its bias.
  double from_input(int t, int b, int gate, int unit) const {
    const int row = gate * kHidden + unit;
    double sum = all[3].as_double(row);
    for (int k = 0; k < kInput; ++k)
      sum += all[1].as_double(row * kInput + k) * all[0].as_double((t * kBatch + b) * kInput + k);
    return sum;
  }
  /// R h + its bias; `h` has the units of a sample.
  double from_state(const double* h, int gate, int unit) const {
    const int row = gate * kHidden + unit;
    double sum = all[3].as_double(gates * kHidden + row);
    for (int k = 0; k < kHidden; ++k) sum += all[2].as_double(row * kHidden + k) * h[k];
    return sum;
  }

  int gates;
  std::vector<Tensor> all;
};

void expect_last(const Tensor& actual, const double (&expected)[kBatch][kHidden]) {
  for (int b = 0; b < kBatch; ++b)
    for (int i = 0; i < kHidden; ++i)
      EXPECT_NEAR(actual.as_double(b * kHidden + i), expected[b][i], kNear) << b << " " << i;
}

TEST(Recurrence, LstmWithPeepholesAndLengths) {
  Operands o(4);
  o.all.push_back(drawn({1, kBatch, kHidden}, 6));
  o.all.push_back(drawn({1, 3 * kHidden}, 7));
  const auto peephole = [&](int gate, int unit) {
    return o.all[7].as_double(gate * kHidden + unit);
  };
  double h[kBatch][kHidden], c[kBatch][kHidden];
  for (int b = 0; b < kBatch; ++b) {
    for (int i = 0; i < kHidden; ++i) {
      h[b][i] = o.all[5].as_double(b * kHidden + i);
      c[b][i] = o.all[6].as_double(b * kHidden + i);
    }
    for (int t = 0; t < kLengths[b]; ++t) {
      double next[kHidden];
      for (int i = 0; i < kHidden; ++i) {
        const auto sum = [&](int gate) {
          return o.from_input(t, b, gate, i) + o.from_state(h[b], gate, i);
        };
        const double in = sigmoid(sum(0) + peephole(0, i) * c[b][i]);
        const double forget = sigmoid(sum(2) + peephole(2, i) * c[b][i]);
        c[b][i] = forget * c[b][i] + in * std::tanh(sum(3));
        next[i] = sigmoid(sum(1) + peephole(1, i) * c[b][i]) * std::tanh(c[b][i]);
      }
      std::copy_n(next, kHidden, h[b]);
    }
  }
  const auto results = evaluate("rnn{cell = lstm, hidden = 2}", o.all, 3);
  expect_last(results.at(1), h);
  expect_last(results.at(2), c);
  // Behind its length a sample's results are zero.
  EXPECT_EQ(results[0].as_double((2 * kBatch + 1) * kHidden), 0);
}

void expect_gru(bool linear_before_reset) {
  const Operands o(3);
  double h[kBatch][kHidden];
  for (int b = 0; b < kBatch; ++b) {
    for (int i = 0; i < kHidden; ++i) h[b][i] = o.all[5].as_double(b * kHidden + i);
    for (int t = 0; t < kLengths[b]; ++t) {
      double reset[kHidden], scaled[kHidden], next[kHidden];
      for (int i = 0; i < kHidden; ++i) {
        reset[i] = sigmoid(o.from_input(t, b, 1, i) + o.from_state(h[b], 1, i));
        scaled[i] = reset[i] * h[b][i];
      }
      for (int i = 0; i < kHidden; ++i) {
        const double update = sigmoid(o.from_input(t, b, 0, i) + o.from_state(h[b], 0, i));
        const double state =
            linear_before_reset ? reset[i] * o.from_state(h[b], 2, i) : o.from_state(scaled, 2, i);
        next[i] = (1 - update) * std::tanh(o.from_input(t, b, 2, i) + state) + update * h[b][i];
      }
      std::copy_n(next, kHidden, h[b]);
    }
  }
  const std::string op =
      fmt::format("rnn{{cell = gru, hidden = 2, linear_before_reset = {}}}", linear_before_reset);
  expect_last(evaluate(op, o.all, 2).at(1), h);
}

TEST(Recurrence, GruResetsAheadOfTheProduct) {
  expect_gru(false);
}

TEST(Recurrence, GruResetsBehindTheProduct) {
  expect_gru(true);
}

Tensor turned(const Tensor& tensor, const std::string& permutation) {
  return evaluate("transpose{permutation = [" + permutation + "]}", {tensor}).at(0);
}

/// Samples ahead of steps and directions: the same numbers elsewhere.
TEST(Recurrence, SamplesMayComeFirst) {
  const int gates = 3;
  std::vector<Tensor> operands{drawn({kSteps, kBatch, kInput}, 1),
                               drawn({2, gates * kHidden, kInput}, 2),
                               drawn({2, gates * kHidden, kHidden}, 3),
                               drawn({2, 2 * gates * kHidden}, 4),
                               tensor_of(kInt32, {kBatch}, {kLengths[0], kLengths[1]}),
                               drawn({2, kBatch, kHidden}, 5)};
  const std::string op = "rnn{cell = gru, hidden = 2, direction = bidirectional";
  const auto steps_first = evaluate(op + "}", operands, 2);
  for (const int i : {0, 5}) operands[i] = turned(operands[i], "1,0,2");
  const auto samples_first = evaluate(op + ", batch_first = true}", operands, 2);
  EXPECT_EQ(values_of(samples_first.at(0)), values_of(turned(steps_first.at(0), "2,0,1,3")));
  EXPECT_EQ(values_of(samples_first.at(1)), values_of(turned(steps_first.at(1), "1,0,2")));
}

}  // namespace
}  // namespace tenon
