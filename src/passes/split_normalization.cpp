// A normalization between two products of 16-bit floats becomes two halves: the product that writes
// its rows computes moments of its result, and the product that reads them applies mean and
// deviation to its sums, so that no pass over memory is left. Scale and shift go into weights and
// bias. Only where the device's kernel does both. Must run after lower_precision, since weights are
// rounded here, and directly behind fuse_epilogue, whose regions it adds to. It pays for few rows:
// where their number varies, the graph with halves is a form beside the one without. Both have
// scale and shift in weights, so that they share these.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "base/float_formats.h"
#include "ops/region.h"
#include "passes/match.h"
#include "passes/residual.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// Columns whose moments are taken together: the columns of every tile of the kernel.
const int64_t kGroup = RowMoments().group;
/// Products with more columns than that for each of their k are bound by their stores.
constexpr int64_t kMostColumns = 8;

/// More rows keep their normalization where their number is known, and no form is timed beside it:
/// plans got 4 to 8 % faster at 197 to 591 of them, 1.5 at 1024, at most 1.2 at 1576 and 2048, and
/// slower behind that, where products behind a split normalization lose tilings and libraries to
/// choose from.
constexpr int64_t kMostRows = 1024;

/// The number of rows that a place may have: one that is known and small, or any.
enum class Rows : uint8_t { kFew, kAny };

/// Weights as [n, k] or [k, n], by the product's attribute.
struct Weights {
  const Tensor* tensor;
  bool transposed;
  int64_t k() const { return tensor->extents()[transposed ? 1 : 0]; }
  int64_t n() const { return tensor->extents()[transposed ? 0 : 1]; }
};

bool is_16_bit(const Value* value) {
  return is_half(value->type.type);
}

/// One number for each of `count` elements of a row.
bool is_one_each(const Tensor* tensor, int64_t count) {
  return tensor != nullptr && tensor->rank() >= 1 && tensor->count() == count &&
         tensor->extents().back() == count;
}

/// Nothing, or a constant like that.
bool is_absent_or_constant(const Node& node, int input, int64_t count) {
  if (!node.has_input(input)) return true;
  const Tensor* tensor = node.input(input)->constant();
  return is_one_each(tensor, count) && is_real(tensor->type());
}

/// The product of a region that is one with an epilogue, or of itself; null for others.
const Node* product_of_node(const Node& node) {
  if (node.is<MatMul>()) return &node;
  if (!node.is<Fused>() || node.bodies[0]->outputs().size() > 2) return nullptr;
  const Node* product = nullptr;
  for (const auto& inner : node.bodies[0]->nodes()) {
    if (inner->is<Pointwise>() || inner->is<Cast>() || inner->is<Standardize>() ||
        inner->is<RowMoments>() || inner->is<GatedUnit>())
      continue;
    if (product != nullptr || !inner->is<MatMul>()) return nullptr;
    product = inner.get();
  }
  return product;
}

/// The value outside that a region's body sees.
const Value* outside(const Node& node, const Value* value) {
  if (!node.is<Fused>()) return value;
  return value->producer() == nullptr ? node.input(value->index()) : value;
}

/// Constant 2-D weights of a product whose operands and results are of one 16-bit type.
std::optional<Weights> weights_of(const Node& node, const Node& product) {
  const Tensor* weights = outside(node, product.input(1))->constant();
  const bool fits = weights != nullptr && weights->rank() == 2 && is_16_bit(product.input(0)) &&
                    weights->type() == product.input(0)->type.type &&
                    product.output()->type.type == weights->type() &&
                    !product.as<MatMul>()->transpose_a && product.input(0)->type.shape.size() >= 2;
  if (!fits) return std::nullopt;
  return Weights{weights, product.as<MatMul>()->transpose_b};
}

bool are_few(const Shape& rows, int64_t width) {
  return is_constant(rows) && element_count(constants(rows)) > 0 &&
         element_count(constants(rows)) <= kMostRows * width;
}

