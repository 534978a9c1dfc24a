// Normalizations between products of 16 bits become moments in the one and their use in the other,
// in graphs of random forms: weights of any length, which case files cannot hold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "numeric.h"
#include "ops/numerics.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "passes/observed_passes.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Forms of layers.
struct Form {
  DataType type = DataType::kFloat16;
  Shape rows = {4};
  int64_t width = 64, inner = 40;
  NormKind norm = NormKind::kLayer;
  bool scale = true, shift = true, bias = true, residual = true, transposed = false;
  double size = 1;    ///< Of the scale.
  bool flat = false;  ///< Products are of two axes, normalizations of three.
};

class Layers {
 public:
  Layers(const Form& form, uint64_t seed) : form_(form), random_(seed) {
    Shape shape = form.rows;
    shape.emplace_back(16);
    rows = product(graph.add_input("x", {form.type, shape}), 16, form.width, nullptr);
  }
  Value* apply(std::unique_ptr<Op> op, std::vector<Value*> inputs) {
    Node* node = graph.add_node(std::move(op), std::move(inputs), 1, fmt::format("n{}", count_++));
    const Status status = infer_node(*node);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return node->output();
  }
  Value* constant(Extents extents, double low, double high) {
    Tensor tensor(form_.type, extents);
    std::uniform_real_distribution<double> numbers(low, high);
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_from_double(i, numbers(random_));
    Value* value = graph.add_constant(std::move(tensor));
    value->type = {form_.type, to_shape(extents)};
    return value;
  }
  Value* reshaped(Value* x, const Extents& extents) {
    Value* shape = graph.add_constant(Tensor::vector_i64(extents));
    shape->type = {DataType::kInt64, {Dim(static_cast<int64_t>(extents.size()))}};
    return apply(std::make_unique<Reshape>(), {x, shape});
  }
  Value* product(Value* x, int64_t k, int64_t n, Value* residual) {
    auto op = std::make_unique<MatMul>();
    op->transpose_b = form_.transposed;
    Value* weights = constant(form_.transposed ? Extents{n, k} : Extents{k, n}, -0.3, 0.3);
    Value* y = apply(std::move(op), {x, weights});
    if (form_.bias)
      y = apply(std::make_unique<Pointwise>(PointwiseFunction::k_add), {y, constant({n}, -1, 1)});
    if (residual == nullptr) return y;
    return apply(std::make_unique<Pointwise>(PointwiseFunction::k_add), {y, residual});
  }
  Value* normalized(Value* x) {
    auto op = std::make_unique<Normalization>();
    op->norm = form_.norm;
    std::vector<Value*> inputs = {x};
    if (form_.scale || form_.shift)
      inputs.push_back(form_.scale ? constant({form_.width}, 0.5 * form_.size, 2 * form_.size)
                                   : nullptr);
    if (form_.shift) inputs.push_back(constant({form_.width}, -1, 1));
    return apply(std::move(op), inputs);
  }
  /// One more pair of products on the current value.
  void add() {
    const int64_t count = constants(form_.rows).front();
    Value* x = form_.flat ? reshaped(rows, {1, count, form_.width}) : rows;
    Value* y = normalized(x);
    if (form_.flat) y = reshaped(y, {count, form_.width});
    y = product(y, form_.width, form_.inner, nullptr);
    y = apply(std::make_unique<Pointwise>(PointwiseFunction::k_tanh), {y});
    rows = product(y, form_.inner, form_.width, form_.residual ? rows : nullptr);
  }

  Graph graph;
  Value* rows = nullptr;

 private:
  Form form_;
  std::mt19937_64 random_;
  int count_ = 0;
};

int count_halves(const Graph& graph) {
  int count = 0;
  for (const auto& node : graph.nodes())
    for (const auto& body : node->bodies)
      for (const auto& inner : body->nodes()) {
        count += inner->is<RowMoments>() || inner->is<Standardize>() ? 1 : 0;
        EXPECT_FALSE(inner->is<Normalization>());
      }
  return count;
}

