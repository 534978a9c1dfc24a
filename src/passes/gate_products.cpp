// The gate of an MLP, f(a) * b of the two halves a and b of one product's columns, becomes the end
// of that product: its weights are put in order so that both columns of a pair lie side by side, in
// one thread's registers. So half as much leaves the product, and no step reads it again. Takes
// linear units with one matrix as exporters write them, and the halves that merge_products made.
// Must run behind lower_precision, since kernels take some types only, and before fuse_epilogue.
#include <optional>

#include "ops/region.h"
#include "passes/rotary_parts.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// A function of one real number.
bool is_activation(const Node& node) {
  const auto* op = node.as<Pointwise>();
  if (op == nullptr || node.inputs().size() != 1) return false;
  const PointwiseClass category = pointwise_info(op->function).category;
  return category == PointwiseClass::real || category == PointwiseClass::arithmetic;
}

struct Place {
  Node *product, *sum = nullptr;  ///< The sum adds one constant number a column.
  Node *activation, *gate;        ///< f(a), and the multiplication.
  bool gate_is_second;            ///< Of the halves the activation has the second one.
  bool of_pairs;                  ///< The halves are those of pairs already.
};

/// Constant weights that nothing else reads, of a type that kernels with gates take.
bool has_kernel(const Node& product, const PassContext& context) {
  const auto* op = product.as<MatMul>();
  const Tensor* weights = op == nullptr ? nullptr : product.input(1)->constant();
  if (weights == nullptr || weights->rank() != 2 || product.input(1)->uses().size() != 1 ||
      product.input(0)->type.shape.size() < 2)
    return false;
  const DataType type = weights->type(),
                 wide = context.options().gated_floats ? DataType::kFloat32 : DataType::kFloat16;
  constexpr int64_t kPiece = 8;  // Elements of 16 bits that are loaded at once.
  return (type == wide || type == DataType::kBFloat16) && product.input(0)->type.type == type &&
         product.output()->type.type == type &&
         weights->extents()[op->transpose_b ? 1 : 0] % kPiece == 0;
}

/// The constant that a sum adds to each column of the product, or null.
Value* bias_of(const Node& sum) {
  for (int i = 0; i < 2; ++i) {
    const Tensor* tensor = sum.input(i)->constant();
    const Shape& shape = sum.output()->type.shape;
    if (tensor != nullptr && tensor->rank() >= 1 && tensor->count() == tensor->extents().back() &&
        shape.back() == Dim(tensor->count()) && tensor->rank() <= std::ssize(shape))
      return sum.input(i);
  }
  return nullptr;
}

/// Finds the product, with its bias, that a value is.
bool find_product(const Graph& graph, const Value* value, Place& place) {
  Node* node = value->producer();
  if (node != nullptr && is_function(*node, k_add) && bias_of(*node) != nullptr) {
    place.sum = node;
    const Value* rest = node->input(node->input(0) == bias_of(*node) ? 1 : 0);
    node = only_user(graph, rest) == place.sum && rest->type.shape == value->type.shape
               ? rest->producer()
               : nullptr;
  }
  place.product = node;
  return node != nullptr && node->is<MatMul>();
}

/// Whether nothing but the two halves reads the whole.
bool is_used_up(const Graph& graph, const Value* whole, const Value* a, const Value* b) {
  if (graph.is_output(whole)) return false;
  for (const Use& use : whole->uses())
    if (use.node != a->producer() && use.node != b->producer()) return false;
  return true;
}

std::optional<Place> place_of(const Graph& graph, Node* gate, int side,
                              const PassContext& context) {
  Value* other = gate->input(1 - side);
  Node* activation = gate->input(side)->producer();
  if (activation == nullptr || !is_activation(*activation) ||
      only_user(graph, activation->output()) != gate || only_user(graph, other) != gate ||
      only_user(graph, activation->input(0)) != activation ||
      other->type != activation->output()->type)
    return std::nullopt;
  const auto a = half_part_of(activation->input(0)), b = half_part_of(other);
  if (!a || !b || a->source != b->source || a->second == b->second ||
      a->interleaved != b->interleaved ||
      !is_used_up(graph, a->source, activation->input(0), other))
    return std::nullopt;
  Place place{.product = nullptr,
              .activation = activation,
              .gate = gate,
              .gate_is_second = a->second,
              .of_pairs = a->interleaved};
  if (!find_product(graph, a->source, place) || !has_kernel(*place.product, context))
    return std::nullopt;
  for (const Node* node : {place.product, place.sum, activation, gate})
    if (node != nullptr && !context.allows_fusion(*node)) return std::nullopt;
  return place;
}

