// The attention that TensorRT's guide lists as one kernel, by GPU, type, size of heads and lengths:
// all of it is one step here, which a kernel of our own takes. The GPUs are described.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/described_device.h"
#include "ir/text.h"
#include "kernels/tactic.h"
#include "ops/ops.h"
#include "ops/structure.h"
#include "ops/table.h"
#include "select/compile.h"
#include "select/cuda/described_gpu.h"

namespace tenon {
namespace {

struct Lengths {
  int64_t queries, keys;
};

/// A row of the tables. `quantized` stands between Quantize and Dequantize, or is empty.
struct Row {
  std::string type, quantized;
  std::vector<int> architectures;
  std::vector<int64_t> heads;
  std::vector<Lengths> lengths;
};

const std::vector<Row> kTable = {
    {"f16", "", {75, 80, 86, 89, 90}, {16, 24, 64, 136, 256}, {{1, 1}, {1, 513}, {100, 2000}}},
    {"bf16", "", {80, 86, 89, 90}, {16, 40, 128, 256}, {{1, 77}, {2000, 100}}},
    {"f16", "i8", {75, 80, 86, 89, 90}, {16, 32, 64}, {{1, 512}, {512, 512}, {100, 77}}},
    {"f32", "i8", {75, 90}, {64}, {{128, 128}}},
    {"f16", "f8e4m3", {89, 90}, {32, 48, 128, 256}, {{1, 64}, {32, 32}, {300, 77}}},
    {"bf16", "f8e4m3", {90}, {64}, {{128, 128}}},
    {"f16", "", {100}, {8, 64, 128}, {{1, 1}, {300, 2000}}},
    {"bf16", "", {100}, {8, 64, 128}, {{1, 1}, {300, 2000}}},
    {"f16", "f8e4m3", {100}, {16, 64, 128}, {{1, 33}, {300, 2000}}},
};

enum class Mask { kNone, kSelect, kVector, kMatrix, kScalar };
enum class Between { kNothing, kSilu, kScaleAndClip };

/// The network of a row, line by line.
class Network {
 public:
  Network(const Row& row, int64_t size, const Lengths& lengths, Mask mask, Between between)
      : row_(row) {
    text_ = fmt::format(
        "(%0 \"q\": {0}[2,4,{1},{3}], %1 \"k\": {0}[2,4,{2},{3}], %2 \"v\": {0}[2,4,{2},{3}], %3 "
        "\"keep\": bool[2,1,{1},{2}], "
        "%4 \"vector\": {0}[2,1,1,{2}], %5 \"matrix\": {0}[4,{1},{2}]) {{\n",
        row.type, lengths.queries, lengths.keys, size);
    std::string scores = op("matmul", rounded("%0") + ", " + rounded("%1"), "transpose_b = true");
    scores = op("mul", scores + ", " + number(0.125));
    if (between == Between::kSilu) scores = op("swish", scores, "alpha = 1");
    if (between == Between::kScaleAndClip)
      scores = op("clip", op("mul", scores + ", " + number(3)), "alpha = -5, beta = 5");
    if (mask == Mask::kSelect) scores = op("where", "%3, " + scores + ", " + number(-65504));
    if (mask == Mask::kVector) scores = op("add", scores + ", %4");
    if (mask == Mask::kMatrix) scores = op("add", scores + ", %5");
    if (mask == Mask::kScalar) scores = op("add", scores + ", " + number(0.5));
    const std::string weights = rounded(op("softmax", scores, "axes = [-1]"));
    text_ += "  return " + op("matmul", weights + ", " + rounded("%2")) + "\n}\n";
  }

  const std::string& text() const { return text_; }

 private:
  std::string op(const std::string& name, const std::string& inputs,
                 const std::string& attributes = "") {
    const std::string result = fmt::format("%{}", next_++);
    const std::string braced = attributes.empty() ? "" : "{" + attributes + "}";
    text_ += fmt::format("  {} = {}({}) {} : f32[]\n", result, name, inputs, braced);
    return result;
  }
  std::string number(double value) {
    return op("constant", "", fmt::format("value = {}[]{{{}}}", row_.type, value));
  }
  /// Quantized and dequantized, where the row is one of those.
  std::string rounded(const std::string& value) {
    if (row_.quantized.empty()) return value;
    const std::string scale = number(0.0078125);
    const std::string bytes = op("quantize", value + ", " + scale, "to = " + row_.quantized);
    return op("dequantize", bytes + ", " + scale, "to = " + row_.type);
  }

