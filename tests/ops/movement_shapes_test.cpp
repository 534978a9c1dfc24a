// Symbolic shapes through the operators that move elements.
#include "node_harness.h"
#include "ops/shape_input.h"

namespace tenon::test {
namespace {

/// A graph that is built and inferred node by node.
struct Chain {
  Graph graph;
  Value* input(Shape shape, DataType type = DataType::kFloat32) {
    return graph.add_input("x", {type, std::move(shape), Layout::kRowMajor});
  }
  Value* ints(std::vector<int64_t> values) {
    return graph.add_constant(Tensor::vector_i64(values));
  }
  template <class T> Value* add(T op, std::vector<Value*> inputs) {
    Node* node = graph.add_node(std::make_unique<T>(std::move(op)), std::move(inputs), 1, "n");
    const Status status = infer_node(*node);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
    return node->output();
  }
};

const Dim kBatch = Dim::symbol("batch");
const Dim kSequence = Dim::symbol("seq");

TEST(SymbolicShapes, ShapeGatherConcatReshape) {
  Chain c;
  Value* x = c.input({kBatch, kSequence, 768});
  Value* shape = c.add(ShapeOf(), {x});
  Value* batch = c.add(Gather(), {shape, c.graph.add_constant(Tensor::scalar_i64(0))});
  ASSERT_TRUE(batch->elements.has_value());
  EXPECT_EQ((*batch->elements)[0], kBatch);
  Value* vector = c.add(Unsqueeze(), {batch, c.ints({0})});
  Value* target = c.add(Concat(), {vector, c.ints({-1, 12, 64})});
  EXPECT_EQ(to_string(c.add(Reshape(), {x, target})->type.shape), "[batch,seq,12,64]");
}

TEST(SymbolicShapes, ZeroKeepsAndMinusOneDivides) {
  Chain c;
  Value* x = c.input({kBatch, kSequence, 12, 64});
  EXPECT_EQ(c.add(Reshape(), {x, c.ints({0, 0, -1})})->type.shape, (Shape{kBatch, kSequence, 768}));
  EXPECT_EQ(c.add(Reshape(), {x, c.ints({-1, 64})})->type.shape,
            (Shape{kBatch * kSequence * 12, 64}));
}

TEST(SymbolicShapes, SliceOfShapeAndBounds) {
  Chain c;
  Value* x = c.input({kBatch, kSequence, 8});
  Value* part = c.add(Slice(), {c.add(ShapeOf(), {x}), c.ints({1}), c.ints({INT64_MAX})});
  ASSERT_TRUE(part->elements.has_value());
  EXPECT_EQ(*part->elements, (std::vector<Dim>{kSequence, 8}));
  EXPECT_EQ(c.add(Slice(), {x, c.ints({-3}), c.ints({INT64_MAX}), c.ints({2})})->type.shape,
            (Shape{kBatch, kSequence, 3}));
  EXPECT_EQ(
      c.add(Slice(), {x, c.ints({-1}), c.ints({INT64_MIN}), c.ints({1}), c.ints({-1})})->type.shape,
      (Shape{kBatch, kSequence, 8}));
  // Exporters write either for "to the end".
  for (const int64_t end : {int64_t{INT32_MAX}, INT64_MAX})
    EXPECT_EQ(c.add(Slice(), {x, c.ints({0}), c.ints({end}), c.ints({1})})->type.shape,
              (Shape{kBatch, kSequence, 8}));
}

/// Branches that torch.jit leaves behind have scalars where ONNX has vectors.
TEST(SymbolicShapes, SliceByScalars) {
  Chain c;
  Value* x = c.input({kBatch, 8});
  const auto number = [&](int64_t value) {
    return c.graph.add_constant(Tensor::scalar_i64(value));
  };
  EXPECT_EQ(c.add(Slice(), {x, number(2), number(7), c.ints({1})})->type.shape, (Shape{kBatch, 5}));
}

TEST(SymbolicShapes, SliceByAnExtentOfAKnownRange) {
  Chain c;
  c.graph.symbol_ranges["seq"] = {1, 128};
  Value* x = c.input({1, kSequence, 8});
  Value* length = c.add(Slice(), {c.add(ShapeOf(), {x}), c.ints({1}), c.ints({2})});
  Value* table = c.input({1024, 8});
  EXPECT_EQ(c.add(Slice(), {table, c.ints({0}), length})->type.shape, (Shape{kSequence, 8}));
}

TEST(SymbolicShapes, ExpandRangeAndFill) {
  Chain c;
  Value* x = c.input({kBatch, 1});
  Value* y = c.input({kBatch, kSequence});
  Value* shape = c.add(ShapeOf(), {y});
  EXPECT_EQ(c.add(Expand(), {x, shape})->type.shape, (Shape{kBatch, kSequence}));
  Value* limit = c.add(Gather(), {shape, c.graph.add_constant(Tensor::scalar_i64(1))});
  Value* range = c.add(RangeOf(), {c.graph.add_constant(Tensor::scalar_i64(0)), limit,
                                   c.graph.add_constant(Tensor::scalar_i64(1))});
  EXPECT_EQ(range->type.shape, (Shape{kSequence}));
  EXPECT_EQ(c.add(Fill(), {shape})->type.shape, (Shape{kBatch, kSequence}));
}

TEST(SymbolicShapes, RangesOfEmptyOrSeveralNumbersAreRefusedByTheBuilder) {
  for (const Shape& shape : {Shape{0}, Shape{2}}) {
    Graph graph;
    Value* start = graph.add_input("start", {DataType::kInt64, shape});
    Value* one = graph.add_constant(Tensor::scalar_i64(1));
    Node* node = graph.add_node(std::make_unique<RangeOf>(), {start, one, one}, 1, "r");
    const Status status = infer_node(*node);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("must be scalars"), std::string::npos);
  }
}

TEST(SymbolicShapes, UnknownExtentsBecomeSymbolsWithBounds) {
  Chain c;
  c.graph.symbol_ranges["batch"] = {1, 4};
  Value* x = c.input({kBatch, 3});
  Value* found = c.add(NonZero(), {x});
  const Dim count = found->type.shape[1];
  ASSERT_TRUE(count.as_symbol().has_value());
  EXPECT_EQ(c.graph.symbol_ranges[*count.as_symbol()].max, 12);
  Value* target = c.input({2}, DataType::kInt64);
  EXPECT_EQ(c.add(Reshape(), {x, target})->type.shape.size(), 2u);
}

TEST(SymbolicShapes, ConvolutionPoolingAndResize) {
  Chain c;
  const Dim h = Dim::symbol("h");
  Value* x = c.input({kBatch, 3, h, 224});
  Conv conv;
  conv.strides = {2, 2};
  conv.pads_begin = conv.pads_end = {3, 3};
  Value* weights = c.input({64, 3, 7, 7});
  const Shape shape = c.add(conv, {x, weights})->type.shape;
  EXPECT_EQ(shape[0], kBatch);
  EXPECT_EQ(shape[2].evaluate({{"h", 225}}), 113);
  EXPECT_EQ(shape[3], Dim(112));
  Value* scales = c.graph.add_constant(floats({4}, {1, 1, 2, 2}));
  EXPECT_EQ(c.add(Resize(), {x, nullptr, scales})->type.shape, (Shape{kBatch, 3, h * 2, 448}));
}

TEST(SymbolicShapes, AttentionWithPast) {
  Chain c;
  const Dim past = Dim::symbol("past");
  Value* q = c.input({kBatch, 8, 1, 64});
  Value* kv = c.input({kBatch, 2, 1, 64});
  Value* old = c.input({kBatch, 2, past, 64});
  Node* node = c.graph.add_node(std::make_unique<Attention>(), {q, kv, kv, nullptr, old, old}, 3);
  ASSERT_TRUE(infer_node(*node).ok());
  EXPECT_EQ(node->output(0)->type.shape, (Shape{kBatch, 8, 1, 64}));
  EXPECT_EQ(node->output(1)->type.shape, (Shape{kBatch, 2, past + 1, 64}));
}

TEST(Types, FewIntegersMayDecideShapes) {
  const struct {
    TensorType type;
    bool may;
  } types[] = {{{DataType::kInt64, {}}, true},
               {{DataType::kInt32, {3}}, true},
               {{DataType::kInt64, {kMaxKnownElements}}, true},
               {{DataType::kInt64, {kMaxKnownElements + 1}}, false},
               {{DataType::kInt64, {0}}, false},
               {{DataType::kInt64, {kBatch}}, false},
               {{DataType::kInt64, {2, 2}}, false},
               {{DataType::kFloat32, {3}}, false},
               {{DataType::kBool, {3}}, false}};
  for (const auto& [type, may] : types)
    EXPECT_EQ(can_decide_shapes(type), may) << name_of(type.type) << to_string(type.shape);
}

TEST(SymbolicShapes, DimsAreThoseOfTheRun) {
  Chain c;
  Value* x = c.input({kBatch, 3});
  c.graph.add_output(c.add(ShapeOf(), {x}));
  const auto results = evaluate_graph(c.graph, std::vector<Tensor>{ramp({5, 3})});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].to_int64s(), (std::vector<int64_t>{5, 3}));
  Dims dims;
  dims.expressions = {"batch*2"};
  dims.extents = {1};
  Value* twice = c.add(std::move(dims), {});
  const SymbolValues symbols = {{"batch", 5}};
  const auto run = evaluate_node(*twice->producer(), {}, &symbols);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ((*run)[0].to_int64s(), (std::vector<int64_t>{10}));
  EXPECT_FALSE(evaluate_node(*twice->producer(), {}).ok());
}

TEST(Types, IndicesAreIntegers) {
  Chain c;
  Value *x = c.input({4, 3}), *real = c.input({2, 1}, DataType::kFloat16);
  const auto refuses = [&](std::unique_ptr<Op> op, std::vector<Value*> inputs) {
    Node* node = c.graph.add_node(std::move(op), std::move(inputs), 1, "n");
    const Status status = infer_node(*node);
    return !status.ok() && status.error().message.find("the indices must be integers, not f16") !=
                               std::string::npos;
  };
  EXPECT_TRUE(refuses(std::make_unique<Gather>(), {x, real}));
  EXPECT_TRUE(refuses(std::make_unique<GatherElements>(), {x, real}));
  EXPECT_TRUE(refuses(std::make_unique<GatherNd>(), {x, real}));
  EXPECT_TRUE(refuses(std::make_unique<ScatterElements>(), {x, real, c.input({2, 1})}));
  EXPECT_TRUE(refuses(std::make_unique<ScatterNd>(), {x, real, c.input({2, 3})}));
}

}  // namespace
}  // namespace tenon::test