std::optional<Place> place_of(const Graph& graph, Node* gate, const PassContext& context) {
  const auto first = place_of(graph, gate, 0, context);
  return first ? first : place_of(graph, gate, 1, context);
}

/// Of an axis of halves, or of pairs, the pairs, the gate's element first: [outer, 2 n, inner].
template <class T>
void interleave(const T* from, int64_t outer, int64_t n, int64_t inner, const Place& place, T* to) {
  for (int64_t o = 0; o < outer; ++o, from += 2 * n * inner)
    for (int64_t i = 0; i < n; ++i) {
      const T* first = from + (place.of_pairs ? 2 * i : i) * inner;
      const T* second = first + (place.of_pairs ? 1 : n) * inner;
      if (place.gate_is_second) std::swap(first, second);
      to = std::copy_n(second, inner, std::copy_n(first, inner, to));
    }
}

Value* interleaved(Graph& graph, const Tensor& from, int64_t axis, const Place& place) {
  const Extents& extents = from.extents();
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < from.rank(); ++i) {
    if (i < axis) outer *= extents[i];
    if (i > axis) inner *= extents[i];
  }
  Tensor to(from.type(), extents);
  const int64_t n = extents[axis] / 2;
  if (byte_size(from.type()) == 2)
    interleave(from.values<uint16_t>().data(), outer, n, inner, place,
               to.mutable_values<uint16_t>().data());
  else
    interleave(from.values<float>().data(), outer, n, inner, place,
               to.mutable_values<float>().data());
  const TensorType type{to.type(), to_shape(extents)};
  Value* value = graph.add_constant(std::move(to));
  value->type = type;
  return value;
}

/// The nodes that read the product before, which nothing reads any longer.
void erase_gate(Graph& graph, const Place& place) {
  Node* first = place.activation->input(0)->producer();
  Node* second =
      place.gate->input(place.gate->input(0) == place.activation->output() ? 1 : 0)->producer();
  graph.erase(place.gate);
  graph.erase(place.activation);
  graph.erase(first);
  if (second != first) graph.erase(second);
}

const Node* join(Graph& graph, const Place& place) {
  Node& product = *place.product;
  const Tensor weights = *product.input(1)->constant();
  const int64_t axis = product.as<MatMul>()->transpose_b ? 0 : 1;
  product.set_input(1, interleaved(graph, weights, axis, place));
  std::vector<Node*> members{&product};
  if (place.sum != nullptr) {
    Value* bias = bias_of(*place.sum);
    const Tensor numbers = *bias->constant();
    place.sum->set_input(place.sum->input(0) == bias ? 0 : 1,
                         interleaved(graph, numbers, numbers.rank() - 1, place));
    members.push_back(place.sum);
  }
  const auto* function = place.activation->as<Pointwise>();
  auto op = std::make_unique<GatedUnit>();
  op->function = function->function, op->alpha = function->alpha, op->beta = function->beta;
  Value* result = add_op(graph, std::move(op), {members.back()->output()}, *place.gate);
  add_origins(*result->producer(), *place.activation);
  result->name = place.gate->output()->name;
  graph.replace_uses(place.gate->output(), result);
  members.push_back(result->producer());
  erase_gate(graph, place);
  return make_region(graph, members);
}

}  // namespace

bool gate_products(Graph& graph, PassContext& context) {
  const auto products = nodes_of(graph, [](const Node& n) { return is_function(n, k_mul); });
  return for_each_of(products, [&](Node& product) {
    const auto place = place_of(graph, &product, context);
    return place && context.applied(join(graph, *place)->name);
  });
}

}  // namespace tenon
