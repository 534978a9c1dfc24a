#include "base/pointer_map.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tenon {
namespace {

TEST(PointerMap, HoldsNothingAtFirst) {
  const int key = 0;
  const PointerMap<int, std::string> map;
  EXPECT_EQ(map.size(), 0U);
  EXPECT_FALSE(map.contains(&key));
  EXPECT_TRUE(map.find(&key) == map.end());
  EXPECT_THROW(static_cast<void>(map.at(&key)), std::out_of_range);
}

TEST(PointerMap, FindsEachOfManyKeysAndNoOther) {
  const std::vector<int> keys(3000);
  PointerMap<int, size_t> map;
  for (size_t i = 0; i < keys.size(); i += 2) EXPECT_TRUE(map.try_emplace(&keys[i], i).second);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(map.contains(&keys[i]), i % 2 == 0) << i;
    if (map.contains(&keys[i])) {
      ASSERT_EQ(map.at(&keys[i]), i);
    }
  }
  EXPECT_EQ(map.size(), keys.size() / 2);
}

TEST(PointerMap, KeepsTheFirstValueOfAKey) {
  const int keys[2] = {};
  PointerMap<int, std::string> map;
  map[&keys[0]] = "first";
  const auto [entry, is_new] = map.try_emplace(&keys[0], "second");
  EXPECT_FALSE(is_new);
  EXPECT_EQ(entry->second, "first");
  map.find(&keys[0])->second = "third";
  EXPECT_EQ(map.at(&keys[0]), "third");
  EXPECT_FALSE(map.contains(&keys[1]));
}

TEST(PointerMap, ReservedRoomKeepsEntriesAndTheirOrder) {
  const std::vector<int> keys(40);
  PointerMap<int, int> map;
  map.try_emplace(&keys[7], 7);
  map.reserve(keys.size());
  const auto* const first = &*map.begin();
  for (size_t i = 0; i < keys.size(); ++i) map.try_emplace(&keys[i], static_cast<int>(i));
  EXPECT_EQ(&*map.begin(), first);
  EXPECT_EQ(map.begin()->second, 7);
  EXPECT_EQ((map.begin() + 1)->second, 0);
}

}  // namespace
}  // namespace tenon
