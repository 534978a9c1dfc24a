// Mixtures of experts of the domain com.microsoft. Every expert computes every token, and the ones
// that the router chose have a share in the sum; where tokens are few, only the weights of chosen
// experts are read.
#include <functional>
#include <limits>

#include "base/arithmetic.h"
#include "onnx/graph_importer.h"
#include "onnx/import_positions.h"
#include "onnx/import_quantize.h"
#include "onnx/op_table.h"
#include "ops/math.h"
#include "ops/movement.h"
#include "ops/structure.h"

namespace tenon::importer {
namespace {

using F = PointwiseFunction;

/// Weights [experts, rows, depth] and biases [experts, rows] of one product.
struct Product {
  Value *weights = nullptr, *bias = nullptr;
};

/// Of tokens [1, tokens, depth] or [experts, tokens, depth], as [experts, tokens, rows].
Value* products(NodeImporter& n, Value* tokens, const Product& of) {
  Value* y = n.matmul(tokens, of.weights, false, true);
  return of.bias == nullptr ? y : n.add(y, n.unsqueeze(of.bias, {1}));
}

Value* activated(NodeImporter& n, Value* x) {
  const std::string name = n.text("activation_type", "relu");
  if (name == "relu") return n.pointwise(F::k_relu, {x});
  if (name == "gelu") return n.pointwise(F::k_gelu_tanh, {x});
  if (name == "silu") return n.pointwise(F::k_swish, {x}, 1);
  if (name == "identity") return x;
  n.fail(ImportCode::kUnsupportedNodeAttr, fmt::format("activation \"{}\" is not supported", name));
  return nullptr;
}

/// The gate's sigmoid-weighted numbers times the other half's.
Value* swiglu(NodeImporter& n, Value* gate, Value* up) {
  const DataType type = n.type(gate);
  const auto number = [&](double value) { return n.number(value, type); };
  const double limit = n.real_attribute("swiglu_limit", std::numeric_limits<double>::infinity());
  if (limit < std::numeric_limits<double>::infinity()) {
    gate = n.min(gate, number(limit));
    up = n.max(n.min(up, number(limit)), number(-limit));
  }
  const double beta = n.real_attribute("activation_beta", 0);
  if (beta != 0) up = n.add(up, number(beta));
  return n.mul(n.pointwise(F::k_swish, {gate}, n.real_attribute("activation_alpha", 1)), up);
}

/// A mixture; operand 1 are the router's numbers for each token and expert.
struct Mixture {
  NodeImporter& n;
  Product first, second, third;

  /// [experts, tokens, inner]
  Value* inner(Value* tokens) const {
    Value* x = products(n, tokens, first);
    const bool is_gated = n.text("activation_type", "relu") == "swiglu";
    const int64_t fusion = n.integer_attribute("swiglu_fusion", 0);
    if (is_gated && fusion != 0) {
      const int64_t size = n.constant_extent(first.weights, 1);
      if (fusion == 1) return swiglu(n, n.slice(x, 2, 0, size, 2), n.slice(x, 2, 1, size, 2));
      return swiglu(n, n.slice(x, 2, 0, size / 2), n.slice(x, 2, size / 2, size));
    }
    Value* up = third.weights == nullptr ? nullptr : products(n, tokens, third);
    if (is_gated && up == nullptr) {
      n.fail(ImportCode::kInvalidNode, "swiglu_fusion is 0, and there are no weights fc3");
      return nullptr;
    }
    if (is_gated) return swiglu(n, x, up);
    x = activated(n, x);
    return up == nullptr ? x : n.mul(x, up);
  }

  /// Shares of the experts in a token, [tokens, experts]: 0 for experts that are not chosen.
  /// `weights` stands in for the router's own shares where there are such.
  Value* shares(int64_t experts, Value* weights) const {
    Value* router = n.cast(n.input(1), DataType::kFloat32);
    TopK choice;
    const bool normalizes = n.flag("normalize_routing_weights");
    const std::vector<Value*> best =
        n.add_multiple(choice, {router, n.integers({n.integer_attribute("k", 1)})}, 2);
    Value* all = n.add(RangeOf{}, {n.integer(0), n.integer(experts), n.integer(1)});
    Value* is_chosen = n.equal(n.unsqueeze(best[1], {2}), all);
    Value* ones =
        n.where(is_chosen, n.number(1, DataType::kFloat32), n.number(0, DataType::kFloat32));
    Value* chosen = n.reduce(ReduceFunction::kSum, ones, {1}, false);
    if (weights == nullptr) {
      Softmax softmax;
      softmax.axes = {1};
      weights = n.add(softmax, {router});
    }
    Value* share = n.mul(n.cast(weights, DataType::kFloat32), chosen);
    if (!normalizes) return share;
    return n.div(share, n.reduce(ReduceFunction::kSum, share, {1}, true));
  }

