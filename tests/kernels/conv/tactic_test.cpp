// The convolution tactics over IR problems: descriptions by describe_convolution of nodes, regions,
// layouts and operands.
#include "device/cpu/aligned_buffer.h"
#include "kernels/backend.h"
#include "kernels/conv/direct.h"
#include "kernels/conv/reference.h"
#include "ops/ops.h"
#include "ops/region.h"

namespace tenon {
namespace {

using cpu::Buffer;
using cpu::conv2d;
using cpu::ConvCase;
using cpu::ConvProblem;

Tensor tensor_of(const Buffer& buffer, Extents extents) {
  Tensor tensor(DataType::kFloat32, std::move(extents));
  std::memcpy(tensor.mutable_bytes(), buffer.bytes.data(), tensor.byte_count());
  return tensor;
}

/// A 2-D convolution of `ConvCase` with bias, residual and relu as a region.
struct Region {
  ConvCase test;
  Graph graph;
  Node* node = nullptr;
  Tensor weights, bias;
  Problem problem;

  explicit Region(const ConvProblem& p) : test(p, 2) {
    const ConvProblem& c = test.problem;
    const Extents kernel = {c.transposed ? c.input_channels : c.output_channels,
                            (c.transposed ? c.output_channels : c.input_channels) / c.groups,
                            c.kernel[1], c.kernel[2]};
    weights = tensor_of(test.weights, kernel);
    bias = tensor_of(test.step_buffers[0], {c.output_channels});
    Value* x = graph.add_input("x", {});
    Value* residual = graph.add_input("residual", {});
    Value* w = graph.add_constant(weights);
    Value* b = graph.add_constant(bias);
    Node* conv = graph.add_node(op(), {x, w, b});
    Node* add = graph.add_node(std::make_unique<Pointwise>(PointwiseFunction::k_add),
                               {residual, conv->output()});
    Node* relu =
        graph.add_node(std::make_unique<Pointwise>(PointwiseFunction::k_relu), {add->output()});
    graph.add_output(relu->output());
    node = make_region(graph, {conv, add, relu});
    make_problem();
  }

  template <class O> std::unique_ptr<Op> filled(std::unique_ptr<O> made) const {
    const ConvProblem& c = test.problem;
    made->strides = {c.stride[1], c.stride[2]};
    made->dilations = {c.dilation[1], c.dilation[2]};
    made->pads_begin = {c.pad[1], c.pad[2]};
    made->groups = c.groups;
    return made;
  }
  std::unique_ptr<Op> op() const {
    if (test.problem.transposed) return filled(std::make_unique<Deconv>());
    return filled(std::make_unique<Conv>());
  }

  void make_problem() {
    const ConvProblem& c = test.problem;
    const Extents in = {c.batch, c.input_channels, c.input[1], c.input[2]};
    const Extents out = {c.batch, c.output_channels, c.output[1], c.output[2]};
    problem.operation = *node;
    for (Value* value : node->inputs()) {
      Operand operand{.present = true, .layout = Layout::kChannelsLast};
      if (value->constant() != nullptr) {
        operand.constant = value->constant();
        operand.extents = operand.constant->extents();
        operand.layout = Layout::kRowMajor;
      } else {
        operand.extents = value->name == "x" ? in : out;
        if (value->name == "x" && c.channels_first_input) operand.layout = Layout::kRowMajor;
      }
      problem.inputs.push_back(operand);
    }
    problem.outputs = {{.present = true, .extents = out, .layout = Layout::kChannelsLast}};
    problem.threads = 2;
  }

  /// Names of the tactics that took it, each checked against the exact result.
  std::vector<std::string> run_all() {
    std::vector<std::string> names;
    for (const Tactic& tactic : cpu_tactics()) {
      if (!tactic.name.starts_with("cpu.conv.") || !tactic.supports(problem)) continue;
      SCOPED_TRACE(std::string(tactic.name));
      // Depends on the machine.
      if (tactic.name != "cpu.conv.tiles") names.emplace_back(tactic.name);
      auto kernel = tactic.create(problem, tactic.configs(problem)[0]);
      EXPECT_TRUE(kernel.ok());
      if (kernel.ok()) run(**kernel);
    }
    return names;
  }