/// The kernel takes products of whole groups and pieces of 16 bytes.
bool has_kernel(const Node& node, const Node& product, Rows rows) {
  const auto weights = weights_of(node, product);
  const Shape& shape = product.output()->type.shape;
  return weights && weights->k() > 0 && weights->k() % 8 == 0 && shape.back().is_constant() &&
         shape.back().constant() == weights->n() &&
         (rows == Rows::kAny || are_few(shape, weights->n()));
}

/// The region's chain is one of its kernel's: from the product to the first result.
bool writes_rows(const Graph& graph, const Node& node, const Value* rows, Rows count) {
  const Node* product = product_of_node(node);
  if (product == nullptr || node.output() != rows || node.outputs().size() != 1 ||
      graph.is_output(rows) || !has_kernel(node, *product, count))
    return false;
  return rows->type.type == product->output()->type.type &&
         rows->type.shape == product->output()->type.shape &&
         rows->type.shape.back().constant() % kGroup == 0;
}

/// Reshapes of rows as they are.
bool keeps_rows(const Node& node) {
  if (!is_reshape(&node)) return false;  // Others may lack a first operand.
  const Shape &from = node.input(0)->type.shape, &to = node.output()->type.shape;
  return from.size() >= 2 && to.size() >= 2 && from.back() == to.back();
}

/// A reader of rows elsewhere leaves them where they are, dense and aligned.
bool stays_in_place(const Value* rows) {
  return std::all_of(rows->uses().begin(), rows->uses().end(), [](const Use& use) {
    if (is_reshape(use.node)) return keeps_rows(*use.node) && stays_in_place(use.node->output());
    return use.node->is<Normalization>() || use.node->is<Fused>() || use.node->is<Pointwise>() ||
           use.node->is<MatMul>();
  });
}

/// A normalization and the products around it.
struct Place {
  Node *writer, *norm, *reader;
};

/// The writer of the rows that a normalization or a reshape of them reads.
Node* writer_of(const Graph& graph, const Value* rows, Rows count) {
  while (rows->producer() != nullptr && keeps_rows(*rows->producer()) && !graph.is_output(rows))
    rows = rows->producer()->input(0);
  Node* writer = rows->producer();
  const bool fits =
      writer != nullptr && writes_rows(graph, *writer, rows, count) && stays_in_place(rows);
  return fits ? writer : nullptr;
}

/// The product that alone reads the normalized value, as its first operand.
Node* reader_of(const Graph& graph, const Node& norm, Rows count) {
  const Value* rows = norm.output();
  Node* next = only_user(graph, rows);
  for (; next != nullptr && keeps_rows(*next); next = only_user(graph, rows)) rows = next->output();
  const Node* product = next == nullptr ? nullptr : product_of_node(*next);
  if (product == nullptr || outside(*next, product->input(0)) != rows ||
      !has_kernel(*next, *product, count))
    return nullptr;
  const Weights weights = *weights_of(*next, *product);
  const bool folds = rows->uses().size() == 1 && product->input(0)->uses().size() == 1 &&
                     is_absent_or_constant(norm, 1, weights.k()) &&
                     is_absent_or_constant(norm, 2, weights.k()) &&
                     weights.n() <= weights.k() * kMostColumns;
  // Others that read the weights keep them as they are: there would be two of them.
  const bool alone = !norm.has_input(1) || outside(*next, product->input(1))->uses().size() == 1;
  return folds && alone ? next : nullptr;
}

std::optional<Place> place_of(const Graph& graph, Node* norm, Rows count) {
  const Value* rows = norm->input(0);
  const auto rank = static_cast<int64_t>(rows->type.shape.size());
  const int64_t axis = norm->as<Normalization>()->axis;
  if (rank < 2 || (axis != -1 && axis != rank - 1) || norm->output()->type.type != rows->type.type)
    return std::nullopt;
  Node* writer = writer_of(graph, rows, count);
  Node* reader = writer == nullptr ? nullptr : reader_of(graph, *norm, count);
  return reader == nullptr ? std::nullopt : std::optional(Place{writer, norm, reader});
}

