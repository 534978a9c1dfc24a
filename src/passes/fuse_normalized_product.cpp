// A product of 16-bit floats with constant weights takes the normalization of its rows into its
// region. Scale and shift of the normalization go into weights and bias, so that what is left of it
// is a mean and a factor for each row, which the product's kernel applies to its results. Only
// where the device has a kernel for it. Must run after lower_precision, since weights are rounded
// here, and before fuse_epilogue, as which it takes what follows the product.
#include <algorithm>
#include <cmath>

#include "base/float_formats.h"
#include "ops/region.h"
#include "passes/epilogue.h"
#include "passes/residual.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// Weights as [n, k] or [k, n], by the product's attribute.
struct Weights {
  const Tensor* tensor;
  bool turned;
  int64_t k() const { return tensor->extents()[turned ? 1 : 0]; }
  int64_t n() const { return tensor->extents()[turned ? 0 : 1]; }
  int64_t place(int64_t row, int64_t column) const {
    return turned ? column * k() + row : row * n() + column;
  }
};

bool is_16_bit(const Value* value) {
  const DataType type = value->type.type;
  return type == DataType::kFloat16 || type == DataType::kBFloat16;
}

/// Nothing, or a constant of one number for each of `count` elements of a row.
bool is_absent_or_constant(const Node& node, int input, int64_t count) {
  if (!node.has_input(input)) return true;
  const Tensor* tensor = node.input(input)->constant();
  return tensor != nullptr && is_real(tensor->type()) && tensor->count() == count &&
         tensor->extents().back() == count;
}

/// Reshapes of rows as they are.
bool keeps_rows(const Node& node) {
  const Shape &from = node.input(0)->type.shape, &to = node.output()->type.shape;
  return is_reshape(&node) && from.size() >= 2 && to.size() >= 2 && from.back() == to.back();
}

/// The product that alone reads what is normalized, and the reshapes on the way to it.
struct Reader {
  Node* product = nullptr;
  std::vector<Node*> reshapes;
};
Reader reader_of(const Graph& graph, const Node& norm) {
  Reader reader;
  Value* rows = norm.output();
  Node* next = only_user(graph, rows);
  while (next != nullptr && keeps_rows(*next)) {
    reader.reshapes.push_back(next);
    rows = next->output();
    next = only_user(graph, rows);
  }
  const auto* product = next == nullptr ? nullptr : next->as<MatMul>();
  if (product != nullptr && !product->transpose_a && next->input(0) == rows) reader.product = next;
  return reader;
}

/// Whether the product's kernel can normalize its rows, and scale and shift can be folded.
bool fits(const Node& norm, const Node& product) {
  const Tensor* weights = product.input(1)->constant();
  const TensorType& rows = norm.input(0)->type;
  const auto rank = static_cast<int64_t>(rows.shape.size());
  const int64_t axis = norm.as<Normalization>()->axis;
  if (weights == nullptr || weights->rank() != 2 || rank < 2 || (axis != -1 && axis != rank - 1) ||
      !is_16_bit(norm.input(0)) || weights->type() != rows.type ||
      norm.output()->type.type != rows.type || product.output()->type.type != rows.type)
    return false;
  // Others that read the weights keep them as they are: there would be two of them.
  if (norm.has_input(1) && product.input(1)->uses().size() > 1) return false;
  const int64_t k = Weights{weights, product.as<MatMul>()->transpose_b}.k();
  return is_absent_or_constant(norm, 1, k) && is_absent_or_constant(norm, 2, k);
}

/// Reshapes between normalization and product move in front of both.
void lift_reshapes(Graph& graph, Node& norm, const std::vector<Node*>& reshapes) {
  for (Node* reshape : reshapes) {
    Value *rows = norm.input(0), *reshaped = reshape->output();
    graph.replace_uses(reshaped, norm.output());
    reshape->set_input(0, rows);
    norm.set_input(0, reshaped);
    norm.as<Normalization>()->axis = -1;
    norm.output()->type = reshaped->type;
  }
}

/// Weights times the scale of their rows; nothing where one is too large for the type.
std::optional<Tensor> scaled(const Weights& from, const Tensor& scale) {
  const bool bf16 = from.tensor->type() == DataType::kBFloat16;
  const auto widen = bf16 ? bf16_to_float : f16_to_float;
  const auto narrow = bf16 ? bf16_from_float : f16_from_float;
  Tensor result(from.tensor->type(), from.tensor->extents());
  const uint16_t* in = from.tensor->values<uint16_t>().data();
  uint16_t* out = result.mutable_values<uint16_t>().data();
  bool finite = true;
  for (int64_t row = 0; row < from.k(); ++row) {
    const auto factor = static_cast<float>(scale.as_double(row));
    for (int64_t column = 0; column < from.n(); ++column) {
      const int64_t at = from.place(row, column);
      out[at] = narrow(widen(in[at]) * factor);
      finite = finite && std::isfinite(widen(out[at]));
    }
  }
  return finite ? std::optional(std::move(result)) : std::nullopt;
}

