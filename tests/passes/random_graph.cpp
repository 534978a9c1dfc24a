#include "random_graph.h"

#include <fmt/format.h>

#include <numeric>
#include <random>
#include <stdexcept>

#include "ops/ops.h"
#include "ops/region.h"
#include "ops/table.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

class Maker {
 public:
  explicit Maker(uint64_t seed, std::string prefix = "n")
      : graph_(std::make_unique<Graph>()),
        random_(seed),
        has_branches_(seed >= kBranchSeeds),
        prefix_(std::move(prefix)) {}

  std::unique_ptr<Graph> make(int nodes) {
    values_.push_back(graph_->add_input("images", {DataType::kFloat32, {2, 4, 3, 3}}));
    values_.push_back(graph_->add_input("rows", {DataType::kFloat32, {2, 3, 8}}));
    values_.push_back(graph_->add_input("matrix", {DataType::kFloat32, {6, 8}}));
    values_.push_back(graph_->add_input("condition", {DataType::kBool, {}}));
    for (int i = 0; i < nodes; ++i) add_some(values_[below(values_.size())]);
    for (Value* value : values_)
      if (value->uses().empty() && value->producer() != nullptr) graph_->add_output(value);
    graph_->add_output(values_.back());
    return std::move(graph_);
  }

  /// A body: takes values of the given types, gives values of the types of the first `results`.
  std::unique_ptr<Graph> make_body(const std::vector<TensorType>& inputs, size_t results) {
    for (const TensorType& type : inputs)
      values_.push_back(graph_->add_input(fmt::format("{}in{}", prefix_, values_.size()), type));
    for (int i = 0; i < 8; ++i) add_some(values_[below(values_.size())]);
    for (size_t i = 0; i < results; ++i) graph_->add_output(latest_like(inputs[i]));
    return std::move(graph_);
  }

 private:
  /// The last value of that type that no output is yet; carried values grow with each iteration
  /// unless something bounds it.
  Value* latest_like(const TensorType& type) {
    for (size_t i = values_.size(); i-- > 0;) {
      if (values_[i]->producer() == nullptr || values_[i]->type.shape != type.shape) continue;
      add(std::make_unique<Pointwise>(k_tanh), {values_[i]});
      return values_.back();
    }
    add(std::make_unique<Pointwise>(k_sigmoid), {weights(constants(type.shape))});
    return values_.back();
  }

  size_t below(size_t count) { return random_() % count; }

  Value* weights(Extents extents) {
    Tensor tensor(DataType::kFloat32, extents);
    // Halves and quarters: sums of few products are exact, and some are 0 or 1 throughout.
    for (int64_t i = 0; i < tensor.count(); ++i)
      tensor.set_from_double(i, static_cast<double>(random_() % 9) / 4 - 1);
    Value* value = graph_->add_constant(std::move(tensor));
    value->type = {DataType::kFloat32, to_shape(extents)};
    return value;
  }

  Value* number() {
    constexpr double kNumbers[] = {0, 1, 0.5, 3, 6, 0.70710678, -1};
    Value* value = graph_->add_constant(Tensor::scalar_f32(static_cast<float>(kNumbers[below(7)])));
    value->type = {DataType::kFloat32, {}};
    return value;
  }

  Value* integers(std::vector<int64_t> list) {
    Value* value = graph_->add_constant(Tensor::vector_i64(list));
    value->type = {DataType::kInt64, {static_cast<int64_t>(list.size())}};
    return value;
  }

  void add(std::unique_ptr<Op> op, std::vector<Value*> inputs, int outputs = 1) {
    Node* node = graph_->add_node(std::move(op), std::move(inputs), outputs, next_name());
    node->origins = {node->name};
    if (!infer_node(*node).ok()) {
      graph_->erase(node);
      return;
    }
    for (Value* output : node->outputs()) {
      output->name = fmt::format("{}:{}", node->name, output->index());
      values_.push_back(output);
    }
  }

  void add_pointwise(Value* x) {
    constexpr PointwiseFunction kUnary[] = {k_relu, k_sigmoid,  k_tanh, k_erf,
                                            k_neg,  k_softplus, k_abs};
    constexpr PointwiseFunction kBinary[] = {k_add, k_mul, k_sub, k_max, k_div};
    if (below(2) == 0) return add(std::make_unique<Pointwise>(kUnary[below(7)]), {x});
    Value* other = below(2) == 0 ? number() : partner(x);
    // A division by anything may give infinities, whose differences say nothing.
    const bool number_other = other->constant() != nullptr &&
                              other->constant()->as_double(0) != 0 &&
                              other->constant()->count() == 1;
    const PointwiseFunction function = kBinary[below(number_other ? 5 : 4)];
    if (below(2) == 0 && function != k_div)
      return add(std::make_unique<Pointwise>(function), {other, x});
    add(std::make_unique<Pointwise>(function), {x, other});
  }