/// Sums of the squares of numbers, and of the squares of their rounding errors.
struct Losses {
  static constexpr int64_t kLanes = 16;  ///< Independent sums, so that loops vectorize.
  std::array<double, kLanes> lost{}, all{};
  static double sum(const std::array<double, kLanes>& lanes) {
    return std::accumulate(lanes.begin(), lanes.end(), 0.0);
  }
};

/// A line of weights as it lies in memory, times a number for each.
template <auto kWiden, auto kNarrow>
void scale_line(const uint16_t* in, const float* factors, uint16_t* out, int64_t count,
                Losses& losses) {
  const auto scale_one = [&](int64_t i, size_t lane) {
    const float exact = kWiden(in[i]) * factors[i];
    out[i] = kNarrow(exact);
    const double difference = static_cast<double>(kWiden(out[i])) - exact;
    losses.lost[lane] += difference * difference;
    losses.all[lane] += static_cast<double>(exact) * exact;
  };
  int64_t i = 0;
  for (; i + Losses::kLanes <= count; i += Losses::kLanes)
    for (int64_t lane = 0; lane < Losses::kLanes; ++lane)
      scale_one(i + lane, static_cast<size_t>(lane));
  for (; i < count; ++i) scale_one(i, 0);
}

std::vector<float> floats_of(const Tensor& numbers) {
  std::vector<float> floats(static_cast<size_t>(numbers.count()));
  for (size_t i = 0; i < floats.size(); ++i)
    floats[i] = static_cast<float>(numbers.as_double(static_cast<int64_t>(i)));
  return floats;
}

/// Weights times the scale of their rows; nothing where they are too large for the type, or so
/// small that they lose more than its rounding.
std::optional<Tensor> scaled(const Weights& from, const Tensor& scale) {
  const bool bf16 = from.tensor->type() == DataType::kBFloat16;
  const auto scale_this =
      bf16 ? scale_line<bf16_to_float, bf16_from_float> : scale_line<f16_to_float, f16_from_float>;
  Tensor result(from.tensor->type(), from.tensor->extents());
  const uint16_t* in = from.tensor->values<uint16_t>().data();
  uint16_t* out = result.mutable_values<uint16_t>().data();
  const std::vector<float> scales = floats_of(scale);
  const int64_t lines = from.transposed ? from.n() : from.k();
  const int64_t length = from.transposed ? from.k() : from.n();
  std::vector<float> factors = from.transposed ? scales : std::vector<float>();
  Losses losses;
  for (int64_t line = 0; line < lines; ++line) {
    if (!from.transposed)
      factors.assign(static_cast<size_t>(length), scales[static_cast<size_t>(line)]);
    scale_this(in + line * length, factors.data(), out + line * length, length, losses);
  }
  // Infinities and no-numbers make that of the sums.
  const double most_lost = bf16 ? 4e-3 : 5e-4;
  const double lost = Losses::sum(losses.lost), all = Losses::sum(losses.all);
  const bool holds = std::isfinite(lost) && lost <= most_lost * most_lost * all;
  return holds ? std::optional(std::move(result)) : std::nullopt;
}

/// Adds a row of weights, times a number, to the sums of its columns.
template <auto kWiden>
void add_row(const Weights& from, int64_t row, double factor, std::vector<double>& sums) {
  const uint16_t* in = from.tensor->values<uint16_t>().data() + row * from.n();
  for (size_t column = 0; column < sums.size(); ++column)
    sums[column] += factor * kWiden(in[column]);
}