/// What the shift gives behind the product, and the bias that is added there anyway.
std::optional<Tensor> shifted(const Weights& from, const Tensor& shift, const Tensor* bias) {
  const auto widen = from.tensor->type() == DataType::kBFloat16 ? bf16_to_float : f16_to_float;
  const uint16_t* in = from.tensor->values<uint16_t>().data();
  std::vector<double> sums(static_cast<size_t>(from.n()), 0.0);
  for (int64_t row = 0; row < from.k(); ++row) {
    const double factor = shift.as_double(row);
    if (factor == 0) continue;
    for (int64_t column = 0; column < from.n(); ++column)
      sums[static_cast<size_t>(column)] += factor * widen(in[from.place(row, column)]);
  }
  Tensor result(from.tensor->type(), {from.n()});
  for (int64_t i = 0; i < from.n(); ++i) {
    const double more = bias == nullptr ? 0 : bias->as_double(bias->count() == 1 ? 0 : i);
    result.set_from_double(i, sums[static_cast<size_t>(i)] + more);
    if (!std::isfinite(result.as_double(i))) return std::nullopt;
  }
  return result;
}

/// The sum behind a product with a constant of one number a column, and which input that is.
struct Bias {
  Node* sum = nullptr;
  int input = 0;
  const Tensor* tensor() const { return sum == nullptr ? nullptr : sum->input(input)->constant(); }
};
Bias bias_behind(const Graph& graph, const Node& product, int64_t n, const PassContext& context) {
  Node* next = only_user(graph, product.output());
  if (next == nullptr || !is_function(*next, k_add) || !context.allows(*next) ||
      !(next->output()->type == product.output()->type))
    return {};
  for (int i = 0; i < 2; ++i) {
    const Tensor* tensor = next->input(i)->constant();
    if (tensor != nullptr && tensor->count() == n && tensor->rank() >= 1 &&
        tensor->extents().back() == n)
      return {next, i};
  }
  return {};
}

Value* add_tensor(Graph& graph, Tensor tensor) {
  const TensorType type{tensor.type(), to_shape(tensor.extents())};
  Value* value = graph.add_constant(std::move(tensor));
  value->type = type;
  return value;
}

/// Takes scale and shift out of the normalization. False, and nothing done, where the type is too
/// small for them.
bool fold_scale_and_shift(Graph& graph, Node& norm, Node& product, const PassContext& context) {
  const Weights weights{product.input(1)->constant(), product.as<MatMul>()->transpose_b};
  const Bias bias = bias_behind(graph, product, weights.n(), context);
  std::optional<Tensor> with_scale, with_shift;
  if (norm.has_input(1)) {
    with_scale = scaled(weights, *norm.input(1)->constant());
    if (!with_scale) return false;
  }
  if (norm.has_input(2)) {
    with_shift = shifted(weights, *norm.input(2)->constant(), bias.tensor());
    if (!with_shift) return false;
  }
  if (with_scale) product.set_input(1, add_tensor(graph, std::move(*with_scale)));
  if (with_shift && bias.sum != nullptr) {
    bias.sum->set_input(bias.input, add_tensor(graph, std::move(*with_shift)));
  } else if (with_shift) {
    Value* result = product.output();
    Value* sum =
        add_pointwise(graph, k_add, {result, add_tensor(graph, std::move(*with_shift))}, product);
    sum->name = result->name;
    graph.replace_uses(result, sum);
    sum->producer()->set_input(0, result);
  }
  norm.truncate_inputs(1);
  return true;
}

}  // namespace

bool fuse_normalized_product(Graph& graph, PassContext& context) {
  if (!context.options().normalized_products) return false;
  bool changed = false;
  for (Node* norm : nodes_of(graph, normalizes_rows)) {
    const auto [product, reshapes] = reader_of(graph, *norm);
    if (product == nullptr || !fits(*norm, *product) || !context.allows_fusion(*norm) ||
        !context.allows_fusion(*product) || !fold_scale_and_shift(graph, *norm, *product, context))
      continue;
    lift_reshapes(graph, *norm, reshapes);
    std::vector<Node*> members = with_epilogue(graph, *product, context);
    members.insert(members.begin(), norm);
    context.applied(make_region(graph, members)->name);
    changed = true;
  }
  return changed;
}

}  // namespace tenon
