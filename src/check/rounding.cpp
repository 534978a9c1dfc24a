#include "check/rounding.h"

#include <algorithm>
#include <random>
#include <span>
#include <utility>

#include "base/parallel.h"
#include "ir/element.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Bits of f32's 24 that are rounded away: tf32 keeps 11, sums of some hundred numbers in another
/// order agree in about 20.
constexpr int kTf32Bits = 13, kSumBits = 4;

/// A few units of the last place: by so much of its terms a sum may be off, however small it is.
constexpr double kTermShare = 1.0 / (1 << 22);

/// Half the distance of neighbours, as a share of a number: of sums in another order, and of values
/// that are stored in 16 bits.
double error_of(std::optional<DataType> stored) {
  if (!stored.has_value()) return 1.0 / (1 << 20);
  return *stored == DataType::kFloat16 ? 1.0 / (1 << 12) : 1.0 / (1 << 9);
}

bool is_product(const Node& node) {
  return node.is<Conv>() || node.is<Deconv>() || node.is<MatMul>() || node.is<Einsum>();
}

bool is_quantized_next(const Value& value) {
  return std::ranges::any_of(value.uses(), [](const Use& use) { return use.node->is<Quantize>(); });
}

/// Whether a result is the sum of products of what the node reads.
bool sums_terms(const Node& node) {
  if (const auto* reduce = node.as<Reduce>())
    return reduce->function == ReduceFunction::kSum || reduce->function == ReduceFunction::kMean;
  if (const auto* pool = node.as<Pool>()) return pool->function == PoolFunction::kAverage;
  if (const auto* sums = node.as<Cumulative>()) return !sums->product;
  return is_product(node);
}

bool adds_up(const Node& node) {
  return sums_terms(node) || node.is<Attention>() || node.is<Normalization>() ||
         node.is<Softmax>() || node.is<Rnn>() || node.is<BatchNorm>() || node.is<Reduce>();
}

/// Whether a result is of differences to means of what the node reads.
bool subtracts_means(const Node& node) {
  return node.is<Normalization>() || node.is<BatchNorm>();
}

/// Of rows along the last axis, by means of their own.
bool is_row_normalization(const Node& node) {
  const auto* op = node.as<Normalization>();
  if (op == nullptr || op->norm != NormKind::kLayer) return false;
  const Shape& shape = node.input(0)->type.shape;
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  return is_constant(shape) && last >= 0 && (op->axis == -1 || op->axis == last) &&
         shape.back().constant() > 0;
}

template <class E> void keep(std::span<const float> wide, std::span<float> kept) {
  constexpr size_t kPart = size_t{1} << 20;
  const size_t parts = (wide.size() + kPart - 1) / kPart;
  for_each_parallel(parts, helper_threads(), [&](size_t part) {
    const size_t end = std::min((part + 1) * kPart, wide.size());
    for (size_t i = part * kPart; i < end; ++i) kept[i] = E::load(E::store(wide[i]));
  });
}

/// Numbers as a 16-bit type keeps them: a model's weights, which casts would go through one by one.
Tensor kept_in(DataType type, const Tensor& wide) {
  Tensor kept(DataType::kFloat32, wide.extents());
  const auto from = wide.values<float>();
  if (type == DataType::kFloat16)
    keep<Element<DataType::kFloat16>>(from, kept.mutable_values<float>());
  else
    keep<Element<DataType::kBFloat16>>(from, kept.mutable_values<float>());
  return kept;
}

class Rounder {
 public:
  Rounder(Graph& graph, const Rounding& rounding, std::mt19937_64& random)
      : graph_(graph), rounding_(rounding), random_(random) {}