  /// Something of x's shape, or a vector along one of its axes.
  Value* partner(Value* x) {
    std::vector<Value*> same;
    for (Value* value : values_)
      if (value->type.shape == x->type.shape) same.push_back(value);
    if (below(2) == 0) return same[below(same.size())];
    const Extents extents = constants(x->type.shape);
    Extents along(extents.size(), 1);
    const size_t axis = below(extents.size());
    along[axis] = extents[axis];
    return weights(along);
  }

  void add_movement(Value* x) {
    const Extents extents = constants(x->type.shape);
    const int64_t rank = static_cast<int64_t>(extents.size());
    switch (below(5)) {
      case 0: {
        auto op = std::make_unique<Transpose>();
        op->permutation.resize(rank);
        std::iota(op->permutation.begin(), op->permutation.end(), 0);
        std::swap(op->permutation[below(rank)], op->permutation[below(rank)]);
        return add(std::move(op), {x});
      }
      case 1: {
        std::vector<int64_t> shape = extents;
        if (rank > 2) {
          shape[1] *= shape[0];
          shape.erase(shape.begin());
        } else if (rank == 2 && extents[0] % 2 == 0) {
          shape = {2, extents[0] / 2, extents[1]};
        }
        return add(std::make_unique<Reshape>(), {x, integers(shape)});
      }
      case 2: {
        auto op = std::make_unique<Concat>();
        op->axis = static_cast<int64_t>(below(rank));
        return add(std::move(op), {x, x});
      }
      case 3: {
        auto op = std::make_unique<Split>();
        op->axis = static_cast<int64_t>(below(rank));
        return extents[op->axis] % 2 == 0 ? add(std::move(op), {x}, 2) : void();
      }
      default: {
        const int64_t axis = static_cast<int64_t>(below(rank));
        return add(std::make_unique<Slice>(),
                   {x, integers({0}), integers({std::max<int64_t>(1, extents[axis] - 1)}),
                    integers({axis})});
      }
    }
  }

  void add_anchor(Value* x) {
    const Extents extents = constants(x->type.shape);
    if (extents.size() == 4 && extents[2] > 1 && extents[3] > 1 && below(4) == 0) {
      auto pool = std::make_unique<Pool>();
      pool->function = below(2) == 0 ? PoolFunction::kAverage : PoolFunction::kMax;
      pool->kernel = {2, 2};
      pool->strides = {2, 1};
      pool->ceil_mode = below(2) == 0;
      return add(std::move(pool), {x});
    }
    if (extents.size() == 4 && has_branches_ && below(4) == 0) return add_branches(x);
    if (extents.size() == 4 && below(2) == 0)
      return add(std::make_unique<Conv>(), {x, weights({4, extents[1], 1, 1})});
    auto op = std::make_unique<MatMul>();
    op->transpose_b = below(2) == 0;
    const int64_t k = extents.back();
    add(std::move(op), {x, weights(op->transpose_b ? Extents{8, k} : Extents{k, 8})});
  }

  /// Two convolutions of an image, and the image times a number a channel, added.
  void add_branches(Value* x) {
    const int64_t channels = constants(x->type.shape)[1];
    const int64_t groups = below(2) == 0 ? channels : 1;
    const auto added = [&](std::unique_ptr<Op> op, std::vector<Value*> inputs) {
      add(std::move(op), std::move(inputs));
      return values_.back();
    };
    const auto convolution = [&](int64_t reach) {
      auto conv = std::make_unique<Conv>();
      conv->pads_begin = conv->pads_end = {reach, reach};
      conv->groups = groups;
      return added(std::move(conv),
                   {x, weights({channels, channels / groups, 2 * reach + 1, 2 * reach + 1})});
    };
    Value* const large = convolution(1);
    Value* const sum = added(std::make_unique<Pointwise>(below(2) == 0 ? k_add : k_sub),
                             {large, convolution(static_cast<int64_t>(below(2)))});
    Value* const scaled = added(std::make_unique<Pointwise>(k_mul), {weights({channels, 1, 1}), x});
    add(std::make_unique<Pointwise>(k_add), {sum, scaled});
  }

  void add_rows(Value* x) {
    const Extents extents = constants(x->type.shape);
    switch (below(3)) {
      case 0: {
        auto op = std::make_unique<Softmax>();
        op->axes = {-1};
        return add(std::move(op), {x});
      }
      case 1: return add(std::make_unique<Normalization>(), {x, weights({extents.back()})});
      default: {
        auto op = std::make_unique<Reduce>();
        op->function = ReduceFunction::kMean;
        op->axes = {static_cast<int64_t>(below(extents.size()))};
        return add(std::move(op), {x});
      }
    }
  }

