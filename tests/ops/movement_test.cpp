#include "node_harness.h"

namespace tenon::test {
namespace {

TEST(Movement, TransposeAndSlice) {
  Transpose op;
  op.permutation = {1, 0};
  expect_floats(run(op, {ramp({2, 3})})[0], {0, 3, 1, 4, 2, 5});
  expect_floats(run(Slice(), {ramp({2, 4}), ints({-1}), ints({-100}), ints({1}), ints({-2})})[0],
                {3, 1, 7, 5});
  EXPECT_EQ(run(Slice(), {ramp({2, 4}), ints({5}), ints({9}), ints({1})})[0].count(), 0);
}

TEST(Movement, PadModes) {
  Pad op;
  const Tensor x = ramp({3}, 1);
  expect_floats(run(op, {x, ints({1, 2})})[0], {0, 1, 2, 3, 0, 0});
  expect_floats(run(op, {x, ints({-1, 1}), Tensor::scalar_f32(9)})[0], {2, 3, 9});
  op.fill = PadFill::kReflect;
  expect_floats(run(op, {x, ints({2, 2})})[0], {3, 2, 1, 2, 3, 2, 1});
  op.fill = PadFill::kEdge;
  expect_floats(run(op, {x, ints({1, 1})})[0], {1, 1, 2, 3, 3});
  op.fill = PadFill::kWrap;
  expect_floats(run(op, {x, ints({2, 1})})[0], {2, 3, 1, 2, 3, 1});
}

/// Borders repeat the part of x that negative ones leave.
TEST(Movement, PadModesBesideCrops) {
  Pad op;
  const Tensor x = ramp({4}, 1);
  op.fill = PadFill::kWrap;
  expect_floats(run(op, {x, ints({2, -1})})[0], {2, 3, 1, 2, 3});
  expect_floats(run(op, {x, ints({-1, 2})})[0], {2, 3, 4, 2, 3});
  op.fill = PadFill::kReflect;
  expect_floats(run(op, {x, ints({3, -2})})[0], {2, 1, 2, 1, 2});
  op.fill = PadFill::kEdge;
  expect_floats(run(op, {x, ints({-2, 1})})[0], {3, 4, 4});
  EXPECT_NE(error_of(op, {x, ints({-4, 1})}).find("empty axis"), std::string::npos);
}

TEST(Movement, GatherAndScatter) {
  Gather gather;
  gather.axis = 1;
  expect_floats(run(gather, {ramp({2, 3}), ints({-1, 0})})[0], {2, 0, 5, 3});
  EXPECT_NE(error_of(Gather(), {ramp({2}), ints({2})}).find("index 2"), std::string::npos);
  ScatterNd scatter;
  scatter.reduction = ScatterReduction::kAdd;
  const Tensor where = Tensor::of<int64_t>(DataType::kInt64, {2, 1}, std::vector<int64_t>{1, 1});
  expect_floats(run(scatter, {ramp({3}), where, floats({2}, {10, 20})})[0], {0, 31, 2});
}

TEST(Movement, TileConcatSplit) {
  expect_floats(run(Tile(), {ramp({2}), ints({2})})[0], {0, 1, 0, 1});
  Concat concat;
  concat.axis = 1;
  expect_floats(run(concat, {ramp({2, 1}), ramp({2, 2}, 5)})[0], {0, 5, 6, 1, 7, 8});
  const auto parts = run(Split(), {ramp({5})}, 2);
  expect_floats(parts[0], {0, 1, 2});
  expect_floats(parts[1], {3, 4});
}

TEST(Movement, UniqueInBothOrders) {
  Unique op;
  auto found = run(op, {floats({5}, {2, 1, 1, 3, 2})}, 4);
  expect_floats(found[0], {1, 2, 3});
  EXPECT_EQ(found[2].to_int64s(), (std::vector<int64_t>{1, 0, 0, 2, 1}));
  op.sorted = false;
  found = run(op, {floats({5}, {2, 1, 1, 3, 2})}, 4);
  expect_floats(found[0], {2, 1, 3});
  EXPECT_EQ(found[1].to_int64s(), (std::vector<int64_t>{0, 1, 3}));
  EXPECT_EQ(found[3].to_int64s(), (std::vector<int64_t>{2, 2, 1}));
}

TEST(Movement, BlocksUndoEachOther) {
  DepthToSpace to_space;
  to_space.block = 2;
  SpaceToDepth to_depth;
  to_depth.block = 2;
  const Tensor x = ramp({1, 8, 2, 3});
  EXPECT_TRUE(run(to_depth, {run(to_space, {x})[0]})[0] == x);
}

}  // namespace
}  // namespace tenon::test
