// Views of operators whose operands contradict them, as only files that were tampered with have
// them.
#include "kernels/view.h"

#include <gtest/gtest.h>

#include "ops/ops.h"

namespace tenon {
namespace {

struct Case {
  Graph graph;
  Node* node = nullptr;

  Case(std::unique_ptr<Op> op, size_t operands) {
    std::vector<Value*> inputs;
    for (size_t i = 0; i < operands; ++i) inputs.push_back(graph.add_input(std::to_string(i), {}));
    node = graph.add_node(std::move(op), inputs, 1, "node");
  }
  Result<View> view(const Extents& from, const Extents& to, std::vector<const Tensor*> contents) {
    contents.insert(contents.begin(), nullptr);
    return input_view(*node, 0, Operand{.extents = from}, to, contents);
  }
};

Tensor integers(const std::vector<int64_t>& values) {
  Tensor tensor(DataType::kInt64, {std::ssize(values)});
  std::memcpy(tensor.mutable_bytes(), values.data(), values.size() * sizeof(int64_t));
  return tensor;
}

Result<View> slice(int64_t start, int64_t axis, const Extents& to) {
  Case slice(std::make_unique<Slice>(), 4);
  const Tensor starts = integers({start}), axes = integers({axis});
  return slice.view({4, 6}, to, {&starts, nullptr, &axes});
}

TEST(View, OfASlice) {
  const auto view = slice(2, 1, {4, 3});
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->offset, 2);
  EXPECT_EQ(view->strides, (std::vector<int64_t>{6, 1}));
  EXPECT_TRUE(slice(3, -2, {1, 6}).ok());
}

TEST(View, SlicesBeyondTheOperandAreNone) {
  EXPECT_FALSE(slice(0, 2, {4, 6}).ok());
  EXPECT_FALSE(slice(0, -3, {4, 6}).ok());
  EXPECT_FALSE(slice(0, 1, {4, 7}).ok());
  EXPECT_FALSE(slice(2, 1, {4, 5}).ok());
  EXPECT_FALSE(slice(0, 1, {4}).ok());
  EXPECT_FALSE(slice(1, 0, {4, 6}).ok());
}

TEST(View, TransposesOfOtherRanksAreNone) {
  auto op = std::make_unique<Transpose>();
  op->permutation = {1, 0};
  Case transpose(std::move(op), 1);
  EXPECT_TRUE(transpose.view({4, 6}, {6, 4}, {}).ok());
  EXPECT_FALSE(transpose.view({4, 6, 2}, {6, 4, 2}, {}).ok());
  EXPECT_FALSE(transpose.view({4}, {4}, {}).ok());
}

TEST(View, ReshapesOfOtherCountsAreNone) {
  Case reshape(std::make_unique<Reshape>(), 2);
  EXPECT_TRUE(reshape.view({4, 6}, {3, 8}, {}).ok());
  EXPECT_FALSE(reshape.view({4, 6}, {4, 8}, {}).ok());
  EXPECT_FALSE(reshape.view({4, 6}, {4, 0}, {}).ok());
}

TEST(View, ExpansionsToFewerAxesAreNone) {
  Case expand(std::make_unique<Expand>(), 2);
  EXPECT_TRUE(expand.view({6}, {4, 6}, {}).ok());
  EXPECT_FALSE(expand.view({4, 6}, {6}, {}).ok());
}

}  // namespace
}  // namespace tenon
