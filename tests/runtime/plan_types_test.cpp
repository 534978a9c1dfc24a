// A plan is a file: its types must be those of shape inference, and kernels' constants must be
// there.
#include <gtest/gtest.h>

#include "ops/ops.h"
#include "ops/table.h"
#include "plan/packing.h"
#include "plan/plan_file.h"
#include "runtime/context.h"
#include "runtime/engine.h"

namespace tenon {
namespace {

/// y = x + constant over [4], by the reference tactic.
Plan sum_plan(Tensor constant) {
  Plan plan;
  plan.device = DeviceKind::kCpu;
  plan.architecture = cpu_backend(1).device->properties().architecture;
  plan.graph = std::make_unique<Graph>();
  Value* x = plan.graph->add_input("x", {DataType::kFloat32, {4}});
  Node* b = plan.graph->add_node(std::make_unique<Constant>(), {}, 1, "b");
  b->as<Constant>()->value = std::move(constant);
  b->output()->name = "b";
  Node* sum = plan.graph->add_node(std::make_unique<Pointwise>(PointwiseFunction::k_add),
                                   {x, b->output()}, 1, "sum");
  sum->output()->name = "y";
  sum->tactic = "cpu.reference";
  plan.graph->add_output(sum->output());
  EXPECT_TRUE(infer_graph(*plan.graph).ok());
  plan.profiles = {{{"x", {{4}, {4}, {4}}}}};
  return plan;
}

Tensor four() {
  Tensor tensor(DataType::kFloat32, {4});
  for (int i = 0; i < 4; ++i) tensor.set_from_double(i, i);
  return tensor;
}

/// The outcome of reading the written plan.
std::string complaint(const Plan& plan) {
  const auto bytes = write_plan(plan);
  if (!bytes.ok()) return bytes.error().message;
  const auto read = read_plan(*bytes, nullptr);
  return read.ok() ? "" : read.error().message;
}

TEST(PlanTypes, AreThoseOfInference) {
  EXPECT_EQ(complaint(sum_plan(four())), "");
}

TEST(PlanTypes, OtherExtentsAreRefused) {
  const Plan plan = sum_plan(four());
  plan.graph->outputs()[0]->type.shape = {8};
  EXPECT_EQ(complaint(plan),
            "the plan is damaged: value 'y' is f32[4], not f32[8]; build it again");
}

TEST(PlanTypes, OtherElementsAreRefused) {
  const Plan plan = sum_plan(four());
  plan.graph->outputs()[0]->type.type = DataType::kFloat16;
  EXPECT_EQ(complaint(plan),
            "the plan is damaged: value 'y' is f32[4], not f16[4]; build it again");
}

TEST(PlanTypes, OperandsThatDoNotFitAreRefused) {
  const Plan plan = sum_plan(four());
  plan.graph->inputs()[0]->type.shape = {3};
  EXPECT_NE(complaint(plan).find("do not broadcast"), std::string::npos) << complaint(plan);
}

/// Contents may be gone, packed by a kernel or stripped; the type is kept.
TEST(PlanTypes, ScalarsWithoutContentsKeepTheirType) {
  const Plan plan = sum_plan({DataType::kFloat32, {}, nullptr, nullptr});
  Node& sum = *plan.graph->outputs()[0]->producer();
  sum.op = std::make_unique<Quantize>();
  Node* zero = plan.graph->add_node(std::make_unique<Constant>(), {}, 1, "zero");
  zero->as<Constant>()->value = Tensor(DataType::kUInt8, {}, nullptr, nullptr);
  sum.append_input(zero->output());
  ASSERT_TRUE(plan.graph->sort().ok() && infer_graph(*plan.graph).ok());
  EXPECT_EQ(plan.graph->outputs()[0]->type.type, DataType::kUInt8);
  EXPECT_EQ(complaint(plan), "");
}

/// Of a plan without contents that a kernel needs.
void expect_incomplete(Plan plan) {
  const auto engine = Engine::create(std::move(plan), cpu_backend(1));
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const auto context = Context::create(*engine, 1);
  ASSERT_TRUE(context.ok()) << context.error().message;
  const Status status = (*context)->prepare();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("build it again"), std::string::npos)
      << status.error().message;
}

TEST(PlanTypes, ConstantsThatKernelsReadMustBeThere) {
  const auto bytes = write_plan(sum_plan(Tensor(DataType::kFloat32, {4}, nullptr, nullptr)));
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  auto plan = read_plan(*bytes, nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  expect_incomplete(std::move(*plan));
}

TEST(PlanTypes, ExtentsThatNoMemoryHoldsAreRefused) {
  const Plan plan = sum_plan(four());
  Node& b = *plan.graph->nodes()[0];
  b.as<Constant>()->value = Tensor(DataType::kFloat32, {int64_t{1} << 61}, nullptr, nullptr);
  EXPECT_EQ(complaint(plan),
            "the plan is damaged: a tensor has impossible extents; build it again");
}

/// y = round of x to i8 by a scale that the plan leaves out, by a kernel that looks at it first.
TEST(PlanTypes, ConstantsThatKernelsLookAtMustBeThere) {
  Plan plan = sum_plan(Tensor(DataType::kFloat32, {}, nullptr, nullptr));
  Node* sum = plan.graph->outputs()[0]->producer();
  sum->op = std::make_unique<Quantize>();
  sum->tactic = "cpu.pointwise.blocks";
  ASSERT_TRUE(infer_graph(*plan.graph).ok());
  expect_incomplete(std::move(plan));
}

TEST(PlanTypes, WeightsThatOtherKernelsPackedAreRefused) {
  Plan plan = sum_plan(four());
  Node* sum = plan.graph->outputs()[0]->producer();
  sum->tactic = "cpu.gemm.packed";
  sum->packed = Tensor(DataType::kUInt8, {64});
  const Backend backend = cpu_backend(1);
  const std::string here = packing_of(*plan.graph, backend);
  EXPECT_TRUE(here.starts_with("cpu.gemm.packed=")) << here;
  const auto load = [&](const std::string& packing) {
    Plan copy = sum_plan(four());
    Node* node = copy.graph->outputs()[0]->producer();
    node->tactic = sum->tactic;
    node->packed = sum->packed;
    if (!packing.empty()) copy.settings[kPackingSetting] = packing;
    const auto engine = Engine::create(std::move(copy), cpu_backend(1));
    return engine.ok() ? std::string() : engine.error().message;
  };
  EXPECT_EQ(load(here), "");
  for (const char* other : {"", "cpu.gemm.packed=0", "cpu.gemm.unheard_of=1"})
    EXPECT_NE(load(other).find("another version of this library"), std::string::npos) << other;
}

}  // namespace
}  // namespace tenon
