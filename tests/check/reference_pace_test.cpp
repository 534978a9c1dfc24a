// How much longer an evaluation takes, by the pace of the nodes that were evaluated.
#include "check/reference_pace.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace tenon {
namespace {

TEST(ReferencePace, NodesAheadFollowThoseBehind) {
  std::array<Node, 4> nodes;
  std::vector<double> told;
  ReferencePace pace([&](double left) { told.push_back(left); });
  for (const Node& node : nodes) pace.expect(node, {.operations = 1e6});
  pace.begin();
  for (size_t i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pace.did(nodes[i]);
  }
  ASSERT_EQ(told.size(), 2U);
  EXPECT_GT(told[0], 0.14);
  EXPECT_GT(told[1], 0.09);
  EXPECT_LT(told[1], told[0]);
  pace.did(nodes[1]);  // Again.
  EXPECT_EQ(told.size(), 2U);
  pace.did(nodes[2]);
  pace.did(nodes[3]);
  EXPECT_EQ(told.back(), 0);
}

}  // namespace
}  // namespace tenon
