// Recurrent layers as one layer each (tenon/recurrence.h).
#include <tenon/recurrence.h>

#include <cmath>

#include "harness.h"

namespace api_test {
namespace {

using F = std::vector<float>;
using tenon::RecurrentCell;

/// One number a step, a state of one number, and weights of one: y = relu(x + h), from h = 0.
struct Sums : Session {
  explicit Sums(int64_t directions = 1)
      : x(input("x", DataType::kFLOAT, {3, 1, 1})),
        ones(constant({directions, 1, 1}, F(static_cast<size_t>(directions), 1))),
        biases(constant({directions, 2}, F(static_cast<size_t>(2 * directions), 0))) {}
  ILayer* add(RecurrentCell cell, const std::vector<ITensor*>& operands) {
    return tenon::addRecurrence(*network, cell, operands.data(),
                                static_cast<int32_t>(operands.size()));
  }
  ITensor *x, *ones, *biases;
};

TEST(Recurrence, CarriesItsState) {
  Sums session;
  ILayer* layer =
      session.add(RecurrentCell::kRELU, {session.x, session.ones, session.ones, session.biases});
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(layer->getNbOutputs(), 2);
  session.output(layer->getOutput(0), "y");
  session.output(layer->getOutput(1), "last");
  Arrays got = session.run({{"x", floats({3, 1, 1}, {1, 2, -5})}});
  EXPECT_EQ(got["y"].values<float>(), (F{1, 3, 0}));
  EXPECT_EQ(got["last"].values<float>(), (F{0}));
}

TEST(Recurrence, GoesBothWaysFromFirstStates) {
  Sums session(2);
  ILayer* layer =
      session.add(RecurrentCell::kRELU, {session.x, session.ones, session.ones, session.biases,
                                         session.constant({2, 1, 1}, {10, 100})});
  ASSERT_NE(layer, nullptr);
  session.output(layer->getOutput(0), "y");
  EXPECT_EQ(session.run({{"x", floats({3, 1, 1}, {1, 2, 3})}})["y"].values<float>(),
            (F{11, 106, 13, 105, 16, 103}));
}

TEST(Recurrence, CellsOfAnLstmAreAnOutput) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 1, 1});
  // Gates of input, output, forget and cell: sigmoid(0) but for the cell's, which is tanh(x).
  ITensor* operands[] = {x,
                         session.constant({1, 4, 1}, {0, 0, 0, 1}),
                         session.constant({1, 4, 1}, F(4, 0)),
                         session.constant({1, 8}, F(8, 0)),
                         session.constant({1, 1, 1}, {0}),
                         session.constant({1, 1, 1}, {4})};
  ILayer* layer = tenon::addRecurrence(*session.network, RecurrentCell::kLSTM, operands, 6);
  ASSERT_NE(layer, nullptr);
  ASSERT_EQ(layer->getNbOutputs(), 3);
  session.output(layer->getOutput(2), "cell");
  const Array cell = session.run({{"x", floats({1, 1, 1}, {0.5F})}})["cell"];
  EXPECT_NEAR(cell.values<float>()[0], 0.5F * 4 + 0.5F * std::tanh(0.5F), kNear);
}

TEST(Recurrence, OtherOperandsAreRefused) {
  Sums session;
  EXPECT_EQ(session.add(RecurrentCell::kRELU, {session.x, session.ones}), nullptr);
  EXPECT_TRUE(session.log.complained("addRecurrence requires four operands"));
  EXPECT_EQ(session.add(static_cast<RecurrentCell>(9),
                        {session.x, session.ones, session.ones, session.biases}),
            nullptr);
  EXPECT_EQ(session.add(RecurrentCell::kLSTM, {session.x, session.ones, session.ones, nullptr}),
            nullptr);
  EXPECT_EQ(tenon::addRecurrence(*session.network, RecurrentCell::kGRU, nullptr, 4), nullptr);
  ITensor* three = session.constant({3, 1, 1}, F(3, 1));
  ILayer* layer =
      session.add(RecurrentCell::kTANH, {session.x, three, session.ones, session.biases});
  if (layer != nullptr) session.output(layer->getOutput(0), "y");
  EXPECT_EQ(session.builder->buildSerializedNetwork(*session.network, *session.config), nullptr);
  EXPECT_TRUE(session.log.complained("one direction or two"));
}

}  // namespace
}  // namespace api_test
