#include "passes/quantized.h"

#include <algorithm>

#include "ops/ops.h"

namespace tenon {
namespace {

/// Of first convolutions of images.
constexpr int64_t kMostImageChannels = 4, kMostImageTaps = 64, kMostImageColumns = 64,
                  kWholeColumns = 16;

/// Products of bytes, this many, stay inside i32.
constexpr int64_t kMaxDepth = 65536;
/// Convolutions of fewer channels gather more than they multiply.
constexpr int64_t kFewChannels = 16;

int64_t block_size_of(const Node& node) {
  if (const auto* quantize = node.as<Quantize>()) return quantize->block_size;
  return node.as<Dequantize>()->block_size;
}

int64_t positive_axis(const Node& node) {
  const auto* quantize = node.as<Quantize>();
  const int64_t axis = quantize != nullptr ? quantize->axis : node.as<Dequantize>()->axis;
  return axis < 0 ? axis + static_cast<int64_t>(node.input(0)->type.shape.size()) : axis;
}

bool same_numbers(const Value* a, const Value* b) {
  const Tensor &x = *a->constant(), &y = *b->constant();
  if (x.count() != y.count()) return false;
  for (int64_t i = 0; i < x.count(); ++i)
    if (x.as_double(i) != y.as_double(i)) return false;
  return true;
}

bool all_zero(const Value* zero) {
  if (zero == nullptr) return true;
  for (int64_t i = 0; i < zero->constant()->count(); ++i)
    if (zero->constant()->as_double(i) != 0) return false;
  return true;
}

/// Every weight without its zero point is an i8, or the sum of two where kernels take those.
bool weights_fit(const Node& node, const PassOptions& options) {
  const Value* zero = node.input(2);
  const Tensor& weights = *node.input(0)->constant();
  if (is_real(weights.type())) return true;
  if (weights.type() == DataType::kInt8 && all_zero(zero)) return true;
  const int64_t zeros = zero == nullptr ? 0 : zero->constant()->count();
  if (zeros > 1 && !options.wide_weights) return false;
  const Extents& extents = weights.extents();
  const int64_t axis = zeros > 1 ? positive_axis(node) : 0;
  const int64_t inner = element_count({extents.begin() + axis + 1, extents.end()});
  // Twice as large products leave sums half as deep.
  const int64_t depth = extents.size() == 2 ? std::max(extents[0], extents[1])
                                            : weights.count() / std::max<int64_t>(extents[0], 1);
  const int64_t parts = options.wide_weights && depth <= kMaxDepth / 2 ? 2 : 1;
  for (int64_t i = 0; i < weights.count(); ++i) {
    const int64_t shift =
        zeros == 0 ? 0 : zero->constant()->as_int64(zeros == 1 ? 0 : i / inner % zeros);
    const int64_t w = weights.as_int64(i) - shift;
    if (w < -128 * parts || w > 127 * parts) return false;
  }
  return true;
}

/// The scales of the weights go along `axis`, or there is one.
bool scales_along(const Node& weights, int64_t axis) {
  return weights.input(1)->constant()->count() == 1 || positive_axis(weights) == axis;
}

bool fits_convolution(const Node& node, const Node& weights, const PassOptions& options) {
  const auto* conv = node.as<Conv>();
  const Extents extents = weights.input(0)->constant()->extents();
  if (extents.size() < 3 || extents.size() > 5) return false;
  if (conv->groups != 1 && !options.quantized_groups) return false;
  if (!options.quantized_stems && extents[1] < kFewChannels) return false;
  return element_count(extents) / std::max<int64_t>(extents[0], 1) <= kMaxDepth &&
         scales_along(weights, 0);
}

bool fits_product(const Node& node, const Node& weights) {
  const auto* matmul = node.as<MatMul>();
  const Extents extents = weights.input(0)->constant()->extents();
  if (matmul->transpose_a || extents.size() != 2 || node.input(0)->type.shape.size() < 2)
    return false;
  const int64_t columns = matmul->transpose_b ? 0 : 1;
  return extents[1 - columns] <= kMaxDepth && scales_along(weights, columns);
}

bool is_small_weight(DataType type) {
  return is_byte_integer(type) || type == DataType::kInt4 || type == DataType::kUInt4;
}

/// Kernels of GPUs take steps of these, and whole numbers of the last.
bool takes_block(int64_t block) {
  return block == 32 || block == 64 || block % 128 == 0;
}

/// One scale, one a column, or blocks of them along the depth.
bool scales_columns(const Node& dequantize, int64_t columns) {
  const bool along_columns = positive_axis(dequantize) == columns;
  if (block_size_of(dequantize) > 0) return !along_columns;
  return dequantize.input(1)->constant()->count() == 1 || along_columns;
}

/// The scale is constant, and so are as many zero points where there are any.
bool knows_numbers(const Node& node) {
  const Tensor* scale = node.input(1)->constant();
  if (scale == nullptr || scale->count() == 0) return false;
  if (!node.has_input(2)) return true;
  const Tensor* zero = node.input(2)->constant();
  return zero != nullptr && zero->count() == scale->count();
}

/// Whether all of the value's axes but the last make at most kFewRows rows.
bool has_few_rows(const Graph& graph, const Value& value) {
  Dim rows(1);
  const Shape& shape = value.type.shape;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows = rows * shape[i];
  return rows.range(graph.symbol_ranges).max <= kFewRows;
}

/// Rows of 16 bits on GPUs have kernels for some blocks, and few of them.
bool fits_halves(const Graph& graph, const Node& dequantize, const Value& x) {
  return takes_block(block_size_of(dequantize)) && has_few_rows(graph, x);
}

/// The product is one with small weights, of rows that kernels see in that type.
bool multiplies_weights(const Graph& graph, const Node& node, DataType rows,
                        const PassOptions& options) {
  const bool on_host =
      options.small_weights && (rows == DataType::kFloat32 || rows == DataType::kBFloat16);
  if (!on_host && !(options.small_half_weights && is_half(rows))) return false;
  const auto* matmul = node.as<MatMul>();
  if (matmul == nullptr || matmul->transpose_a || produced_by<Dequantize>(node.input(1)) == nullptr)
    return false;
  const Node& dequantize = *node.input(1)->producer();
  const Value* x = node.input(0);
  return small_weights(node.input(1)) != nullptr &&
         scales_columns(dequantize, matmul->transpose_b ? 0 : 1) &&
         x->type.type == dequantize.output()->type.type && x->type.shape.size() >= 2 &&
         x->constant() == nullptr && (on_host || fits_halves(graph, dequantize, *x));
}

/// Transposed weights, which may become weights that are transposed.
bool feeds_product(const Value& value, const PassOptions& options) {
  const auto uses = value.uses();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    return use.index == 1 && use.node->is<MatMul>() &&
           per_tensor_bytes(use.node->input(0), options) != nullptr;
  });
}

}  // namespace

