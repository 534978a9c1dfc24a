#include "ir/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Gives every attribute a value that is not its default.
class Changer final : public AttributeVisitor {
 public:
  void visit(std::string_view, bool& value) override { value = !value; }
  void visit(std::string_view, int64_t& value) override { value = value / 2 - 3; }
  void visit(std::string_view, double& value) override { value = value / 3 + 1e-7; }
  void visit(std::string_view, std::string& value) override {
    value += "a \"b\" \\ \n\x01 \xC3\xA9 {}";
  }
  void visit(std::string_view, DataType& value) override { value = DataType::kFloat8E5M2Fnuz; }
  void visit(std::string_view, std::vector<int64_t>& value) override {
    value = {INT64_MIN, 0, INT64_MAX};
  }
  void visit(std::string_view, std::vector<double>& value) override {
    value = {0.1, -INFINITY, 1e300};
  }
  void visit(std::string_view, std::vector<std::string>& value) override { value = {"", "x\"y"}; }
  void visit(std::string_view, Tensor& value) override {
    value = Tensor(DataType::kFloat16, {5, 7});
    for (int i = 0; i < 35; ++i) value.set_from_double(i, i * 0.3);
  }
  void visit_enum(std::string_view, int& value, std::span<const std::string_view> names) override {
    value = static_cast<int>(names.size()) - 1;
  }
};

/// Prints, reads, and compares graph and text.
void expect_round_trip(const Graph& graph) {
  const std::string text = print(graph);
  const auto again = parse_graph(text, weights_of(graph).get());
  ASSERT_TRUE(again.ok()) << again.error().message << "\n" << text;
  EXPECT_TRUE(equal(graph, **again)) << text << "\n" << print(**again);
  EXPECT_EQ(print(**again), text);
}

std::vector<std::unique_ptr<Op>> every_operator() {
  std::vector<std::unique_ptr<Op>> operators;
  for (const OpInfo& row : op_table())
    if (row.name != Pointwise::kName) operators.push_back(row.make());
  for (int i = 0; i < pointwise_count(); ++i)
    operators.push_back(std::make_unique<Pointwise>(static_cast<PointwiseFunction>(i)));
  return operators;
}

TEST(Text, EveryOperatorRoundTrips) {
  for (const bool changed : {false, true}) {
    Graph graph;
    graph.name = "all \"operators\"";
    graph.symbol_ranges = {{"batch", {1, 8}}, {"odd name", {0, INT64_MAX}}, {"a.b", {2, 2}}};
    Value* x = graph.add_input(
        "x", {DataType::kBFloat16, {Dim::symbol("odd name"), Dim::symbol("a.b") * 2 - 1}});
    Value* last = x;
    for (auto& op : every_operator()) {
      Changer changer;
      if (changed) op->visit_attributes(changer);
      Node* node = graph.add_node(std::move(op), {x, nullptr, last}, 2, "node of " + last->name);
      node->origins = {"one", "two \"2\""};
      node->tactic = changed ? "cpu.any{mb=14,nb=2}" : "odd tactic}";
      node->output()->name = node->op->name();
      node->output()->type = {DataType::kInt4, {3, min(Dim::symbol("batch"), 5)}};
      node->output()->type.layout = Layout::kChannelsLast;
      node->output(1)->elements = std::vector<Dim>{floor_div(Dim::symbol("batch"), 2), -3};
      last = node->output();
    }
    graph.add_output(last);
    graph.add_output(x);
    expect_round_trip(graph);
  }
}

TEST(Text, NamesOfOperatorsAreUnique) {
  for (const OpInfo& row : op_table()) EXPECT_FALSE(pointwise_by_name(row.name)) << row.name;
  for (const auto& op : every_operator()) {
    const auto made = make_op(op->name());
    ASSERT_NE(made, nullptr) << op->name();
    EXPECT_EQ(made->kind(), op->kind()) << op->name();
    EXPECT_EQ(made->name(), op->name());
  }
  EXPECT_EQ(make_op("pointwise"), nullptr);
  EXPECT_EQ(make_op("nothing"), nullptr);
}

TEST(Text, BodiesAndConstantsRoundTrip) {
  Graph graph;
  Value* x = graph.add_input("x", {DataType::kFloat32, {2}});
  Node* region = graph.add_node(std::make_unique<Fused>(), {x}, 1, "a + b");
  for (int i = 0; i < 2; ++i) {
    auto body = std::make_unique<Graph>();
    Value* inner = body->add_input("", {DataType::kFloat32, {2}});
    Node* relu = body->add_node(make_op("relu"), {inner}, 1, "relu");
    if (i == 1) {
      relu->bodies.push_back(std::make_unique<Graph>());
    }
    body->add_output(relu->output());
    region->bodies.push_back(std::move(body));
  }
  graph.add_output(region->output());
  for (int i = 0; i < 23; ++i) {
    const auto type = static_cast<DataType>(i);
    Tensor small(type, {2, 3}), large(type, {17});
    for (int j = 0; j < 6 * byte_size(type); ++j)
      small.mutable_bytes()[j] = static_cast<std::byte>(j * 37 + 255 * (j % 3 == 0));
    for (int j = 0; j < 17; ++j) large.set_from_double(j, j);
    graph.add_output(graph.add_constant(small));
    graph.add_output(graph.add_constant(large));
  }
  graph.add_output(graph.add_constant(Tensor(DataType::kFloat32, {0, 4})));
  Tensor nan(DataType::kFloat32, {});
  nan.mutable_values<uint32_t>()[0] = 0xFFC12345;
  graph.add_output(graph.add_constant(nan));
  expect_round_trip(graph);
}