/// Of moments of values of 16 bits.
const double kSpread = tolerance(Computation::kKernel, DataType::kBFloat16).spread;

/// Runs the pass behind the one that it needs; gives how many halves there are then.
int split(Graph& graph, PassOptions options = {}) {
  NullLogger logger;
  const auto before = graph.clone();
  PassContext context(options, logger);
  for (const char* pass : {"fuse_epilogue", "split_normalization"}) {
    const auto changed = run_pass(graph, *find_pass(pass), context);
    EXPECT_TRUE(changed.ok()) << changed.error().message;
  }
  for (uint64_t seed = 1; seed <= 2; ++seed)
    EXPECT_EQ(compare_graphs(*before, graph, seed, kSpread), "");
  const int halves = count_halves(graph);
  const auto again = run_pass(graph, *find_pass("split_normalization"), context);
  EXPECT_TRUE(again.ok());
  EXPECT_TRUE(again.ok() && !*again) << "a second run changes the graph";
  return halves;
}

TEST(SplitNormalization, LayersOfAllForms) {
  for (uint64_t seed = 0; seed < 96; ++seed) {
    SCOPED_TRACE(seed);
    Form form;
    form.type = seed % 2 == 0 ? DataType::kFloat16 : DataType::kBFloat16;
    form.norm = seed / 2 % 3 == 0 ? NormKind::kRms : NormKind::kLayer;
    form.scale = seed / 4 % 4 != 0, form.shift = form.norm == NormKind::kLayer && seed / 8 % 2;
    form.bias = seed / 16 % 2, form.residual = seed / 3 % 4 != 0, form.transposed = seed / 32 % 2;
    form.flat = seed / 5 % 2;
    if (!form.flat && seed / 7 % 2) form.rows = {3, 5};
    Layers layers(form, seed);
    layers.add();
    layers.add();
    layers.graph.add_output(
        layers.apply(std::make_unique<Pointwise>(PointwiseFunction::k_tanh), {layers.rows}));
    EXPECT_EQ(split(layers.graph), 4);
  }
}

TEST(SplitNormalization, StaysWhereTheDeviceHasNoKernel) {
  for (const bool possible : {true, false}) {
    Layers layers({}, 1);
    layers.add();
    layers.graph.add_output(layers.rows);
    PassOptions options;
    options.moments_in_products = possible;
    EXPECT_EQ(split(layers.graph, options), possible ? 2 : 0);
  }
}

/// A layer whose form is changed, or that something is added to, stays as it is.
template <class Change> int halves_of(Form form, const Change& change) {
  Layers layers(form, 7);
  Value* rows = layers.rows;
  layers.add();
  layers.graph.add_output(layers.rows);
  change(layers, rows);
  return split(layers.graph);
}
int halves_of(const Form& form) {
  return halves_of(form, [](Layers&, Value*) {});
}

TEST(SplitNormalization, StaysForFormsThatTheKernelDoesNotTake) {
  EXPECT_EQ(halves_of({}), 2);
  EXPECT_EQ(halves_of({.type = DataType::kFloat32}), 0);
  EXPECT_EQ(halves_of({.width = 40}), 0) << "rows that do not divide into groups";
  EXPECT_EQ(halves_of({.inner = 64 * 9}), 0) << "very many columns";
  EXPECT_EQ(halves_of({.size = 1e-4}), 0) << "weights times the scale lose digits";
  EXPECT_EQ(halves_of({.size = 6e4}), 0) << "weights times the scale are too large";
  EXPECT_EQ(halves_of({.rows = {2, 512}}), 2);
  EXPECT_EQ(halves_of({.rows = {2, 513}}), 0) << "many rows";
  EXPECT_EQ(halves_of({.rows = {*Dim::parse("n")}}), 0) << "extents that are not known";
}

