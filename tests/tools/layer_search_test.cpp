#include "tools/layer_search.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenon::tools {
namespace {

using Layers = std::vector<size_t>;

/// Suffices with all of these layers; counts the questions.
struct Needs {
  Layers needed;
  int questions = 0;

  LayersSuffice asked() {
    return [this](const Layers& kept) -> Result<bool> {
      ++questions;
      EXPECT_TRUE(std::ranges::is_sorted(kept));
      return std::ranges::includes(kept, needed);
    };
  }
};

TEST(LayerSearch, FindsTheNeededLayersAndNoOthers) {
  for (const Layers& needed : {Layers{0}, Layers{63}, Layers{17}, Layers{3, 40}, Layers{5, 6, 7}}) {
    Needs model{needed};
    const auto found = fewest_layers(64, model.asked());
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, needed);
    EXPECT_LE(model.questions, 2 * 6 * static_cast<int>(needed.size()) + 2);
  }
}

TEST(LayerSearch, OfAModelWhereAllAreNeeded) {
  Needs model{{0, 1, 2}};
  EXPECT_EQ(*fewest_layers(3, model.asked()), model.needed);
  Needs single{{0}};
  EXPECT_EQ(*fewest_layers(1, single.asked()), single.needed);
  EXPECT_EQ(single.questions, 0);
}

/// Either of two layers suffices: one of them is found.
TEST(LayerSearch, OfAlternativesTakesOne) {
  const auto found = fewest_layers(16, [](const Layers& kept) -> Result<bool> {
    return std::ranges::count(kept, 4) + std::ranges::count(kept, 9) > 0;
  });
  EXPECT_EQ(found->size(), 1);
  EXPECT_TRUE(found->front() == 4 || found->front() == 9);
}

TEST(LayerSearch, LeadingLayersReachTheLastNeededOne) {
  for (const bool linear : {false, true}) {
    Needs model{{2, 4}};
    EXPECT_EQ(*leading_layers(8, false, linear, model.asked()), (Layers{0, 1, 2, 3, 4}));
    EXPECT_EQ(model.questions, linear ? 5 : 3);
    EXPECT_EQ(*leading_layers(8, true, linear, model.asked()), (Layers{2, 3, 4, 5, 6, 7}));
  }
}

TEST(LayerSearch, AnErrorEndsIt) {
  const auto fails = [](const Layers&) -> Result<bool> { return user_error("no plan"); };
  EXPECT_FALSE(fewest_layers(8, fails).ok());
  EXPECT_FALSE(leading_layers(8, false, false, fails).ok());
}

}  // namespace
}  // namespace tenon::tools