TEST(Text, EqualSeesEveryDifference) {
  const auto make = [](auto change) {
    auto graph = std::make_unique<Graph>();
    Value* x = graph->add_input("x", {DataType::kFloat32, {2}});
    Node* node = graph->add_node(make_op("softmax"), {x, x}, 1, "s");
    Value* c = graph->add_constant(Tensor::scalar_i64(1));
    graph->add_output(node->output());
    graph->add_output(c);
    change(*graph, *node);
    return graph;
  };
  const auto plain = make([](Graph&, Node&) {});
  EXPECT_TRUE(equal(*plain, *make([](Graph&, Node&) {})));
  EXPECT_FALSE(equal(*plain, *make([](Graph& g, Node&) { g.name = "n"; })));
  EXPECT_FALSE(equal(*plain, *make([](Graph&, Node& n) { n.name = "n"; })));
  EXPECT_FALSE(equal(*plain, *make([](Graph&, Node& n) { n.tactic = "n"; })));
  EXPECT_FALSE(equal(*plain, *make([](Graph&, Node& n) { n.set_input(1, nullptr); })));
  EXPECT_FALSE(equal(*plain, *make([](Graph&, Node& n) { n.as<Softmax>()->log = true; })));
  EXPECT_FALSE(equal(*plain, *make([](Graph&, Node& n) { n.op = make_op("relu"); })));
  EXPECT_FALSE(equal(*plain, *make([](Graph&, Node& n) { n.output()->type.shape = {1}; })));
  EXPECT_FALSE(equal(*plain, *make([](Graph& g, Node&) { g.symbol_ranges["n"] = {}; })));
  EXPECT_FALSE(equal(*plain, *make([](Graph& g, Node& n) { g.set_output(1, n.output()); })));
  EXPECT_FALSE(equal(*plain, *make([](Graph& g, Node&) {
    g.nodes()[1]->as<Constant>()->value = Tensor::scalar_i64(2);
  })));
}

constexpr std::string_view kSample = R"(
graph "sample" (%0 "x": f32[batch,3], %1 "idx": i64[2]=(batch,3)) where batch in [1,8] {
  %2 = constant() {value = f32[2]{1,0x7fc00000}} : f32[2]
  %3 "y" = fused "a + b"(%0, _) graph "" (%0: f32[batch,3]) {  // a region
    %1 = relu(%0) : f32[batch,3]
    return %1
  } : f32[batch,3]@nhwc from ["a","b"] @cpu.any{x=1}
  %4, %5 = topk(%3, %1) {axis = 0, largest = false} : f32[(batch/2),3], i64[min(3,batch),3]
  return %3, %4
}
)";

TEST(Text, ReadsWhatPeopleWrite) {
  const auto graph = parse_graph(kSample);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const Node& topk = *(*graph)->nodes()[2];
  EXPECT_FALSE(topk.as<TopK>()->largest);
  EXPECT_EQ(topk.outputs().size(), 2u);
  EXPECT_EQ((*graph)->nodes()[1]->tactic, "cpu.any{x=1}");
  EXPECT_EQ((*graph)->inputs()[1]->elements->at(0), Dim::symbol("batch"));
  expect_round_trip(**graph);
}

TEST(Text, ErrorsNameThePlace) {
  const auto message = [](std::string_view text) {
    const auto graph = parse_graph(text);
    return graph.ok() ? std::string("no error") : graph.error().message;
  };
  EXPECT_EQ(message("graph \"\" () {\n  %0 = nonsense() : f32[]\n return\n}"),
            "line 2, column 16: \"nonsense\" is no operator");
  EXPECT_EQ(message("graph \"\" () {\n  %0 = relu(%7) : f32[]\n return\n}"),
            "line 2, column 15: %7 is not defined above");
  EXPECT_NE(message("graph \"\" () { return } x"), "no error");
  EXPECT_NE(message("graph \"\" (%0: f32[], %0: f32[]) { return }"), "no error");
  EXPECT_NE(message("graph \"\" () { %0 = constant() {value = f32[17]#00} : f32[17] return }"),
            "no error");
  EXPECT_NE(
      message("graph \"\" () { %0 = constant() {value = f32[999999999999,9]{}} : f32[] return }"),
      "no error");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "graph \"\" () { fused() ";
  EXPECT_NE(message(deep), "no error");
}

TEST(Text, MalformedTextNeverCrashes) {
  std::mt19937 random(11);
  const auto pick = [&](size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random);
  };
  const std::string alphabet = "%\"(){}[],:=@#_-+.*/ \n0123abcxf\\";
  int readable = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string text(kSample);
    for (size_t edits = 1 + pick(4); edits > 0 && !text.empty(); --edits) {
      const size_t at = pick(text.size()),
                   length = 1 + pick(std::min<size_t>(text.size() - at, 12));
      switch (pick(4)) {
        case 0: text.erase(at, length); break;
        case 1: text[at] = alphabet[pick(alphabet.size())]; break;
        case 2: text.insert(at, text.substr(pick(text.size()), length)); break;
        default: text.resize(at + 1);
      }
    }
    const auto graph = parse_graph(text);
    if (!graph.ok()) continue;
    ++readable;
    EXPECT_FALSE(print(**graph).empty());
    (void)infer_graph(**graph).ok();
  }
  EXPECT_GT(readable, 100);
}

}  // namespace
}  // namespace tenon