std::vector<const Tensor*> weights_of(const Graph& graph) {
  std::vector<const Tensor*> weights;
  for (const auto& node : graph.nodes())
    if (const Tensor* tensor = node->op->constant_value(); tensor != nullptr && tensor->rank() == 2)
      weights.push_back(tensor);
  return weights;
}

/// How many weights of the form are not the graph's own.
int64_t new_weights(const Graph& graph, const Graph& form) {
  const std::vector<const Tensor*> own = weights_of(graph), of_form = weights_of(form);
  return std::ranges::count_if(of_form, [&](const Tensor* tensor) {
    return std::ranges::none_of(
        own, [&](const Tensor* other) { return other->bytes() == tensor->bytes(); });
  });
}

/// Where the number of rows varies the graph keeps its normalizations, and a form beside it has
/// halves; scale and shift are in the weights of both.
TEST(SplitNormalization, LeavesAFormForVaryingRows) {
  for (const bool shift : {true, false}) {
    Layers layers({.rows = {*Dim::parse("n")}, .shift = shift}, 7);
    layers.add();
    layers.add();
    layers.graph.add_output(layers.rows);
    const auto before = layers.graph.clone();
    NullLogger logger;
    PassOptions options;
    options.leaves_forms = true;
    for (const char* after : {"fuse_residual", "fuse_pointwise", "fuse_independent"})
      options.disabled.emplace_back(after);
    const auto run = run_observed_passes(layers.graph, options, logger, nullptr);
    ASSERT_TRUE(run.ok()) << run.error().message;
    ASSERT_EQ(run->forms.size(), 1u);
    const Graph& form = *run->forms[0];
    EXPECT_EQ(count_halves(form), 4);
    EXPECT_EQ(new_weights(layers.graph, form), 0) << "one copy of them serves both";
    int norms = 0;
    for (const auto& node : layers.graph.nodes()) {
      if (!node->is<Normalization>()) continue;
      ++norms;
      EXPECT_EQ(node->inputs().size(), 1u) << "scale and shift are in the weights";
    }
    EXPECT_EQ(norms, 2);
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      EXPECT_EQ(compare_graphs(*before, layers.graph, seed, kSpread), "");
      EXPECT_EQ(compare_graphs(*before, form, seed, kSpread), "");
    }
  }
}

TEST(SplitNormalization, LeavesNoFormWhereThereIsNothingToSplitOrNoneIsWanted) {
  for (const auto& [wanted, size] : {std::pair(false, 1.0), {true, 1e-4}}) {
    Layers layers({.rows = {*Dim::parse("n")}, .size = size}, 7);
    layers.add();
    layers.graph.add_output(layers.rows);
    NullLogger logger;
    PassOptions options;
    options.leaves_forms = wanted;
    const auto run = run_observed_passes(layers.graph, options, logger, nullptr);
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_TRUE(run->forms.empty()) << "scales of " << size;
  }
}

TEST(SplitNormalization, StaysWhereOthersNeedTheRowsOrTheNormalization) {
  const auto unary = [](Layers& layers, Value* x) {
    layers.graph.add_output(
        layers.apply(std::make_unique<Pointwise>(PointwiseFunction::k_tanh), {x}));
  };
  EXPECT_EQ(halves_of({}, [&](Layers& layers, Value* rows) { unary(layers, rows); }), 2);
  EXPECT_EQ(halves_of({}, [](Layers& layers, Value* rows) { layers.graph.add_output(rows); }), 0);
  EXPECT_EQ(
      halves_of({},
                [&](Layers& layers, Value* rows) {
                  for (const Use& use : std::vector<Use>(rows->uses().begin(), rows->uses().end()))
                    if (use.node->is<Normalization>()) unary(layers, use.node->output());
                }),
      0);
  EXPECT_EQ(halves_of({},
                      [](Layers& layers, Value* rows) {
                        auto concat = std::make_unique<Concat>();
                        concat->axis = 0;
                        layers.graph.add_output(layers.apply(std::move(concat), {rows, rows}));
                      }),
            0);
}

}  // namespace
}  // namespace tenon
