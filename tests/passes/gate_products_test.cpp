// Gates of products in all forms, with weights of more columns than case files can hold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "numeric.h"
#include "ops/numerics.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

struct Form {
  DataType type = DataType::kFloat32;
  bool of_pairs = false, gate_is_second = false, gate_first = true, bias = true, transposed = false;
};

class Layer {
 public:
  Layer(const Form& form, uint64_t seed) : form_(form), random_(seed) {
    constexpr int64_t kDepth = 16, kColumns = 14;
    auto op = std::make_unique<MatMul>();
    op->transpose_b = form.transposed;
    Value* x = graph.add_input("x", {form.type, {Dim(3), Dim(kDepth)}});
    const Extents weights = form.transposed ? Extents{kColumns, kDepth} : Extents{kDepth, kColumns};
    Value* both = apply(std::move(op), {x, constant(weights)});
    if (form.bias) both = apply(std::make_unique<Pointwise>(k_add), {constant({kColumns}), both});
    Value* parts[] = {part(both, 0, kColumns), part(both, 1, kColumns)};
    Value* gate = apply(std::make_unique<Pointwise>(k_swish, 1), {parts[form.gate_is_second]});
    Value* other = parts[!form.gate_is_second];
    graph.add_output(apply(std::make_unique<Pointwise>(k_mul),
                           form.gate_first ? std::vector{gate, other} : std::vector{other, gate}));
  }
  Graph graph;

 private:
  Value* apply(std::unique_ptr<Op> op, std::vector<Value*> inputs) {
    Node* node = graph.add_node(std::move(op), std::move(inputs), 1, fmt::format("n{}", count_++));
    const Status status = infer_node(*node);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return node->output();
  }
  Value* constant(const Extents& extents) {
    Tensor tensor(form_.type, extents);
    std::uniform_real_distribution<double> numbers(-1, 1);
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_from_double(i, numbers(random_));
    Value* value = graph.add_constant(std::move(tensor));
    value->type = {form_.type, to_shape(extents)};
    return value;
  }
  Value* part(Value* both, int64_t index, int64_t columns) {
    const int64_t begin = form_.of_pairs ? index : index * columns / 2;
    const int64_t end = form_.of_pairs ? columns : begin + columns / 2;
    return apply(std::make_unique<Slice>(),
                 {both, add_integers(graph, {begin}), add_integers(graph, {end}),
                  add_integers(graph, {-1}), add_integers(graph, {form_.of_pairs ? 2 : 1})});
  }

  Form form_;
  std::mt19937_64 random_;
  int count_ = 0;
};

/// Runs the pass; whether the graph is one region that ends in a gate then.
bool is_gated(Graph& graph, const PassOptions& options) {
  NullLogger logger;
  const auto before = graph.clone();
  PassContext context(options, logger);
  const auto changed = run_pass(graph, *find_pass("gate_products"), context);
  EXPECT_TRUE(changed.ok()) << changed.error().message;
  // The activation alone was rounded before.
  const DataType type = before->inputs()[0]->type.type;
  EXPECT_EQ(compare_graphs(*before, graph, 1, tolerance(Computation::kKernel, type).spread), "");
  const Node* last = graph.outputs()[0]->producer();
  return last->is<Fused>() && last->bodies[0]->outputs()[0]->producer()->is<GatedUnit>();
}

TEST(GateProducts, FormsOfAllKinds) {
  for (int bits = 0; bits < 64; ++bits) {
    SCOPED_TRACE(bits);
    const auto bit = [bits](int i) { return (bits >> i & 1) != 0; };
    const Form form{
        bit(0) ? DataType::kBFloat16 : DataType::kFloat32, bit(1), bit(2), bit(3), bit(4), bit(5)};
    Layer layer(form, static_cast<uint64_t>(bits));
    EXPECT_TRUE(is_gated(layer.graph, {}));
  }
}

TEST(GateProducts, TypesOfTheDevice) {
  for (const DataType type :
       {DataType::kFloat32, DataType::kBFloat16, DataType::kFloat16, DataType::kFloat64})
    for (const bool floats : {true, false}) {
      PassOptions options;
      options.gated_floats = floats;
      Layer layer({.type = type}, 1);
      const bool taken =
          type == DataType::kBFloat16 || type == (floats ? DataType::kFloat32 : DataType::kFloat16);
      EXPECT_EQ(is_gated(layer.graph, options), taken) << name_of(type);
    }
  PassOptions options;
  options.gated_products = false;
  Layer layer({}, 1);
  EXPECT_FALSE(is_gated(layer.graph, options));
}

}  // namespace
}  // namespace tenon