  /// The experts that the router chose for each token, and their shares, [tokens, k].
  struct Choice {
    Value *experts = nullptr, *shares = nullptr;
  };
  Choice choice(Value* router, int64_t k) const {
    router = n.cast(router, DataType::kFloat32);
    const std::vector<Value*> best = n.add_multiple(TopK(), {router, n.integers({k})}, 2);
    Softmax softmax;
    softmax.axes = {1};
    GatherElements of_best;
    of_best.axis = 1;
    Value* shares = n.add(of_best, {n.add(softmax, {router}), best[1]});
    if (n.flag("normalize_routing_weights"))
      shares = n.div(shares, n.reduce(ReduceFunction::kSum, shares, {1}, true));
    return {best[1], shares};
  }

  Product chosen(const Product& of, Value* experts) const {
    const auto part = [&](Value* all) {
      return all == nullptr ? nullptr : n.add(Gather(), {all, experts});
    };
    return {part(of.weights), part(of.bias)};
  }

  /// Each of at most `most` tokens meets k experts' weights, [tokens * k, rows, depth].
  Value* of_chosen(int64_t k, int64_t most) const {
    const int64_t hidden = n.constant_extent(n.input(0), -1);
    Value* tokens = n.slice(n.reshape(n.input(0), {-1, hidden}), 0, 0, most);
    const auto [experts, shares] = choice(n.slice(n.input(1), 0, 0, most), k);
    Value* flat = n.reshape(experts, {-1});
    const Mixture few{n, chosen(first, flat), chosen(second, flat), chosen(third, flat)};
    Value* x = n.add(Expand(), {n.unsqueeze(tokens, {1}), n.integers({1, k, 1})});
    Value* y = products(n, few.inner(n.reshape(x, {-1, 1, hidden})), few.second);
    Value* share = n.unsqueeze(n.cast(shares, n.type(n.input(0))), {2});
    y = n.mul(n.reshape(y, {-1, k, hidden}), share);
    return n.reshape_as(n.reduce(ReduceFunction::kSum, y, {1}, false), n.input(0));
  }

