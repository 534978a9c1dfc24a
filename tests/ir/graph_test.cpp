#include "ir/graph.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

/// An operator that the IR knows nothing about; the IR itself must not care.
struct Blob final : Op {
  bool effect = false;
  OpKind kind() const override { return OpKind{7}; }
  std::string_view name() const override { return "blob"; }
  std::unique_ptr<Op> clone() const override { return std::make_unique<Blob>(*this); }
  std::unique_ptr<Op> make_default() const override { return std::make_unique<Blob>(); }
  void visit_attributes(AttributeVisitor&) override {}
  bool has_side_effects() const override { return effect; }
};

Node* add(Graph& graph, std::vector<Value*> inputs, std::string name) {
  return graph.add_node(std::make_unique<Blob>(), std::move(inputs), 1, std::move(name));
}

std::string names(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) text += node->name;
  return text;
}

TEST(Graph, KeepsUseLists) {
  Graph graph;
  Value* x = graph.add_input("x", {});
  Node* a = add(graph, {x, nullptr, x}, "a");
  EXPECT_EQ(x->uses().size(), 2u);
  a->set_input(0, nullptr);
  EXPECT_EQ(x->uses().size(), 1u);
  EXPECT_EQ(x->uses()[0].index, 2);
  a->set_input(4, x);
  EXPECT_EQ(a->inputs().size(), 5u);
  EXPECT_FALSE(a->has_input(3));
  a->truncate_inputs(2);
  EXPECT_TRUE(x->uses().empty());
}

TEST(Graph, ReplaceUsesReachesOutputs) {
  Graph graph;
  Value* x = graph.add_input("x", {});
  Node* a = add(graph, {x}, "a");
  Node* b = add(graph, {a->output(), a->output()}, "b");
  graph.add_output(a->output());
  graph.replace_uses(a->output(), x);
  EXPECT_EQ(b->input(0), x);
  EXPECT_EQ(b->input(1), x);
  EXPECT_EQ(graph.outputs()[0], x);
  EXPECT_TRUE(a->output()->uses().empty());
  graph.erase(a);
  EXPECT_EQ(names(graph), "b");
  EXPECT_EQ(x->uses().size(), 2u);
}

TEST(Graph, SortIsStable) {
  Graph graph;
  Value* x = graph.add_input("x", {});
  Node* c = add(graph, {x}, "c");
  Node* a = add(graph, {x}, "a");
  Node* b = add(graph, {a->output()}, "b");
  ASSERT_TRUE(graph.sort().ok());
  EXPECT_EQ(names(graph), "cab");
  c->append_input(b->output());
  ASSERT_TRUE(graph.sort().ok());
  EXPECT_EQ(names(graph), "abc");
}

TEST(Graph, SortNamesTheCycle) {
  Graph graph;
  Value* x = graph.add_input("x", {});
  Node* before = add(graph, {x}, "before");
  Node* a = add(graph, {before->output()}, "a");
  Node* b = add(graph, {a->output()}, "b");
  add(graph, {b->output()}, "after");
  a->append_input(b->output());
  const Status status = graph.sort();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("\"a\""), std::string::npos);
  EXPECT_NE(status.error().message.find("\"b\""), std::string::npos);
  EXPECT_EQ(status.error().message.find("before"), std::string::npos);
  EXPECT_EQ(status.error().message.find("after"), std::string::npos);
  EXPECT_EQ(graph.nodes().size(), 4u);
}

TEST(Graph, RemoveDeadKeepsSideEffects) {
  Graph graph;
  Value* x = graph.add_input("x", {});
  Node* a = add(graph, {x}, "a");
  Node* dead = add(graph, {a->output()}, "b");
  add(graph, {dead->output()}, "c");
  Node* effect = add(graph, {x}, "e");
  static_cast<Blob*>(effect->op.get())->effect = true;
  Node* region = add(graph, {}, "r");
  region->bodies.push_back(std::make_unique<Graph>());
  Node* inner = add(*region->bodies[0], {}, "inner");
  static_cast<Blob*>(inner->op.get())->effect = true;
  graph.add_output(a->output());
  EXPECT_EQ(graph.remove_dead(), 2);
  EXPECT_EQ(names(graph), "aer");
  EXPECT_TRUE(a->output()->uses().empty());
}

