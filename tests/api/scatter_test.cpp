// Scatters that combine (tenon/scatter.h).
#include <tenon/scatter.h>

#include "harness.h"

namespace api_test {
namespace {

using F = std::vector<float>;
using tenon::ScatterUpdate;

/// Updates {2, 3, 4} at places 0, 2 and 0 of {10, 20, 30}.
F scattered(ScatterMode mode, ScatterUpdate update) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {3});
  const bool by_elements = mode == ScatterMode::kELEMENT;
  ITensor* places =
      by_elements ? session.constant64({3}, {0, 2, 0}) : session.constant64({3, 1}, {0, 2, 0});
  IScatterLayer* layer =
      session.network->addScatter(*x, *places, *session.constant({3}, {2, 3, 4}), mode);
  EXPECT_TRUE(tenon::setScatterUpdate(*layer, update));
  session.output(layer->getOutput(0), "y");
  return session.run({{"x", floats({3}, {10, 20, 30})}})["y"].values<float>();
}

TEST(Scatter, UpdatesCombineWithOldValues) {
  for (const ScatterMode mode : {ScatterMode::kELEMENT, ScatterMode::kND}) {
    EXPECT_EQ(scattered(mode, ScatterUpdate::kADD), (F{16, 20, 33}));
    EXPECT_EQ(scattered(mode, ScatterUpdate::kMULTIPLY), (F{80, 20, 90}));
    EXPECT_EQ(scattered(mode, ScatterUpdate::kMIN), (F{2, 20, 3}));
    EXPECT_EQ(scattered(mode, ScatterUpdate::kMAX), (F{10, 20, 30}));
  }
}

TEST(Scatter, OtherUpdatesAreRefused) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {3});
  IScatterLayer* layer = session.network->addScatter(*x, *session.constant64({1, 1}, {0}),
                                                     *session.constant({1}, {2}), ScatterMode::kND);
  EXPECT_FALSE(tenon::setScatterUpdate(*layer, static_cast<ScatterUpdate>(5)));
  EXPECT_FALSE(tenon::setScatterUpdate(*layer, static_cast<ScatterUpdate>(-1)));
}

}  // namespace
}  // namespace api_test
