// MatMulInteger and ConvInteger come as products of integers from which zero points are taken, with
// the scales behind: ONNX Runtime's dynamic quantization writes networks of them. They become
// products of dequantized numbers, which fuse_quantized takes, zero points and scales computed in
// the run included. Only products that it takes: as reals sums would not be exact. Must run after
// fold_constants and before fuse_quantized.
#include <algorithm>
#include <cmath>

#include "ops/ops.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

struct Factor {
  Value* bytes = nullptr;
  Value* zero = nullptr;   ///< Absent: 0.
  Value* scale = nullptr;  ///< Absent: 1.
};

Value* add_number(Graph& graph, DataType type, const Shape& shape, double number) {
  Tensor tensor(type, Extents(shape.size(), 1));
  tensor.set_from_double(0, number);
  return graph.add_constant(std::move(tensor));
}

/// The zero point as a byte, if it is one.
Value* zero_of(Graph& graph, double number, DataType type) {
  const double low = type == DataType::kInt8 ? -128 : 0;
  if (number != std::rint(number) || number < low || number > low + 255) return nullptr;
  return add_number(graph, type, {}, number);
}
Value* zero_of(Graph& graph, Value* zero, DataType type) {
  if (const auto number = scalar_of(zero); number && is_single(*zero))
    return zero_of(graph, *number, type);
  if (produced_by<Cast>(zero) == nullptr || !is_single(*zero)) return nullptr;
  Value* source = zero->producer()->input(0);
  return source->type.type == type ? source : nullptr;
}

/// Bytes as other numbers, without their zero point.
std::optional<Factor> factor_of(Graph& graph, Value* value) {
  Value *zero = nullptr, *negative = nullptr;
  if (const Node* difference = pointwise_producer(value, PointwiseFunction::k_sub)) {
    zero = difference->input(1);
    value = difference->input(0);
  } else if (const Node* sum = pointwise_producer(value, PointwiseFunction::k_add)) {
    // Of reals a constant is added.
    negative = sum->input(1);
    value = sum->input(0);
    if (!scalar_of(negative) || !is_single(*negative)) return std::nullopt;
  }
  if (produced_by<Cast>(value) == nullptr) return std::nullopt;
  Factor factor{value->producer()->input(0)};
  const DataType type = factor.bytes->type.type;
  if (!is_byte_integer(type) || factor.bytes->constant() != nullptr) return std::nullopt;
  if (zero == nullptr && negative == nullptr) return factor;
  factor.zero =
      zero != nullptr ? zero_of(graph, zero, type) : zero_of(graph, -*scalar_of(negative), type);
  if (factor.zero == nullptr) return std::nullopt;
  return factor;
}

/// The least and the greatest of the numbers of each column, 0 among them.
struct ColumnRanges {
  std::vector<double> low, high;
  int64_t inner = 1;  ///< Numbers of a column that lie side by side.

  size_t column(int64_t i) const { return static_cast<size_t>(i / inner) % low.size(); }
};

std::optional<ColumnRanges> column_ranges(const Tensor& tensor, int64_t axis) {
  const Extents& extents = tensor.extents();
  ColumnRanges ranges;
  ranges.low.assign(static_cast<size_t>(extents[axis]), 0.0);
  ranges.high = ranges.low;
  ranges.inner = element_count({extents.begin() + axis + 1, extents.end()});
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double number = tensor.as_double(i);
    if (number != std::rint(number)) return std::nullopt;
    const size_t column = ranges.column(i);
    ranges.low[column] = std::min(ranges.low[column], number);
    ranges.high[column] = std::max(ranges.high[column], number);
  }
  return ranges;
}

/// Constant integers as i8, or as u8 with a zero point for each column.
std::optional<Factor> constant_factor(Graph& graph, const Value& value, int64_t axis) {
  const Tensor* tensor = value.constant();
  if (tensor == nullptr || tensor->count() == 0) return std::nullopt;
  const auto ranges = column_ranges(*tensor, axis);
  if (!ranges) return std::nullopt;
  const bool is_signed =
      std::ranges::min(ranges->low) >= -128 && std::ranges::max(ranges->high) <= 127;
  for (size_t i = 0; i < ranges->low.size() && !is_signed; ++i)
    if (ranges->high[i] - ranges->low[i] > 255) return std::nullopt;
  Tensor bytes(is_signed ? DataType::kInt8 : DataType::kUInt8, tensor->extents());
  for (int64_t i = 0; i < tensor->count(); ++i)
    bytes.set_from_double(i,
                          tensor->as_double(i) - (is_signed ? 0 : ranges->low[ranges->column(i)]));
  Factor factor{graph.add_constant(std::move(bytes))};
  if (is_signed) return factor;
  Tensor zeros(DataType::kUInt8, {tensor->extents()[axis]});
  for (int64_t i = 0; i < zeros.count(); ++i)
    zeros.set_from_double(i, -ranges->low[static_cast<size_t>(i)]);
  factor.zero = graph.add_constant(std::move(zeros));
  return factor;
}

class IntegerProduct {
 public:
  IntegerProduct(Graph& graph, Node& node) : graph_(graph), node_(node), last_(&node) {}