bool has_known_scaling(const Node& node) {
  const bool has_numbers = node.is<Quantize>() || node.is<Dequantize>();
  return has_numbers && block_size_of(node) == 0 && knows_numbers(node);
}

bool is_per_tensor(const Node& node) {
  return has_known_scaling(node) && node.input(1)->constant()->count() == 1;
}

bool is_symmetric(const Node& node) {
  return has_known_scaling(node) && all_zero(node.input(2));
}

bool is_byte(DataType type) {
  return byte_size(type) == 1 && type != DataType::kBool;
}

DataType quantized_type(const Node& node) {
  return node.is<Quantize>() ? node.output()->type.type : node.input(0)->type.type;
}

bool same_scaling(const Node& a, const Node& b) {
  if (!has_known_scaling(a) || !has_known_scaling(b) || quantized_type(a) != quantized_type(b))
    return false;
  if (!same_numbers(a.input(1), b.input(1))) return false;
  if (a.input(1)->constant()->count() > 1 && positive_axis(a) != positive_axis(b)) return false;
  if (a.has_input(2) && b.has_input(2)) return same_numbers(a.input(2), b.input(2));
  return all_zero(a.input(2)) && all_zero(b.input(2));
}

int64_t zero_point_of(const Node& node) {
  return node.has_input(2) ? node.input(2)->constant()->as_int64(0) : 0;
}

bool is_multiplied(DataType type, const PassOptions& options) {
  const bool is_float8 = type == DataType::kFloat8E4M3 || type == DataType::kFloat8E5M2;
  return is_byte_integer(type) || (options.float8_regions && is_float8);
}

bool is_region_real(DataType type, const PassOptions& options) {
  return type == DataType::kFloat32 || (options.quantized_halves && is_half(type));
}

Node* per_tensor_bytes(const Value* value, const PassOptions& options) {
  if (produced_by<Dequantize>(value) == nullptr) return nullptr;
  Node* node = value->producer();
  return is_per_tensor(*node) && is_multiplied(quantized_type(*node), options) &&
                 is_region_real(value->type.type, options)
             ? node
             : nullptr;
}

bool is_single(const Value& value) {
  return std::all_of(value.type.shape.begin(), value.type.shape.end(),
                     [](const Dim& dim) { return dim == Dim(1); });
}