  /// The likeliest few: values of all of them, places only where no rounding can change the order.
  void add_top(Value* x) {
    const int64_t k = 1 + static_cast<int64_t>(below(2));
    auto op = std::make_unique<TopK>();
    op->largest = below(3) != 0;
    if (constants(x->type.shape).back() < k) return;
    if (x->producer() == nullptr && below(2) == 0) {
      auto softmax = std::make_unique<Softmax>();
      softmax->axes = {-1};
      add(std::move(softmax), {x});
      x = values_.back();
    }
    const bool distinct = x->producer() == nullptr || x->producer()->is<Softmax>();
    Node* node = graph_->add_node(std::move(op), {x, integers({k})}, 2, next_name());
    node->origins = {node->name};
    expect_ok(infer_node(*node));
    values_.push_back(node->output(0));
    if (distinct && is_main()) graph_->add_output(node->output(1));
  }

  /// A body over x, captures and, in loops, the number of the iteration.
  std::unique_ptr<Graph> body(std::vector<TensorType> types, size_t results, const char* suffix) {
    return Maker(random_(), next_name() + suffix).make_body(types, results);
  }

  Value* captured() {
    Value* value = values_[below(values_.size())];
    return value->type.type == DataType::kFloat32 ? value : values_[0];
  }

  void add_branch(Value* x) {
    Value* other = captured();
    const std::string name = next_name();
    Node* node = graph_->add_node(std::make_unique<If>(), {values_[3], x, other}, 1, name);
    for (const char* suffix : {"t", "e"})
      node->bodies.push_back(body({x->type, other->type}, 1, suffix));
    finish(*node);
  }

  /// Runs twice or three times, which no rule can tell: the body compares the iteration's number.
  void add_loop(Value* x) {
    Value* matrix = weights({constants(x->type.shape).back(), constants(x->type.shape).back()});
    Value* other = captured();
    auto op = std::make_unique<Loop>();
    op->carried = 1;
    Node* node =
        graph_->add_node(std::move(op), {nullptr, nullptr, x, matrix, other}, 2, next_name());
    auto made = body({x->type, matrix->type, other->type}, 1, "b");
    auto whole = std::make_unique<Graph>();
    std::vector<Value*> inputs = {whole->add_input("trip", {DataType::kInt64, {}}),
                                  whole->add_input("going", {DataType::kBool, {}})};
    for (const Value* input : made->inputs())
      inputs.push_back(whole->add_input(input->name, input->type));
    const auto results = inline_body(*whole, *made, {inputs.begin() + 2, inputs.end()});
    Value* limit = whole->add_constant(Tensor::scalar_i64(1 + static_cast<int64_t>(below(2))));
    whole->add_output(whole
                          ->add_node(std::make_unique<Pointwise>(k_less), {inputs[0], limit}, 1,
                                     node->name + "less")
                          ->output());
    whole->add_output(results[0]);
    whole->add_output(results[0]);
    node->bodies.push_back(std::move(whole));
    finish(*node);
  }

  void add_scan(Value* x) {
    TensorType slice = x->type;
    slice.shape.erase(slice.shape.begin());
    Value* state = weights(constants(slice.shape));
    Value* other = captured();
    auto op = std::make_unique<Scan>();
    op->states = 1;
    op->scanned = 1;
    op->input_directions = {static_cast<int64_t>(below(2))};
    Node* node = graph_->add_node(std::move(op), {state, x, other}, 2, next_name());
    node->bodies.push_back(body({slice, slice, other->type}, 2, "b"));
    finish(*node);
  }

  /// Outputs of known extents may be used; outputs of a loop of unknown length become outputs.
  void finish(Node& node) {
    node.origins = {node.name};
    expect_ok(infer_node(node));
    for (Value* output : node.outputs()) {
      output->name = fmt::format("{}:{}", node.name, output->index());
      if (is_constant(output->type.shape))
        values_.push_back(output);
      else
        graph_->add_output(output);
    }
  }

  static void expect_ok(const Status& status) {
    if (!status.ok()) throw std::runtime_error(status.error().message);
  }

  std::string next_name() { return fmt::format("{}{}", prefix_, graph_->nodes().size()); }
  bool is_main() const { return prefix_ == "n"; }

  /// Bodies hold no further control flow.
  void add_control(Value* x) {
    if (!is_main() || x->type.shape.size() < 2) return add_top(x);
    switch (below(4)) {
      case 0: return add_branch(x);
      case 1: return add_loop(x);
      case 2: return add_scan(x);
      default: return add_top(x);
    }
  }