  Status run() {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    for (Value* input : graph_.inputs()) store(stored_type(*input), input);
    for (Node* node : nodes) {
      for (const auto& body : node->bodies) TENON_TRY(Rounder(*body, rounding_, random_).run());
      if (is_product(*node) && rounding_.products_in_tf32) cut_operands(*node);
      if (rounding_.draw != 0 && rounding_.reordered_sums && subtracts_means(*node))
        disturb_operand(*node);
      for (Value* output : node->outputs()) {
        if (output->type.type != DataType::kFloat32) continue;
        const auto type = stored_type(*output);
        const bool cut = rounding_.reordered_sums && adds_up(*node);
        Value* value = output;
        if (rounding_.draw != 0 && rounding_.reordered_sums && is_row_normalization(*node))
          value = put_behind(value, with_other_means(*node));
        if (cut) value = put_behind(value, cut_bits(value, kSumBits));
        // Sums of two quantized tensors lie in the middle between numbers of a third one often.
        const bool jumps = rounding_.reordered_sums && is_quantized_next(*output);
        if (rounding_.draw != 0 && (cut || jumps || type.has_value()))
          value = put_behind(value, moved(value, error_of(type)));
        if (rounding_.draw != 0 && cut && sums_terms(*node))
          value = put_behind(value, raised(*node, value));
        store(type, value);
      }
    }
    return graph_.sort();
  }

 private:
  /// Uses of a value but those by the nodes that round it read their results.
  Value* put_behind(Value* value, Value* rounded) {
    const std::vector<Node*> own = std::move(fresh_);
    fresh_.clear();
    const auto is_own = [&](const Node* node) {
      return std::find(own.begin(), own.end(), node) != own.end();
    };
    const std::vector<Use> uses(value->uses().begin(), value->uses().end());
    for (const Use& use : uses)
      if (!is_own(use.node)) use.node->set_input(use.index, rounded);
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      if (graph_.outputs()[i] == value) {
        rounded->name = std::exchange(value->name, {});
        graph_.set_output(static_cast<int>(i), rounded);
      }
    return rounded;
  }

  Value* add(std::unique_ptr<Op> op, std::vector<Value*> inputs, const TensorType& type) {
    Node* node = graph_.add_node(std::move(op), std::move(inputs), 1);
    node->output()->type = type;
    fresh_.push_back(node);
    return node->output();
  }

  /// x by a random share off, the same for all its numbers: their extents may be open.
  Value* moved(Value* x, double share) {
    std::uniform_real_distribution<double> error(-share, share);
    Value* factor = graph_.add_constant(Tensor::scalar_f32(static_cast<float>(1 + error(random_))));
    factor->type = {DataType::kFloat32, {}, Layout::kRowMajor};
    return add(std::make_unique<Pointwise>(PointwiseFunction::k_mul), {x, factor}, x->type);
  }

  /// x without its last bits, rounded: c - (c - x) for c = (2^bits + 1) x.
  Value* cut_bits(Value* x, int bits) {
    Value* factor = graph_.add_constant(Tensor::scalar_f32(static_cast<float>((1 << bits) + 1)));
    factor->type = {DataType::kFloat32, {}, Layout::kRowMajor};
    const auto binary = [&](PointwiseFunction function, Value* a, Value* b) {
      return add(std::make_unique<Pointwise>(function), {a, b}, x->type);
    };
    Value* large = binary(PointwiseFunction::k_mul, x, factor);
    return binary(PointwiseFunction::k_sub, large, binary(PointwiseFunction::k_sub, large, x));
  }

  void cut_operands(Node& node) {
    for (int i = 0; i < 2; ++i) {
      Value* operand = node.input(i);
      if (operand == nullptr || operand->type.type != DataType::kFloat32) continue;
      node.set_input(i, cut_bits(operand, kTf32Bits));
      fresh_.clear();
    }
  }

  /// Elements off by a few units of the last place, each by its own: rows of nearly equal numbers
  /// lie next to their means, which other sums miss by as much.
  void disturb_operand(Node& node) {
    Value* x = node.input(0);
    if (x->type.type != DataType::kFloat32 || !is_constant(x->type.shape)) return;
    node.set_input(0, disturbed(x));
    fresh_.clear();
  }