/// A data-dependent extent is known once the node that decides it ran, although nothing reads that
/// node's results.
TEST(Graph, NodesThatDecideAnExtentInUseStay) {
  Graph graph;
  const Dim rows = Dim::symbol("rows"), found = Dim::symbol("found"),
            unused = Dim::symbol("unused");
  Value* x = graph.add_input("x", {DataType::kFloat32, {rows}});
  Node* deciding = add(graph, {x}, "d");
  deciding->output()->type.shape = {found};
  add(graph, {x}, "n")->output()->type.shape = {unused};
  add(graph, {deciding->output()}, "f")->output()->type.shape = {found};  // It only has it, too.
  Node* extents = add(graph, {}, "e");
  extents->output()->type.shape = {1};
  extents->output()->elements = std::vector<Dim>{found * rows};
  graph.add_output(extents->output());
  EXPECT_EQ(graph.remove_dead(), 2);
  EXPECT_EQ(names(graph), "de");
}

TEST(Graph, CloneIsDeep) {
  Graph graph;
  graph.symbol_ranges["n"] = {1, 4};
  Value* x = graph.add_input("x", {DataType::kInt64, {Dim::symbol("n")}});
  Node* a = add(graph, {x, nullptr}, "a");
  a->origins = {"o"};
  a->output()->name = "y";
  a->output()->elements = std::vector<Dim>{3};
  auto body = std::make_unique<Graph>();
  body->add_output(body->add_input("inner", {}));
  a->bodies.push_back(std::move(body));
  graph.add_output(a->output());
  std::vector<std::pair<const Value*, Value*>> mapping;
  const auto copy = graph.clone(&mapping);
  ASSERT_EQ(copy->nodes().size(), 1u);
  const Node& twin = *copy->nodes()[0];
  EXPECT_NE(&twin, a);
  EXPECT_EQ(&twin.graph(), copy.get());
  EXPECT_EQ(twin.input(0), copy->inputs()[0]);
  EXPECT_EQ(twin.inputs().size(), 2u);
  EXPECT_EQ(twin.output()->name, "y");
  EXPECT_EQ(twin.output()->elements, a->output()->elements);
  EXPECT_EQ(twin.origins, a->origins);
  EXPECT_EQ(twin.bodies[0]->inputs()[0]->name, "inner");
  EXPECT_EQ(copy->outputs()[0], twin.output());
  EXPECT_EQ(copy->symbol_ranges, graph.symbol_ranges);
  EXPECT_EQ(mapping.size(), 2u);
  EXPECT_EQ(x->uses().size(), 1u);
}

TEST(Graph, FreshSymbolsAvoidThoseInUse) {
  Graph graph;
  graph.symbol_ranges["d0"] = {};
  graph.add_input("x", {DataType::kFloat32, {Dim::symbol("d1") * 2}});
  EXPECT_EQ(graph.fresh_symbol({0, 5}), Dim::symbol("d2"));
  EXPECT_EQ(graph.symbol_ranges["d2"], (Range{0, 5}));
  EXPECT_EQ(graph.fresh_symbol({}), Dim::symbol("d3"));
}

TEST(Graph, MovesWithItsNodes) {
  Graph graph;
  Node* a = add(graph, {graph.add_input("x", {})}, "a");
  Graph moved = std::move(graph);
  EXPECT_EQ(&a->graph(), &moved);
  EXPECT_NE(moved.add_input("y", {}), nullptr);
}

}  // namespace
}  // namespace tenon