  void add_some(Value* x) {
    if (x->type.type != DataType::kFloat32 || x->type.shape.empty() ||
        element_count(constants(x->type.shape)) > 2000)
      return;
    const size_t choice = below(11);
    if (choice < 5) return add_pointwise(x);
    if (choice < 7) return add_movement(x);
    if (choice < 9) return add_anchor(x);
    if (choice == 9) return add_rows(x);
    add_control(x);
  }

  std::unique_ptr<Graph> graph_;
  std::mt19937_64 random_;
  const bool has_branches_;
  std::vector<Value*> values_;
  std::string prefix_;
};

/// Gives nodes of a graph other types, bodies included, with casts around them.
class TypeChanger {
 public:
  TypeChanger(Graph& graph, std::mt19937_64& random, bool is_main)
      : graph_(graph), random_(random), is_main_(is_main) {}

  Status run() {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    for (Node* node : nodes) {
      for (const auto& body : node->bodies) TENON_TRY(TypeChanger(*body, random_, false).run());
      if (!node->bodies.empty() || !is_float(*node)) continue;
      if (takes_numbers_of_input(*node) && below(2) == 0)
        quantize(*node);
      else if (below(3) == 0)
        narrow(*node, below(2) == 0 ? DataType::kFloat16 : DataType::kBFloat16);
    }
    return graph_.sort();
  }

 private:
  size_t below(size_t count) { return random_() % count; }

  static bool is_float(const Node& node) {
    return !node.inputs().empty() && node.output()->type.type == DataType::kFloat32;
  }

  /// Those are the same wherever they are quantized; others lie in the middle between two numbers
  /// now and then, and go either way.
  bool takes_numbers_of_input(const Node& node) const {
    return (node.is<Conv>() || node.is<MatMul>()) && node.input(0)->producer() == nullptr &&
           node.input(0)->constant() == nullptr && is_main_;
  }

  Value* add(std::unique_ptr<Op> op, std::vector<Value*> inputs) {
    Node* node = graph_.add_node(std::move(op), std::move(inputs), 1,
                                 fmt::format("typed{}", graph_.nodes().size()));
    node->origins = {node->name};
    if (const Status status = infer_node(*node); !status.ok())
      throw std::runtime_error(status.error().message);
    return node->output();
  }

  Value* number(double value) {
    return graph_.add_constant(Tensor::scalar_f32(static_cast<float>(value)));
  }

  void narrow(Node& node, DataType type) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      Value* input = node.inputs()[i];
      if (input != nullptr && input->type.type == DataType::kFloat32)
        node.set_input(static_cast<int>(i), add(std::make_unique<Cast>(type), {input}));
    }
    if (!infer_node(node).ok()) throw std::runtime_error("no such type");
    for (Value* output : node.outputs()) {
      if (output->type.type != type) continue;
      Value* wide = add(std::make_unique<Cast>(DataType::kFloat32), {output});
      graph_.replace_uses(output, wide);
      wide->producer()->set_input(0, output);
      std::swap(wide->name, output->name);
    }
  }

  /// Steps of a power of two: weights are quarters.
  void quantize(Node& node) {
    for (int i = 0; i < 2; ++i) {
      Value* step = number(i == 0 ? 1.0 / 32 : 1.0 / 64);
      step->type = {DataType::kFloat32, {}};
      node.set_input(i, add(std::make_unique<Dequantize>(),
                            {add(std::make_unique<Quantize>(), {node.input(i), step}), step}));
    }
  }

  Graph& graph_;
  std::mt19937_64& random_;
  bool is_main_;
};

}  // namespace

Status open_batch(Graph& graph, const Range& range) {
  graph.symbol_ranges["n"] = range;
  for (Value* input : graph.inputs())
    if (input->type.shape.size() > 2) input->type.shape[0] = Dim::symbol("n");
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (Node* node : nodes) {
    if (node->is<Reshape>() && !is_constant(node->input(0)->type.shape)) {
      // Two rows were made of one axis, or the first axis of the first two.
      std::vector<int64_t> shape = node->input(1)->constant()->to_int64s();
      shape[shape.size() > node->input(0)->type.shape.size() ? 1 : 0] = -1;
      node->set_input(1, graph.add_constant(Tensor::vector_i64(shape)));
    }
    TENON_TRY(infer_node(*node));
  }
  return graph.sort();
}

Status change_types(Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  return TypeChanger(graph, random, true).run();
}

std::unique_ptr<Graph> random_graph(uint64_t seed, int nodes) {
  return Maker(seed).make(nodes);
}

}  // namespace tenon