  /// Finds factors, the cast to reals, and the scales behind it.
  bool match() {
    const bool is_product = node_.is<MatMul>() || (node_.is<Conv>() && !node_.has_input(2));
    if (!is_product) return false;  // Others may have no output.
    const DataType type = node_.output()->type.type;
    if (type != (node_.is<Conv>() ? DataType::kFloat64 : DataType::kInt32)) return false;
    const Tensor* weights_read = node_.input(1)->constant();
    if (weights_read == nullptr || !has_columns(*weights_read) || !follow_casts()) return false;
    const auto x = factor_of(graph_, node_.input(0));
    if (!x) return false;
    const auto weights = constant_factor(graph_, *node_.input(1), weight_axis());
    if (!weights) return false;
    x_ = *x, weights_ = *weights;
    take_scales();
    return true;
  }

  /// The last node that it stands for.
  Node& last() const { return *last_; }

  /// The product of dequantized numbers.
  Node& build() {
    if (x_.scale == nullptr)
      x_.scale = add_number(graph_, DataType::kFloat32,
                            x_.zero == nullptr ? Shape{} : x_.zero->type.shape, 1);
    if (weights_.scale == nullptr) take_weight_scale(Tensor::scalar_f32(1));
    Value* product = add_op(graph_, node_.op->clone(),
                            {dequantized(x_, 0), dequantized(weights_, weight_axis())}, node_);
    return *product->producer();
  }

 private:
  bool has_columns(const Tensor& weights) const {
    if (node_.is<Conv>()) return true;
    const auto& op = *node_.as<MatMul>();
    return weights.extents().size() == 2 && !op.transpose_b;
  }
  int64_t weight_axis() const { return node_.is<Conv>() ? 0 : 1; }

  /// To i32, where it is none yet, and to f32.
  bool follow_casts() {
    for (const DataType type : {DataType::kInt32, DataType::kFloat32}) {
      if (last_->output()->type.type == type) continue;
      Node* next = only_user(graph_, last_->output());
      if (next == nullptr || !next->is<Cast>() || next->output()->type.type != type) return false;
      last_ = next;
    }
    return true;
  }

  /// A factor of what the cast gives: the scale of x, a number of the run, times that of the
  /// weights.
  void take_scales() {
    Node* next = only_user(graph_, last_->output());
    if (next == nullptr || !is_function(*next, PointwiseFunction::k_mul) ||
        next->input(0) == next->input(1))
      return;
    Value* scales = next->input(next->input(0) == last_->output() ? 1 : 0);
    const Node* product = pointwise_producer(scales, PointwiseFunction::k_mul);
    Value *of_x = scales, *of_weights = nullptr;
    if (product != nullptr) {
      const int constant = product->input(1)->constant() != nullptr ? 1 : 0;
      of_weights = product->input(constant), of_x = product->input(1 - constant);
      if (of_weights->constant() == nullptr) return;
    }
    if (!fits(*of_x) || next->output()->type.shape != last_->output()->type.shape) return;
    if (of_weights != nullptr && !take_weight_scale(*of_weights->constant())) return;
    x_.scale = of_x;
    last_ = next;
  }

  bool fits(const Value& scale) const {
    const Shape& shape = x_.zero == nullptr ? Shape{} : x_.zero->type.shape;
    return scale.type.type == DataType::kFloat32 && scale.constant() == nullptr &&
           scale.type.shape == shape;
  }

  /// One scale, or one a column, as numbers along one axis.
  bool take_weight_scale(const Tensor& numbers) {
    const Shape& result = node_.output()->type.shape;
    const int64_t columns = node_.input(1)->constant()->extents()[weight_axis()];
    const size_t axis = node_.is<Conv>() ? 1 : result.size() - 1, rank = numbers.extents().size();
    const bool is_one = numbers.count() == 1;
    const bool along = numbers.count() == columns && rank + axis >= result.size() &&
                       numbers.extents()[rank + axis - result.size()] == columns;
    if (numbers.type() != DataType::kFloat32 || (!is_one && !along)) return false;
    // As many as zero points.
    const bool repeats = is_one && weights_.zero != nullptr;
    Tensor scales(DataType::kFloat32, is_one && !repeats ? Extents{} : Extents{columns});
    for (int64_t i = 0; i < scales.count(); ++i)
      scales.set_from_double(i, numbers.as_double(is_one ? 0 : i));
    weights_.scale = graph_.add_constant(std::move(scales));
    return true;
  }

  Value* dequantized(const Factor& factor, int64_t axis) {
    auto op = std::make_unique<Dequantize>();
    op->axis = axis;
    op->to = DataType::kFloat32;
    std::vector<Value*> inputs = {factor.bytes, factor.scale};
    if (factor.zero != nullptr) inputs.push_back(factor.zero);
    return add_op(graph_, std::move(op), std::move(inputs), node_);
  }

  Graph& graph_;
  Node& node_;
  Node* last_;
  Factor x_, weights_;
};

}  // namespace

bool dequantize_integers(Graph& graph, PassContext& context) {
  if (!context.options().dynamic_scales || !context.options().quantized_regions) return false;
  bool tried = false;
  const bool changed = for_each_fusible(graph, context, [&](Node& node) {
    IntegerProduct product(graph, node);
    if (!product.match()) return false;
    Node& real = product.build();
    tried = true;
    if (!can_anchor_quantized(real, context.options())) return false;
    add_origins(real, product.last());
    stand_in(graph, product.last(), real.output());
    return context.applied(real.name + " is a product of dequantized numbers");
  });
  if (tried && !changed) graph.remove_dead();
  return changed;
}

}  // namespace tenon