  const Row& row_;
  std::string text_;
  int next_ = 6;
};

Result<Plan> plan_of(const std::string& text, const Backend& backend) {
  TENON_ASSIGN(auto graph, parse_graph("graph \"\" " + text));
  TENON_TRY(infer_graph(*graph));  // The types in the text are all equal.
  CompileRequest request;
  request.graph = std::move(graph);
  request.backend = backend;
  request.select.level = 0;
  TimingCache cache;
  NullLogger logger;
  return compile(std::move(request), cache, logger);
}

void expect_one_step(const std::string& text, const Backend& backend) {
  const auto plan = plan_of(text, backend);
  ASSERT_TRUE(plan.ok()) << plan.error().message << "\n" << text;
  const Node* attention = nullptr;
  for (const auto& node : plan->graph->nodes()) {
    EXPECT_FALSE(node->is<Softmax>() || node->is<MatMul>()) << text << print(*plan->graph);
    if (node->is<Attention>()) attention = node.get();
  }
  ASSERT_NE(attention, nullptr) << text << print(*plan->graph);
  EXPECT_EQ(attention->tactic.rfind("cuda.attention.", 0), 0u) << attention->tactic << text;
  const auto concrete = ConcreteGraph::create(*plan->graph, {});
  ASSERT_TRUE(concrete.ok());
  const Problem problem = concrete->problem(*attention, backend, 1);
  std::string reasons;
  for (const char* name :
       {"cuda.attention.hopper", "cuda.attention.flash", "cuda.attention.rows"}) {
    const Support support = backend.find(name)->supports(problem);
    if (support) return;
    reasons += fmt::format("{}: {}\n", name, support.reason);
  }
  ADD_FAILURE() << reasons << text;
}

TEST(AttentionTable, AllOfItIsOneStep) {
  int number = 0;
  for (const Row& row : kTable)
    for (const int architecture : row.architectures) {
      const Backend backend = gpu(architecture);
      for (const int64_t size : row.heads)
        for (const Lengths& lengths : row.lengths) {
          const auto mask = static_cast<Mask>(number % 5);
          const auto between = static_cast<Between>(number++ / 2 % 3);
          SCOPED_TRACE(fmt::format("sm_{} {} {} {}x{}x{}", architecture, row.type, row.quantized,
                                   lengths.queries, lengths.keys, size));
          expect_one_step(Network(row, size, lengths, mask, between).text(), backend);
        }
    }
}

/// Kernels say why not.
TEST(AttentionTable, LimitsGiveReasons) {
  const Row row{"f16", "i8", {}, {}, {}};
  const std::string rounded = Network(row, 64, {64, 64}, Mask::kNone, Between::kNothing).text();
  const std::string plain =
      Network({"f16", "", {}, {}, {}}, 64, {64, 64}, Mask::kNone, Between::kNothing).text();
  const auto reason = [](const std::string& text, int architecture, const char* tactic) {
    const Backend backend = gpu(architecture);
    const auto plan = plan_of(text, backend);
    EXPECT_TRUE(plan.ok());
    if (!plan.ok()) return plan.error().message;
    const auto concrete = ConcreteGraph::create(*plan->graph, {});
    for (const auto& node : plan->graph->nodes())
      if (node->is<Attention>())
        return backend.find(tactic)->supports(concrete->problem(*node, backend, 1)).reason;
    return std::string("no attention");
  };
  EXPECT_EQ(reason(plain, 90, "cuda.attention.hopper"), "");
  EXPECT_EQ(reason(plain, 89, "cuda.attention.hopper"), "its instructions need sm_90");
  EXPECT_EQ(reason(plain, 100, "cuda.attention.hopper"), "its instructions are those of sm_90a");
  EXPECT_EQ(reason(plain, 75, "cuda.attention.flash"), "its instructions need sm_80");
  EXPECT_EQ(reason(rounded, 90, "cuda.attention.hopper"), "weights that are rounded");
  EXPECT_EQ(reason(rounded, 90, "cuda.attention.flash"), "");
}

}  // namespace
}  // namespace tenon