  void run(const Kernel& kernel) {
    std::vector<const void*> inputs;
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      const Value* value = node->input(static_cast<int>(i));
      const void* data = value->constant()    ? value->constant()->bytes()
                         : value->name == "x" ? static_cast<const void*>(test.input.bytes.data())
                                              : test.step_buffers[1].bytes.data();
      inputs.push_back(kernel.uses_input(static_cast<int>(i)) ? data : nullptr);
    }
    Buffer result = Buffer::poisoned(cpu::ElementType::f32, test.output_count());
    void* output = result.bytes.data();
    cpu::AlignedBuffer workspace(kernel.workspace_bytes() + 256);
    cpu::ThreadPool pool(2);
    const Status status =
        kernel.run({inputs, {&output, 1}, workspace.data(), Queue{.pool = &pool}});
    ASSERT_TRUE(status.ok());
    test.check(result, 2e-5);
  }
};

using Names = std::vector<std::string>;

TEST(ConvTactics, DenseConvolution) {
  EXPECT_EQ(
      Region(conv2d(8, 12, 9, 3, 1, 1)).run_all(),
      (Names{"cpu.conv.winograd4", "cpu.conv.winograd2", "cpu.conv.windows", "cpu.conv.direct"}));
  EXPECT_EQ(
      Region(conv2d(8, 12, 9, 3, 1, 2, 1, 2)).run_all(),
      (Names{"cpu.conv.winograd4", "cpu.conv.winograd2", "cpu.conv.windows", "cpu.conv.direct"}));
}

TEST(ConvTactics, GroupsOfChannels) {
  EXPECT_EQ(Region(conv2d(8, 12, 9, 3, 2, 1, 2)).run_all(),
            (Names{"cpu.conv.grouped", "cpu.conv.direct"}));
  EXPECT_EQ(
      Region(conv2d(16, 24, 9, 3, 1, 1, 2)).run_all(),
      (Names{"cpu.conv.grouped", "cpu.conv.winograd4", "cpu.conv.winograd2", "cpu.conv.direct"}));
}

TEST(ConvTactics, ManyChannelsOrStride) {
  if (cpu::detected_isa() < cpu::Isa::avx512) GTEST_SKIP() << "this machine has no AVX-512";
  EXPECT_EQ(Region(conv2d(192, 192, 5, 3, 1, 1)).run_all(),
            (Names{"cpu.conv.mixed_winograd", "cpu.conv.direct"}));
  EXPECT_EQ(Region(conv2d(190, 192, 17, 3, 1, 1)).run_all(),
            (Names{"cpu.conv.mixed_winograd", "cpu.conv.winograd4", "cpu.conv.winograd2",
                   "cpu.conv.direct"}));
  EXPECT_EQ(Region(conv2d(8, 12, 9, 3, 2, 1)).run_all(),
            (Names{"cpu.conv.mixed_winograd", "cpu.conv.windows", "cpu.conv.direct"}));
  EXPECT_EQ(Region(conv2d(192, 192, 7, 3, 1, 2, 1, 2)).run_all(),
            (Names{"cpu.conv.winograd4", "cpu.conv.winograd2", "cpu.conv.direct"}));
  EXPECT_EQ(Region(conv2d(8, 12, 9, 3, 2, 2, 1, 2)).run_all(),
            (Names{"cpu.conv.windows", "cpu.conv.direct"}));
}

TEST(ConvTactics, DepthwiseConvolution) {
  EXPECT_EQ(Region(conv2d(20, 20, 9, 3, 1, 1, 20)).run_all(),
            (Names{"cpu.conv.depthwise", "cpu.conv.direct"}));
}

TEST(ConvTactics, ChannelsFirstInput) {
  ConvProblem p = conv2d(3, 12, 9, 3, 2, 1);
  p.channels_first_input = true;
  EXPECT_EQ(Region(p).run_all(), (Names{"cpu.conv.stem", "cpu.conv.direct"}));
}

TEST(ConvTactics, TransposedConvolution) {
  ConvProblem p = conv2d(6, 8, 5, 2, 2);
  p.transposed = true;
  for (int i = 1; i < 3; ++i) p.output[i] = p.input[i] * 2;
  EXPECT_EQ(Region(p).run_all(), Names{"cpu.conv.direct"});
}

TEST(ConvTactics, WinogradCanBeForbidden) {
  Region region(conv2d(8, 12, 9, 3, 1, 1));
  region.problem.numerics.winograd = false;
  EXPECT_EQ(region.run_all(), (Names{"cpu.conv.windows", "cpu.conv.direct"}));
}

// A plan for several batches keeps its tactic under the one with the fewest tiles.
TEST(ConvTactics, TransformedWeightsOfAPlanServeFewTilesToo) {
  if (cpu::detected_isa() < cpu::Isa::avx512) GTEST_SKIP() << "this machine has no AVX-512";
  Region region(conv2d(192, 192, 5, 3, 1, 1));
  const std::byte packed[64] = {};
  region.problem.packed = packed;
  EXPECT_EQ(region.run_all(), (Names{"cpu.conv.mixed_winograd", "cpu.conv.winograd4",
                                     "cpu.conv.winograd2", "cpu.conv.direct"}));
}

TEST(ConvTactics, RefusesRowMajorOutputs) {
  Region region(conv2d(8, 12, 9, 3, 1, 1));
  region.problem.outputs[0].layout = Layout::kRowMajor;
  EXPECT_TRUE(region.run_all().empty());
}

}  // namespace
}  // namespace tenon
