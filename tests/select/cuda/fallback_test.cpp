// No fallback kernel runs attention or a product, in any form, type or place: bound to the
// network's inputs and outputs or not, on CPUs as on described GPUs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "device/described_device.h"
#include "ir/text.h"
#include "kernels/backend.h"
#include "ops/ops.h"
#include "ops/structure.h"
#include "ops/table.h"
#include "select/compile.h"
#include "select/cuda/described_gpu.h"
#include "select/fit_regions.h"

namespace tenon {
namespace {

/// A network's text, line by line. Types of results are inferred.
class Writer {
 public:
  explicit Writer(std::string inputs) : text_("graph \"\" (" + inputs + ") {\n") {}
  std::string op(const std::string& call, const std::string& attributes = "") {
    const std::string result = fmt::format("%{}", next_++);
    text_ += fmt::format("  {} = {} {} : f32[]\n", result, call,
                         attributes.empty() ? "" : "{" + attributes + "}");
    return result;
  }
  std::string constant(const std::string& value) { return op("constant()", "value = " + value); }
  std::string finish(const std::string& result) { return text_ + "  return " + result + "\n}\n"; }

 private:
  std::string text_;
  int next_ = 20;
};

struct AttentionForm {
  std::string type;
  bool widened = false;     ///< Both products accumulate in f32 by casts.
  bool heads_last = false;  ///< [B,S,heads,size] behind transposes, else bound as they are.
  bool transposed = false;  ///< Keys are transposed by an operator.
  int mask = 0;             ///< None, added, chosen.
  int64_t size = 64, queries = 40, keys = 40;
};

std::string text_of(const AttentionForm& f) {
  const auto shape = [&](int64_t length) {
    return f.heads_last ? fmt::format("2,{},4,{}", length, f.size)
                        : fmt::format("2,4,{},{}", length, f.size);
  };
  Writer w(
      fmt::format("%0 \"q\": {0}[{1}], %1 \"k\": {0}[{2}], %2 \"v\": {0}[{2}], %3 \"keep\": "
                  "bool[2,1,{3},{4}], %4 \"mask\": {0}[2,1,{3},{4}]",
                  f.type, shape(f.queries), shape(f.keys), f.queries, f.keys));
  std::string q = "%0", k = "%1", v = "%2", mask = "%4";
  if (f.heads_last)
    for (std::string* value : {&q, &k, &v})
      *value = w.op("transpose(" + *value + ")", "permutation = [0, 2, 1, 3]");
  const std::string type = f.widened ? "f32" : f.type;
  if (f.widened)
    for (std::string* value : {&q, &k, &v, &mask})
      *value = w.op("cast(" + *value + ")", "to = f32");
  if (f.transposed) k = w.op("transpose(" + k + ")", "permutation = [0, 1, 3, 2]");
  std::string scores =
      w.op(fmt::format("matmul({}, {})", q, k), f.transposed ? "" : "transpose_b = true");
  scores = w.op(fmt::format("mul({}, {})", scores, w.constant(type + "[]{0.125}")));
  if (f.mask == 1) scores = w.op(fmt::format("add({}, {})", scores, mask));
  if (f.mask == 2)
    scores = w.op(fmt::format("where(%3, {}, {})", scores, w.constant(type + "[]{-10000}")));
  const std::string weights = w.op("softmax(" + scores + ")", "axes = [-1]");
  std::string y = w.op(fmt::format("matmul({}, {})", weights, v));
  if (f.widened) y = w.op("cast(" + y + ")", "to = " + f.type);
  if (f.heads_last) y = w.op("transpose(" + y + ")", "permutation = [0, 2, 1, 3]");
  return w.finish(y);
}

struct ProductForm {
  std::string type;
  bool turned_a = false, turned_b = false;
  bool widened = false;
  int behind = 0;  ///< Nothing, a sum, a sum and an activation, a value used twice, a wider result.
  std::string batch;
  int64_t m = 24, n = 32, k = 16;
};

std::string text_of(const ProductForm& f) {
  Writer w(fmt::format("%0 \"a\": {0}[{1}{2},{3}], %1 \"b\": {0}[{1}{4},{5}], %2 \"c\": {0}[{6}]",
                       f.type, f.batch, f.turned_a ? f.k : f.m, f.turned_a ? f.m : f.k,
                       f.turned_b ? f.n : f.k, f.turned_b ? f.k : f.n, f.n));
  std::string a = "%0", b = "%1", c = "%2";
  if (f.widened)
    for (std::string* value : {&a, &b, &c}) *value = w.op("cast(" + *value + ")", "to = f32");
  std::string y = w.op(fmt::format("matmul({}, {})", a, b),
                       fmt::format("transpose_a = {}, transpose_b = {}", f.turned_a, f.turned_b));
  if (f.behind == 1 || f.behind == 2) y = w.op(fmt::format("add({}, {})", y, c));
  if (f.behind == 2) y = w.op("gelu_erf(" + y + ")");
  if (f.behind == 3) y = w.op(fmt::format("add({}, {})", y, w.op("tanh(" + y + ")")));
  if (f.behind == 4) y = w.op("cast(" + y + ")", "to = f32");
  if (f.widened && f.behind != 4) y = w.op("cast(" + y + ")", "to = " + f.type);
  return w.finish(y);
}

/// Compiles without a device to time on, and looks at each step's tactic.
void expect_real_kernels(const std::string& text, const Backend& backend) {
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().message << text;
  ASSERT_TRUE(infer_graph(**graph).ok()) << text;
  CompileRequest request;
  request.graph = std::move(*graph);
  request.backend = backend;
  request.passes = pass_options_for(*backend.device);
  request.select.level = 0;
  request.select.threads = 1;
  TimingCache cache;
  NullLogger logger;
  const auto plan = compile(std::move(request), cache, logger);
  ASSERT_TRUE(plan.ok()) << plan.error().message << text;
  int steps = 0;
  for (const auto& node : plan->graph->nodes()) {
    const Tactic* tactic = backend.find(split_tactic(node->tactic).name);
    if (tactic == nullptr) continue;  // A constant or a view.
    ++steps;
    EXPECT_FALSE(is_fallback(*tactic)) << node->tactic << "\n" << print(*plan->graph);
  }
  EXPECT_GT(steps, 0) << text;
}

std::vector<std::pair<std::string, Backend>> backends() {
  std::vector<std::pair<std::string, Backend>> all = {{"cpu", cpu_backend(1)}};
  for (const int architecture : {75, 80, 90})
    all.emplace_back(fmt::format("sm_{}", architecture), gpu(architecture));
  return all;
}

TEST(Fallback, NeverRunsAttention) {
  for (const auto& [name, backend] : backends())
    for (const char* type : {"f32", "f16", "bf16"})
      for (int number = 0; number < 24; ++number) {
        AttentionForm form{type};
        form.widened = number % 2 != 0 && form.type != "f32";
        form.heads_last = number / 2 % 2 != 0;
        form.transposed = number / 4 % 2 != 0;
        form.mask = number / 8;
        form.size = std::array<int64_t, 5>{64, 24, 128, 20, 320}[number % 5];
        form.queries = number % 7 == 6 ? 1 : 40;
        SCOPED_TRACE(fmt::format("{} {} form {}", name, type, number));
        expect_real_kernels(text_of(form), backend);
      }
}

TEST(Fallback, NeverRunsAProduct) {
  for (const auto& [name, backend] : backends())
    for (const char* type : {"f32", "f16", "bf16"})
      for (int number = 0; number < 40; ++number) {
        ProductForm form{type};
        form.turned_a = number % 2 != 0;
        form.turned_b = number / 2 % 2 != 0;
        form.widened = number / 4 % 2 != 0 && form.type != "f32";
        form.behind = number / 8;
        form.batch = number % 3 == 2 ? "3," : "";
        form.m = number % 5 == 4 ? 1 : 24;
        form.n = number % 7 == 6 ? 1 : 32;
        SCOPED_TRACE(fmt::format("{} {} form {}", name, type, number));
        expect_real_kernels(text_of(form), backend);
      }
}

}  // namespace
}  // namespace tenon