  Value* of_all(Value* weights) const {
    const DataType type = n.type(n.input(0));
    const int64_t hidden = n.constant_extent(n.input(0), -1);
    const int64_t experts = n.constant_extent(first.weights, 0);
    Value* tokens = n.reshape(n.input(0), {1, -1, hidden});
    Value* y = products(n, inner(tokens), second);
    Value* share = n.cast(n.transpose(shares(experts, weights), {1, 0}), type);
    y = n.reduce(ReduceFunction::kSum, n.mul(y, n.unsqueeze(share, {2})), {0}, false);
    return n.reshape_as(y, n.input(0));
  }
};

/// Numbers of a few bits [experts, rows, bytes] as reals [experts, rows, depth], with a scale for
/// each row or each block of one.
Value* unpacked_weights(NodeImporter& n, int weights, int scales, int zeros,
                        std::string_view bits_name) {
  if (!n.has_input(weights)) return nullptr;
  const Tensor *bytes = n.contents(weights), *shifts = n.contents(zeros);
  const int64_t bits = n.integer_attribute(bits_name, n.integer_attribute("expert_weight_bits", 4));
  const auto refuse = [&](std::string why) {
    n.fail(ImportCode::kUnsupportedNodeInput, std::move(why));
    return nullptr;
  };
  if (bytes == nullptr || !n.has_input(scales) || (n.has_input(zeros) && shifts == nullptr))
    return refuse("weights and zero points of experts must be initializers, and have scales");
  if (bytes->rank() != 3 || bytes->type() != DataType::kUInt8 || (bits != 4 && bits != 8))
    return refuse("weights of experts must be uint8 [experts, rows, bytes] of 4 or 8 bits");
  const int64_t experts = bytes->extents()[0], rows = experts * bytes->extents()[1];
  const int64_t depth = bytes->extents()[2] * 8 / bits;
  const int64_t block = std::max<int64_t>(n.integer_attribute("block_size", 0), 0);
  const int64_t blocks = block == 0 ? 1 : ceil_div(depth, block);
  const DataType type = bits == 4 ? DataType::kUInt4 : DataType::kUInt8;
  auto numbers = unpacked_numbers(*bytes, rows, depth, bits, type);
  // Zero points of rows are packed by experts, zero points of blocks by rows.
  auto middle =
      block == 0 ? packed_zero_points(shifts, experts, rows / std::max<int64_t>(experts, 1), bits)
                 : packed_zero_points(shifts, rows, blocks, bits);
  if (!numbers.ok()) return refuse(numbers.error().message);
  if (!middle.ok()) return refuse(middle.error().message);
  Dequantize op;
  op.axis = 1;
  op.block_size = block == 0 ? depth : block;
  op.to = n.type(n.input(0));
  Value* reals =
      n.add(op, {n.constant(std::move(numbers).value()), n.reshape(n.input(scales), {rows, blocks}),
                 n.reshape(n.constant(std::move(middle).value()), {rows, blocks})});
  return n.reshape(reals, {experts, -1, depth});
}

Mixture mixture_of(NodeImporter& n) {
  const auto product = [&](int at) { return Product{n.input(at), n.input(at + 1)}; };
  return {n, product(2), product(4), product(6)};
}

using Import = std::function<Value*(NodeImporter&)>;

/// The node's operands in a graph of its own, and the results that `import` makes of them there.
std::unique_ptr<Graph> body_of(NodeImporter& n, const Import& import) {
  auto graph = std::make_unique<Graph>();
  graph->symbol_ranges = n.graph().symbol_ranges;
  GraphImporter scope(n.importer().context(), *graph, n.importer().frame(), &n.importer());
  std::vector<Value*> inputs;
  for (Value* outer : n.inputs()) {
    if (outer == nullptr)
      inputs.push_back(nullptr);
    else if (const Tensor* tensor = outer->constant())
      inputs.push_back(graph->add_constant(*tensor, outer->name));
    else
      inputs.push_back(graph->add_input(fmt::format("operand_{}", inputs.size()), outer->type));
  }
  NodeImporter inner(scope, n.node(), n.opset(), std::move(inputs), n.label());
  Value* result = import(inner);
  if (inner.ok())
    graph->add_output(result);
  else
    n.fail(inner.code(), inner.message());
  return graph;
}

/// What one of two ways makes of the node's operands, chosen at run time.
Value* either(NodeImporter& n, Value* condition, const Import& then, const Import& otherwise) {
  std::vector<std::unique_ptr<Graph>> bodies;
  bodies.push_back(body_of(n, then));
  bodies.push_back(body_of(n, otherwise));
  std::vector<Value*> inputs{condition};
  for (Value* each : n.inputs())
    if (each != nullptr && each->constant() == nullptr) inputs.push_back(each);
  if (!n.ok()) return nullptr;
  return n.add_node(std::make_unique<If>(), std::move(inputs), 1, std::move(bodies))[0];
}

void refuse_other_routes(NodeImporter& n) {
  n.expect("use_sparse_mixer", 0);
  n.expect("swiglu_limit_after_activation", 0);
}

}  // namespace

void import_moe(NodeImporter& n, const OpRow&) {
  refuse_other_routes(n);
  const int64_t k = n.integer_attribute("k", 1), experts = n.constant_extent(n.input(2), 0);
  // Weights that are picked are read, their places are fetched and written, and read once more.
  const int64_t few = k > 0 ? experts / (4 * k) : 0;
  Value* tokens = n.reshape(n.input(0), {-1, n.constant_extent(n.input(0), -1)});
  const Range range = n.extent(tokens, 0).range(n.graph().symbol_ranges);
  if (!n.ok()) return;
  if (few == 0 || range.min > few) return n.output(mixture_of(n).of_all(nullptr));
  if (range.max <= few) return n.output(mixture_of(n).of_chosen(k, few));
  Value* is_few =
      n.pointwise(F::k_less_equal, {n.slice(n.shape_of(tokens), 0, 0, 1), n.integers({few})});
  n.output(either(
      n, n.squeeze(is_few, {0}),
      [&](NodeImporter& then) { return mixture_of(then).of_chosen(k, few); },
      [](NodeImporter& otherwise) { return mixture_of(otherwise).of_all(nullptr); }));
}

/// The same with weights of 4 or 8 bits; operand 14 may have shares of the experts.
void import_qmoe(NodeImporter& n, const OpRow&) {
  refuse_other_routes(n);
  if (n.text("quant_type", "int") != "int" || n.integer_attribute("weights_prepacked", 0) > 0)
    return n.fail(ImportCode::kUnsupportedNodeAttr,
                  "weights of experts are supported as integers [experts, rows, bytes]");
  const auto product = [&](int at, int zeros, std::string_view bits) {
    return Product{unpacked_weights(n, at, at + 1, zeros, bits), n.input(at + 2)};
  };
  const Mixture mixture{n, product(2, 11, "fc1_expert_weight_bits"),
                        product(5, 12, "fc2_expert_weight_bits"),
                        product(8, 13, "fc3_expert_weight_bits")};
  if (n.ok()) n.output(mixture.of_all(n.input(14)));
}

}  // namespace tenon::importer
