#include "passes/match.h"

#include <algorithm>
#include <cmath>

#include "ops/table.h"

namespace tenon {

bool is_function(const Node& node, PointwiseFunction function) {
  const auto* pointwise = node.as<Pointwise>();
  return pointwise != nullptr && pointwise->function == function;
}

Node* pointwise_producer(const Value* value, PointwiseFunction function) {
  if (value == nullptr || value->producer() == nullptr) return nullptr;
  return is_function(*value->producer(), function) ? value->producer() : nullptr;
}

std::optional<double> scalar_of(const Value* value) {
  if (value == nullptr) return std::nullopt;
  const Tensor* tensor = value->constant();
  if (tensor == nullptr || tensor->count() == 0 || tensor->count() > 4096) return std::nullopt;
  const double first = tensor->as_double(0);
  for (int64_t i = 1; i < tensor->count(); ++i)
    if (tensor->as_double(i) != first) return std::nullopt;
  return first;
}

bool is_scalar(const Value* value, double expected) {
  const auto scalar = scalar_of(value);
  return scalar.has_value() &&
         std::abs(*scalar - expected) <= 1e-3 * std::max(1.0, std::abs(expected));
}

Node* only_user(const Graph& graph, const Value* value) {
  return value->uses().size() == 1 && !graph.is_output(value) ? value->uses()[0].node : nullptr;
}

namespace {

void take_apart(const Graph& graph, Value* value, bool outermost, Product& product) {
  Node* node = value->producer();
  const bool shared = !outermost && only_user(graph, value) == nullptr;
  const auto* pointwise = node == nullptr ? nullptr : node->as<Pointwise>();
  if (pointwise == nullptr || shared) {
    product.values.push_back(value);
    return;
  }
  auto operand = [&](Value* input) {
    const auto scalar = scalar_of(input);
    if (scalar.has_value())
      product.factor *= *scalar;
    else
      take_apart(graph, input, false, product);
  };
  if (pointwise->function == PointwiseFunction::k_mul) {
    product.nodes.push_back(node);
    operand(node->input(0));
    operand(node->input(1));
  } else if (const auto divisor = scalar_of(node->input(1));
             pointwise->function == PointwiseFunction::k_div && divisor.has_value() &&
             *divisor != 0) {
    product.nodes.push_back(node);
    product.factor /= *divisor;
    operand(node->input(0));
  } else if (pointwise->function == PointwiseFunction::k_neg) {
    product.nodes.push_back(node);
    product.factor = -product.factor;
    operand(node->input(0));
  } else {
    product.values.push_back(value);
  }
}

}  // namespace

Value* operand_beside_numbers(const Node& node) {
  if (!node.is<Pointwise>() || node.outputs().size() != 1) return nullptr;
  Value* found = nullptr;
  for (Value* value : node.inputs()) {
    const Tensor* number = value->constant();
    if (number != nullptr && number->count() == 1) continue;
    if (number != nullptr || found != nullptr) return nullptr;
    found = value;
  }
  return found;
}

Product product_of(const Graph& graph, Value* value) {
  Product product;
  take_apart(graph, value, true, product);
  return product;
}

Value* add_op(Graph& graph, std::unique_ptr<Op> op, std::vector<Value*> inputs, const Node& like) {
  Node* node = graph.add_node(std::move(op), std::move(inputs), 1, like.name);
  node->origins = like.origins;
  // Operands come from a graph that was inferred, so this can only fail for operators put together
  // wrongly; the pass manager infers again and reports it.
  (void)infer_node(*node).ok();
  return node->output();
}

Value* add_pointwise(Graph& graph, PointwiseFunction function, std::vector<Value*> inputs,
                     const Node& like, double alpha, double beta) {
  return add_op(graph, std::make_unique<Pointwise>(function, alpha, beta), std::move(inputs), like);
}

Value* add_integers(Graph& graph, std::vector<int64_t> values) {
  Value* value = graph.add_constant(Tensor::vector_i64(values));
  value->type = {DataType::kInt64, {Dim(static_cast<int64_t>(values.size()))}};
  return value;
}

Value* add_shape(Graph& graph, const Shape& shape) {
  if (is_constant(shape)) return add_integers(graph, constants(shape));
  auto dims = std::make_unique<Dims>();
  for (const Dim& dim : shape) dims->expressions.push_back(dim.to_string());
  dims->extents = {static_cast<int64_t>(shape.size())};
  Node* node = graph.add_node(std::move(dims), {}, 1, "shape");
  (void)infer_node(*node).ok();
  return node->output();
}

bool is_reshape(const Node* node) {
  return node != nullptr && (node->is<Reshape>() || node->is<Flatten>() || node->is<Squeeze>() ||
                             node->is<Unsqueeze>());
}

std::optional<std::vector<std::vector<int64_t>>> joined_axes(const Shape& from, const Shape& to) {
  std::vector<std::vector<int64_t>> groups;
  size_t next = 0;
  for (const Dim& extent : to) {
    std::vector<int64_t> group;
    Dim joined(1);
    // An extent of 1 takes an axis of extent 1 when there is one, else nothing.
    if (extent == Dim(1) && next < from.size() && from[next] == Dim(1))
      group.push_back(static_cast<int64_t>(next++));
    while (!(joined == extent)) {
      if (next == from.size()) return std::nullopt;
      joined = joined * from[next];
      group.push_back(static_cast<int64_t>(next++));
    }
    groups.push_back(std::move(group));
  }
  for (; next < from.size(); ++next) {
    if (!(from[next] == Dim(1)) || groups.empty()) return std::nullopt;
    groups.back().push_back(static_cast<int64_t>(next));
  }
  return groups;
}

Value* add_reshape(Graph& graph, Value* value, const Shape& shape, const Node& like) {
  auto reshape = std::make_unique<Reshape>();
  reshape->allow_zero = true;
  return add_op(graph, std::move(reshape), {value, add_shape(graph, shape)}, like);
}

Value* reshaped(Graph& graph, Value* value, const Shape& shape, const Node& like) {
  return value->type.shape == shape ? value : add_reshape(graph, value, shape, like);
}

Value* transposed(Graph& graph, Value* value, std::vector<int64_t> permutation, const Node& like) {
  auto transpose = std::make_unique<Transpose>();
  transpose->permutation = std::move(permutation);
  return add_op(graph, std::move(transpose), {value}, like);
}

void stand_in(Graph& graph, const Node& node, Value* value) {
  value->name = node.output()->name;
  graph.replace_uses(node.output(), value);
}

std::vector<Node*> nodes_of(const Graph& graph) {
  return nodes_of(graph, [](const Node&) { return true; });
}

void add_origins(Node& to, const Node& from) {
  for (const std::string& origin : from.origins)
    if (std::find(to.origins.begin(), to.origins.end(), origin) == to.origins.end())
      to.origins.push_back(origin);
}

}  // namespace tenon