Node* small_weights(const Value* value) {
  if (produced_by<Dequantize>(value) == nullptr) return nullptr;
  Node* node = value->producer();
  const Tensor* weights = node->input(0)->constant();
  return weights != nullptr && weights->rank() == 2 && is_small_weight(weights->type()) &&
                 knows_numbers(*node)
             ? node
             : nullptr;
}

Node* computed_bytes(const Value* value, const PassOptions& options) {
  if (!options.dynamic_scales || produced_by<Dequantize>(value) == nullptr) return nullptr;
  Node* node = value->producer();
  return block_size_of(*node) == 0 && is_byte_integer(quantized_type(*node)) &&
                 is_single(*node->input(1)) &&
                 (!node->has_input(2) || is_single(*node->input(2))) &&
                 node->input(1)->type.type == DataType::kFloat32 &&
                 value->type.type == DataType::kFloat32
             ? node
             : nullptr;
}

Node* constant_bytes(const Value* value, const PassOptions& options) {
  if (produced_by<Dequantize>(value) == nullptr) return nullptr;
  Node* node = value->producer();
  return has_known_scaling(*node) && is_multiplied(quantized_type(*node), options) &&
                 node->input(0)->constant() != nullptr && is_region_real(value->type.type, options)
             ? node
             : nullptr;
}

bool can_anchor_quantized(const Node& node, const PassOptions& options) {
  if (!node.is<Conv>() && !node.is<MatMul>()) return false;
  const Node* x = per_tensor_bytes(node.input(0), options);
  if (x == nullptr) x = computed_bytes(node.input(0), options);
  const Node* weights = constant_bytes(node.input(1), options);
  if (x == nullptr || weights == nullptr || x->input(0)->constant() != nullptr) return false;
  if (is_byte_integer(quantized_type(*x)) != is_byte_integer(quantized_type(*weights)))
    return false;
  const bool fits =
      node.is<Conv>() ? fits_convolution(node, *weights, options) : fits_product(node, *weights);
  return fits && weights_fit(*weights, options);
}

bool multiplies_small_weights(const Graph& graph, const Node& node, const PassOptions& options) {
  return options.quantized_regions && node.is<MatMul>() &&
         multiplies_weights(graph, node, node.input(0)->type.type, options);
}

bool multiplies_small_weights_in(DataType rows, const Graph& graph, const Node& node,
                                 const PassOptions& options) {
  return options.quantized_regions && node.is<MatMul>() &&
         node.output()->type.type == DataType::kFloat32 &&
         multiplies_weights(graph, node, rows, options);
}

bool gives_small_weights(const Graph& graph, const Node& node, const PassOptions& options) {
  const auto uses = node.output()->uses();
  return node.is<Dequantize>() && !graph.is_output(node.output()) && !uses.empty() &&
         std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
           return use.index == 1 &&
                  (multiplies_small_weights(graph, *use.node, options) ||
                   (options.precision &&
                    multiplies_small_weights_in(*options.precision, graph, *use.node, options)));
         });
}

bool gives_quantized_weights(const Node& node, const PassOptions& options) {
  if (!node.is<Dequantize>() || constant_bytes(node.output(), options) == nullptr) return false;
  const auto uses = node.output()->uses();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    if (use.node->is<Transpose>()) return feeds_product(*use.node->output(), options);
    return use.index == 1 && can_anchor_quantized(*use.node, options);
  });
}

const Node* dequantized_image(const Node& region) {
  for (const auto& node : region.bodies[0]->nodes()) {
    const auto* conv = node->as<Conv>();
    if (conv == nullptr) continue;
    const Shape& weights = node->input(1)->type.shape;
    if (conv->groups != 1 || weights.size() != 4 ||
        produced_by<Dequantize>(node->input(0)) == nullptr)
      return nullptr;
    const bool fits =
        std::ranges::all_of(weights, [](const Dim& dim) { return dim.is_constant(); }) &&
        weights[0].constant() <= kMostImageColumns && weights[0].constant() % kWholeColumns == 0 &&
        weights[1].constant() <= kMostImageChannels &&
        weights[2].constant() * weights[3].constant() <= kMostImageTaps;
    const bool is_cropped =
        std::ranges::any_of(conv->pads_begin, [](int64_t pad) { return pad < 0; });
    return fits && !is_cropped ? node->input(0)->producer() : nullptr;
  }
  return nullptr;
}

Node* own_copy(Graph& graph, Node& user, int index) {
  Node* node = user.input(index)->producer();
  if (node->output()->uses().size() == 1 && !graph.is_output(node->output())) return node;
  Node* copy = graph.add_node(node->op->clone(), node->inputs(), 1, node->name);
  copy->origins = node->origins;
  copy->output()->type = node->output()->type;
  user.set_input(index, copy->output());
  return copy;
}

}  // namespace tenon