/// The sum of a column of transposed weights, times a number for each.
template <auto kWiden>
double dot_column(const Weights& from, int64_t column, const std::vector<double>& factors) {
  constexpr size_t kLanes = 8;
  const uint16_t* in = from.tensor->values<uint16_t>().data() + column * from.k();
  std::array<double, kLanes> sums{};
  size_t row = 0;
  for (; row + kLanes <= factors.size(); row += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += factors[row + lane] * kWiden(in[row + lane]);
  for (; row < factors.size(); ++row) sums[0] += factors[row] * kWiden(in[row]);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// The summand that the shift becomes behind the product, and the bias that is added there anyway.
std::optional<Tensor> shifted(const Weights& from, const Tensor& shift, const Tensor* bias) {
  const bool bf16 = from.tensor->type() == DataType::kBFloat16;
  const auto add = bf16 ? add_row<bf16_to_float> : add_row<f16_to_float>;
  const auto dot = bf16 ? dot_column<bf16_to_float> : dot_column<f16_to_float>;
  std::vector<double> factors, sums(static_cast<size_t>(from.n()), 0.0);
  for (int64_t row = 0; row < from.k(); ++row) factors.push_back(shift.as_double(row));
  if (from.transposed) {
    for (int64_t i = 0; i < from.n(); ++i) sums[static_cast<size_t>(i)] = dot(from, i, factors);
  } else {
    for (int64_t row = 0; row < from.k(); ++row)
      if (const double factor = factors[static_cast<size_t>(row)]; factor != 0)
        add(from, row, factor, sums);
  }
  Tensor result(from.tensor->type(), {from.n()});
  for (int64_t i = 0; i < from.n(); ++i) {
    const double more = bias == nullptr ? 0 : bias->as_double(i);
    result.set_from_double(i, sums[static_cast<size_t>(i)] + more);
    if (!std::isfinite(result.as_double(i))) return std::nullopt;
  }
  return result;
}

bool is_zero(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (tensor.as_double(i) != 0) return false;
  return true;
}

Value* add_tensor(Graph& graph, Tensor tensor) {
  const TensorType type{tensor.type(), to_shape(tensor.extents())};
  Value* value = graph.add_constant(std::move(tensor));
  value->type = type;
  return value;
}

Shape shape_of_moments(Shape rows) {
  rows.back() = Dim(rows.back().constant() / kGroup);
  rows.emplace_back(2);
  return rows;
}

/// The sum behind a product with a constant of one number a column, and which input that is.
struct Bias {
  Node* sum = nullptr;
  int input = 0;
};
Bias bias_behind(const Graph& graph, const Node& product, int64_t n) {
  Node* next = only_user(graph, product.output());
  if (next == nullptr || !is_function(*next, k_add)) return {};
  for (int i = 0; i < 2; ++i) {
    if (is_one_each(next->input(i)->constant(), n)) return {next, i};
  }
  return {};
}

/// Members of a region that was put back in its graph, or the node itself.
std::vector<Node*> taken_apart(Graph& graph, Node* node) {
  return node->is<Fused>() ? inline_region(graph, node) : std::vector<Node*>{node};
}

/// Weights and bias that take over a normalization's scale and shift.
struct Folded {
  std::optional<Tensor> weights, bias;
};

/// The product behind a normalization, or its region, with more members.
class Reader {
 public:
  Reader(Graph& graph, Node* node) : graph_(graph), members_(taken_apart(graph, node)) {
    at_ = std::find_if(members_.begin(), members_.end(),
                       [](const Node* member) { return member->is<MatMul>(); }) -
          members_.begin();
  }
  void take(Folded folded) {
    Node& product = *members_[at_];
    if (folded.weights) product.set_input(1, add_tensor(graph_, std::move(*folded.weights)));
    if (folded.bias) add_shift(product, std::move(*folded.bias));
  }
  void standardize(const Node& norm, Value* rows, Value* moments) {
    Node& product = *members_[at_];
    const TensorType type = product.input(0)->type;
    if (rows->type.shape != type.shape) {
      rows = add_reshape(graph_, rows, type.shape, norm);
      moments = add_reshape(graph_, moments, shape_of_moments(type.shape), norm);
    }
    const auto* op = norm.as<Normalization>();
    auto half = std::make_unique<Standardize>();
    half->norm = op->norm, half->epsilon = op->epsilon;
    Value* standardized = add_op(graph_, std::move(half), {rows, moments}, norm);
    standardized->type = type;
    product.set_input(0, standardized);
    members_.insert(members_.begin(), standardized->producer());
    ++at_;
  }
  const Node* close() { return members_.size() == 1 ? members_[0] : make_region(graph_, members_); }

 private:
  void add_shift(Node& product, Tensor shift) {
    const Bias bias = bias_behind(graph_, product, shift.count());
    if (bias.sum != nullptr) {
      bias.sum->set_input(bias.input, add_tensor(graph_, std::move(shift)));
      return;
    }
    Value* result = product.output();
    Value* sum =
        add_pointwise(graph_, k_add, {result, add_tensor(graph_, std::move(shift))}, product);
    sum->name = result->name;
    graph_.replace_uses(result, sum);
    sum->producer()->set_input(0, result);
    members_.insert(members_.begin() + at_ + 1, sum->producer());
  }

  Graph& graph_;
  std::vector<Node*> members_;
  ptrdiff_t at_ = 0;
};

/// The bias of a reader that is still a region.
const Tensor* bias_of(const Node& reader, const Node& product, int64_t n) {
  if (!reader.is<Fused>() || product.output()->uses().size() != 1) return nullptr;
  const Node& next = *product.output()->uses()[0].node;
  if (!is_function(next, k_add)) return nullptr;
  for (int i = 0; i < 2; ++i) {
    const Tensor* tensor = outside(reader, next.input(i))->constant();
    if (is_one_each(tensor, n)) return tensor;
  }
  return nullptr;
}

/// Nothing where the type is too small for scale and shift.
std::optional<Folded> folded(const Place& place) {
  const Node& norm = *place.norm;
  const Node& product = *product_of_node(*place.reader);
  const Weights weights = *weights_of(*place.reader, product);
  Folded folded;
  if (norm.has_input(1) && !(folded.weights = scaled(weights, *norm.input(1)->constant())))
    return std::nullopt;
  const Tensor* bias = bias_of(*place.reader, product, weights.n());
  if (norm.has_input(2) && !(folded.bias = shifted(weights, *norm.input(2)->constant(), bias)))
    return std::nullopt;
  if (folded.bias && bias == nullptr && is_zero(*folded.bias)) folded.bias.reset();
  return folded;
}

/// Takes scale and shift into the product behind alone; false where there are none, or they do not
/// fit.
bool fold(Graph& graph, const Place& place, PassContext& context) {
  if (!place.norm->has_input(1) && !place.norm->has_input(2)) return false;
  std::optional<Folded> weights = folded(place);
  if (!weights) return false;
  Reader reader(graph, place.reader);
  reader.take(std::move(*weights));
  place.norm->truncate_inputs(1);
  context.applied(reader.close()->name);
  return true;
}

/// False, and nothing done, where the type is too small for scale and shift.
bool split(Graph& graph, const Place& place, PassContext& context) {
  const Node& norm = *place.norm;
  std::optional<Folded> weights = folded(place);
  if (!weights) return false;
  std::vector<Node*> members = taken_apart(graph, place.writer);
  Value* rows = members.back()->output();
  Value* moments = add_op(graph, std::make_unique<RowMoments>(), {rows}, norm);
  moments->type = {DataType::kFloat32, shape_of_moments(rows->type.shape)};
  members.push_back(moments->producer());
  Reader reader(graph, place.reader);
  reader.take(std::move(*weights));
  reader.standardize(norm, rows, moments);
  context.applied(make_region(graph, members)->name);
  context.applied(reader.close()->name);
  return true;
}

}  // namespace

bool split_normalization(Graph& graph, PassContext& context) {
  return for_each_of(nodes_of(graph, normalizes_rows), [&](Node& norm) {
    if (!context.allows_fusion(norm)) return false;
    const bool is_form = context.is_form(), has_form = context.options().leaves_forms && !is_form;
    const auto few = place_of(graph, &norm, Rows::kFew);
    const auto place = few || !(is_form || has_form) ? few : place_of(graph, &norm, Rows::kAny);
    if (!place || !context.allows_fusion(*place->writer) || !context.allows_fusion(*place->reader))
      return false;
    return few || is_form ? split(graph, *place, context) : fold(graph, *place, context);
  });
}

}  // namespace tenon