  /// Each element off by a few units of its last place.
  Value* disturbed(Value* x) {
    Tensor factors(DataType::kFloat32, constants(x->type.shape));
    std::uniform_real_distribution<double> error(-kTermShare, kTermShare);
    for (float& factor : factors.mutable_values<float>())
      factor = static_cast<float>(1 + error(random_));
    Value* factor = graph_.add_constant(std::move(factors));
    factor->type = {DataType::kFloat32, x->type.shape, Layout::kRowMajor};
    return pointwise(PointwiseFunction::k_mul, {x, factor}, x->type);
  }

  /// A normalization whose means miss those of the elements that it reads: kernels subtract the
  /// product of mean and factor, which leaves something of a row of equal numbers.
  Value* with_other_means(const Node& node) {
    const auto* op = node.as<Normalization>();
    Value* x = node.input(0);
    auto moments = std::make_unique<RowMoments>();
    moments->group = x->type.shape.back().constant();
    TensorType pairs = {DataType::kFloat32, x->type.shape, Layout::kRowMajor};
    pairs.shape.back() = Dim(1);
    pairs.shape.emplace_back(2);
    auto standardize = std::make_unique<Standardize>();
    standardize->epsilon = op->epsilon;
    Value* others = disturbed(add(std::move(moments), {x}, pairs));
    Value* y = add(std::move(standardize), {x, others}, node.output()->type);
    constexpr PointwiseFunction kSteps[] = {PointwiseFunction::k_mul, PointwiseFunction::k_add};
    for (size_t i = 1; i < node.inputs().size(); ++i)
      if (Value* operand = node.inputs()[i]; operand != nullptr)
        y = pointwise(kSteps[i - 1], {y, operand}, y->type);
    return y;
  }

  /// y + share op(|x|): all errors of a sum's terms have one sign, so that they are seen where the
  /// terms cancel.
  Value* raised(Node& node, Value* y) {
    std::vector<Value*> sizes;
    for (Value* x : node.inputs()) {
      const bool is_term = x != nullptr && x->type.type == DataType::kFloat32;
      sizes.push_back(is_term ? pointwise(PointwiseFunction::k_abs, {x}, x->type) : x);
    }
    Value* size = add(node.op->clone(), std::move(sizes), y->type);
    Value* share = graph_.add_constant(Tensor::scalar_f32(static_cast<float>(kTermShare)));
    share->type = {DataType::kFloat32, {}, Layout::kRowMajor};
    Value* error = pointwise(PointwiseFunction::k_mul, {size, share}, y->type);
    return pointwise(PointwiseFunction::k_add, {y, error}, y->type);
  }

  Value* pointwise(PointwiseFunction function, std::vector<Value*> operands,
                   const TensorType& type) {
    return add(std::make_unique<Pointwise>(function), std::move(operands), type);
  }

  std::optional<DataType> stored_type(const Value& value) const {
    return rounding_.stored ? rounding_.stored(value) : std::nullopt;
  }

  void store(std::optional<DataType> type, Value* value) {
    if (!type.has_value() || value->type.type != DataType::kFloat32) return;
    if (const Tensor* constant = value->constant(); constant != nullptr && is_half(*type)) {
      Value* kept = graph_.add_constant(kept_in(*type, *constant));
      kept->type = value->type;
      put_behind(value, kept);
      return;
    }
    TensorType narrow = value->type;
    narrow.type = *type;
    Value* stored = add(std::make_unique<Cast>(*type), {value}, narrow);
    put_behind(value, add(std::make_unique<Cast>(DataType::kFloat32), {stored}, value->type));
  }

  Graph& graph_;
  const Rounding& rounding_;
  std::mt19937_64& random_;
  std::vector<Node*> fresh_;  ///< Made for the value whose turn it is.
};

}  // namespace

Result<std::unique_ptr<Graph>> with_rounding(const Graph& graph, const Rounding& rounding) {
  auto copy = graph.clone();
  std::mt19937_64 random(static_cast<uint64_t>(rounding.draw));
  TENON_TRY(Rounder(*copy, rounding, random).run());
  TENON_TRY(infer_graph(*copy));
  return copy;
}

}  // namespace tenon
