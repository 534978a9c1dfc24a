// The entries of an editable timing cache.
#include "select/operation_cache.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(OperationCache, AChangedChoiceKeepsAllElse) {
  TimingCache cache;
  cache.insert("a time", 0.5);
  cache.insert_note("a note", 3);
  const std::vector<Candidate> candidates = {{.tactic = "first", .milliseconds = 1},
                                             {.tactic = "second", .milliseconds = 2}};
  EXPECT_EQ(remember_operation(cache, "layer", "key", candidates, "first", nullptr), "first");
  const std::string id = operation_id("layer", "key");
  EXPECT_FALSE(choose_tactic(cache, id, tactic_hash("third"), 1));
  ASSERT_TRUE(choose_tactic(cache, id, tactic_hash("second"), 2));
  EXPECT_EQ(remember_operation(cache, "layer", "key", candidates, "first", nullptr), "second");
  EXPECT_EQ(cache.find("a time"), 0.5);
  // Builds that may measure nothing need the spreads of sequences too.
  EXPECT_EQ(cache.find_note("a note"), 3);
  ASSERT_EQ(operations_of(cache).size(), 1U);
  EXPECT_EQ(operations_of(cache)[0].tactic, "second");
}

}  // namespace
}  // namespace tenon
