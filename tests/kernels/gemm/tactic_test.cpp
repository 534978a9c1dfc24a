// The matmul tactic over IR problems: batches, broadcasting, transposes and epilogues.
#include "../../tolerances.h"
#include "buffer.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/thread_pool.h"
#include "gtest/gtest.h"
#include "kernels/backend.h"
#include "ops/ops.h"
#include "ops/region.h"

namespace tenon {
namespace {

Tensor random_tensor(Extents extents, std::mt19937& random) {
  Tensor tensor(DataType::kFloat32, std::move(extents));
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (float& x : tensor.mutable_values<float>()) x = uniform(random);
  return tensor;
}

/// Element of `tensor` that an element of the output (its index given per axis) meets, broadcast
/// from the left.
double broadcast_at(const Tensor& tensor, const Extents& at) {
  int64_t index = 0;
  const size_t missing = at.size() - tensor.extents().size();
  for (size_t i = 0; i < tensor.extents().size(); ++i) {
    const int64_t extent = tensor.extents()[i];
    index = index * extent + (extent == 1 ? 0 : at[i + missing]);
  }
  return tensor.as_double(index);
}

struct Case {
  Extents a, b, c;
  bool transpose_a = false, transpose_b = false, constant_b = false;
  Extents operand = {1};  // of the sum behind the product; a clip follows
};

void check(const Case& test) {
  SCOPED_TRACE(testing::Message() << testing::PrintToString(test.a) << " x "
                                  << testing::PrintToString(test.b) << " + "
                                  << testing::PrintToString(test.operand));
  std::mt19937 random(3);
  const Tensor a = random_tensor(test.a, random), b = random_tensor(test.b, random);
  const Tensor term = random_tensor(test.operand, random);
  Graph graph;
  Value* x = graph.add_input("a", {});
  Value* y = test.constant_b ? graph.add_constant(b) : graph.add_input("b", {});
  Value* z = graph.add_input("term", {});
  auto op = std::make_unique<MatMul>();
  op->transpose_a = test.transpose_a, op->transpose_b = test.transpose_b;
  Node* product = graph.add_node(std::move(op), {x, y});
  Node* sub =
      graph.add_node(std::make_unique<Pointwise>(PointwiseFunction::k_sub), {z, product->output()});
  Node* clip = graph.add_node(std::make_unique<Pointwise>(PointwiseFunction::k_clip, -2.0, 1.5),
                              {sub->output()});
  graph.add_output(clip->output());
  const Node* node = make_region(graph, {product, sub, clip});
  Problem problem;
  problem.operation = *node;
  problem.threads = 2;
  std::vector<const void*> inputs;
  for (const Value* value : node->inputs()) {
    const Tensor& tensor = value == x ? a : value == y ? b : term;
    problem.inputs.push_back({.present = true, .extents = tensor.extents()});
    problem.inputs.back().constant = value->constant();
    inputs.push_back(value->constant() != nullptr ? nullptr : tensor.bytes());
  }
  problem.outputs = {{.present = true, .extents = test.c}};
  const Tactic* tactic = nullptr;
  for (const Tactic& row : cpu_tactics())
    if (row.name == "cpu.gemm.packed") tactic = &row;
  ASSERT_NE(tactic, nullptr);
  ASSERT_TRUE(tactic->supports(problem)) << tactic->supports(problem).reason;
  auto kernel = tactic->create(problem, "");
  ASSERT_TRUE(kernel.ok());
  std::vector<float> result(element_count(test.c), std::nanf(""));
  void* output = result.data();
  cpu::AlignedBuffer workspace((*kernel)->workspace_bytes() + 256);
  cpu::ThreadPool pool(2);
  const Status status =
      (*kernel)->run({inputs, {&output, 1}, workspace.data(), Queue{.pool = &pool}});
  ASSERT_TRUE(status.ok());
  const int64_t k = test.a[test.a.size() - (test.transpose_a ? 2 : 1)];
  for (size_t i = 0; i < result.size(); ++i) {
    Extents at(test.c.size());
    int64_t rest = static_cast<int64_t>(i);
    for (size_t axis = test.c.size(); axis-- > 0;)
      at[axis] = rest % test.c[axis], rest /= test.c[axis];
    double sum = 0;
    for (int64_t s = 0; s < k; ++s) {
      Extents left = at, right = at;
      const size_t row = at.size() - 2, column = at.size() - 1;
      left[column] = s, right[row] = s;
      if (test.transpose_a) std::swap(left[row], left[column]);
      if (test.transpose_b) std::swap(right[row], right[column]);
      sum += broadcast_at(a, left) * broadcast_at(b, right);
    }
    const double want = std::min(std::max(broadcast_at(term, at) - sum, -2.0), 1.5);
    ASSERT_NEAR(result[i], want, test::kNear) << "element " << i;
  }
}

TEST(GemmTactic, Broadcasting) {
  check({{5, 7}, {7, 9}, {5, 9}, false, false, true, {9}});
  check({{2, 3, 5, 7}, {7, 9}, {2, 3, 5, 9}, false, false, true, {9}});
  check({{2, 3, 5, 7}, {2, 3, 7, 9}, {2, 3, 5, 9}, false, false, false, {2, 3, 5, 9}});
  check({{2, 3, 5, 7}, {3, 7, 9}, {2, 3, 5, 9}, false, false, false, {2, 1, 1, 9}});
  check({{5, 7}, {4, 7, 9}, {4, 5, 9}, false, false, false, {5, 1}});
  check({{2, 1, 5, 7}, {1, 3, 7, 9}, {2, 3, 5, 9}, false, false, false, {3, 1, 1}});
}

TEST(GemmTactic, TransposesAndOperands) {
  check({{3, 7, 5}, {3, 9, 7}, {3, 5, 9}, true, true, false, {1}});
  check({{3, 7, 5}, {9, 7}, {3, 5, 9}, true, true, true, {3, 5, 9}});
  check({{6, 2, 7}, {7, 9}, {6, 2, 9}, false, false, true, {6, 2, 9}});
  check({{6, 2, 7}, {7, 9}, {6, 2, 9}, false, false, true, {6, 1, 9}});
  check({{6, 2, 7}, {7, 9}, {6, 2, 9}, false, false, true, {2, 1}});
}

}  // namespace
}  // namespace tenon
