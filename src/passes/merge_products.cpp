// Products of one value with several constant matrices (queries, keys and values; the two halves of
// a gated MLP) become one product with the matrices side by side, and so do convolutions that
// differ in their weights only. The parts of the result are slices, which cost nothing where their
// users read strided tensors. Sums with vectors and activations that all of them have come along,
// and quantization of heads that attention reads as bytes. Matrices may be dequantized, without
// zero points. Must run after recognize_attention (which takes
// scales off) and before fuse_quantized and fuse_epilogue.
#include <algorithm>

#include "passes/quantized.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// One of the products: its anchor and the chain behind it that is merged too.
struct Member {
  Node* anchor = nullptr;
  std::vector<Node*> chain;
  Value* last() const { return (chain.empty() ? anchor : chain.back())->output(); }
};

/// The axis of the result along which the parts lie.
int64_t joined_axis(const Node& anchor) {
  return anchor.is<Conv>() ? 1 : static_cast<int64_t>(anchor.output()->type.shape.size()) - 1;
}

int64_t columns(const Member& member) {
  return member.anchor->output()->type.shape[joined_axis(*member.anchor)].constant();
}

/// The Dequantize of the anchor's weights, or null.
const Node* dequantized_weights(const Node& anchor) {
  return produced_by<Dequantize>(anchor.input(1)) != nullptr ? anchor.input(1)->producer()
                                                             : nullptr;
}

/// The anchor's constant weights, as they are stored; null where there are none that may be joined.
const Tensor* weights_of(const Node& anchor) {
  const Node* node = dequantized_weights(anchor);
  if (node == nullptr) {
    const Tensor* weights = anchor.input(1)->constant();
    return weights != nullptr && is_real(weights->type()) ? weights : nullptr;
  }
  if (node->input(0)->constant() == nullptr || !is_symmetric(*node)) return nullptr;
  const auto* matmul = anchor.as<MatMul>();
  const int64_t rank = node->input(0)->constant()->rank(), axis = node->as<Dequantize>()->axis;
  const int64_t columns = matmul != nullptr && !matmul->transpose_b ? 1 : 0;
  const bool fits = is_per_tensor(*node) || (axis + rank) % rank == columns;
  return fits && produced_by<Dequantize>(anchor.input(0)) != nullptr ? node->input(0)->constant()
                                                                     : nullptr;
}

bool is_candidate(const Node& node) {
  const auto* matmul = node.as<MatMul>();
  const auto* conv = node.as<Conv>();
  if (matmul == nullptr && (conv == nullptr || conv->groups != 1)) return false;
  const Tensor* weights = weights_of(node);
  if (weights == nullptr) return false;
  if (matmul != nullptr) return weights->rank() == 2 && node.output()->type.shape.size() >= 2;
  // Larger windows have kernels (Winograd) that gain nothing from more channels and lose by users
  // that read slices.
  const bool single_pixels = std::all_of(weights->extents().begin() + 2, weights->extents().end(),
                                         [](int64_t extent) { return extent == 1; });
  return single_pixels && (!node.has_input(2) || node.input(2)->constant() != nullptr);
}

/// Whether the operators agree but for their weights.
bool mergeable(const Node& a, const Node& b) {
  if (a.kind() != b.kind() || a.input(0) != b.input(0)) return false;
  const Tensor &wa = *weights_of(a), &wb = *weights_of(b);
  const bool quantized = dequantized_weights(a) != nullptr;
  if (wa.type() != wb.type() || quantized != (dequantized_weights(b) != nullptr)) return false;
  if (const auto* m = a.as<MatMul>()) {
    const auto* n = b.as<MatMul>();
    return m->transpose_a == n->transpose_a && m->transpose_b == n->transpose_b;
  }
  const auto *m = a.as<Conv>(), *n = b.as<Conv>();
  return std::equal(wa.extents().begin() + 1, wa.extents().end(), wb.extents().begin() + 1,
                    wb.extents().end()) &&
         m->strides == n->strides && m->dilations == n->dilations &&
         m->pads_begin == n->pads_begin && m->pads_end == n->pads_end && m->pad_mode == n->pad_mode;
}

/// Users that read slices where they lie: data movement, pointwise operators, attention, products.
/// A user that wants them dense would need a copy, which eats up the gain. `joins`: a join copies
/// its operands (the past of keys and values); convolutions write their parts of one in place.
bool reads_slices(const Value* value, bool joins, int depth = 0) {
  return depth < 6 && std::all_of(value->uses().begin(), value->uses().end(), [&](const Use& use) {
           const Node& user = *use.node;
           if (user.is<Reshape>() || user.is<Transpose>() || user.is<Squeeze>() ||
               user.is<Unsqueeze>() || user.is<Slice>() || user.is<Split>() ||
               user.is<Dequantize>())
             return reads_slices(user.output(), joins, depth + 1);
           return (joins && user.is<Concat>()) || user.is<Pointwise>() || user.is<Attention>() ||
                  user.is<MatMul>() || user.is<Conv>() || user.is<RotaryEmbedding>();
         });
}

/// The quantization of heads for attention that reads bytes, which is all that reads the value;
/// null where there is none.
Node* quantization_of_heads(const Graph& graph, const Value* value, const PassContext& context) {
  Node* next = context.options().attention_of_bytes ? only_user(graph, value) : nullptr;
  const bool fits = next != nullptr && next->is<Quantize>() && is_per_tensor(*next) &&
                    is_symmetric(*next) && is_multiplied(quantized_type(*next), context.options());
  return fits ? next : nullptr;
}

/// The constant of a sum with one number a column (or channel), or null.
const Tensor* column_operand(const Node& node, const Value* running, int64_t axis, int64_t count) {
  const Value* other = node.input(node.input(0) == running ? 1 : 0);
  const Tensor* tensor = other->constant();
  if (tensor == nullptr || tensor->type() != running->type.type) return nullptr;
  const int64_t rank = static_cast<int64_t>(running->type.shape.size());
  if (tensor->count() != count || tensor->rank() > rank) return nullptr;
  const int64_t at = axis - (rank - tensor->rank());
  return at >= 0 && tensor->extents()[at] == count ? tensor : nullptr;
}

class Merger {
 public:
  Merger(Graph& graph, const PassContext& context, std::vector<Node*> anchors)
      : graph_(graph), context_(context), axis_(joined_axis(*anchors[0])) {
    for (Node* anchor : anchors) members_.push_back({anchor, {}});
  }

  std::string run() {
    merge_anchors();
    take_biases();
    while (take_activations()) continue;
    take_quantization();
    std::string names;
    int64_t begin = 0;
    for (const Member& member : members_) {
      const int64_t end = begin + columns(member);
      Value* part = add_op(graph_, std::make_unique<Slice>(),
                           {result_, add_integers(graph_, {begin}), add_integers(graph_, {end}),
                            add_integers(graph_, {axis_})},
                           *member.anchor);
      part->name = member.last()->name;
      graph_.replace_uses(member.last(), part);
      names += (names.empty() ? "" : " | ") + member.anchor->name;
      begin = end;
    }
    return names;
  }

 private:
  /// Constants side by side; each is [outer, columns * inner].
  Value* joined(const std::vector<Tensor>& parts, int64_t axis) {
    Extents extents = parts[0].extents();
    extents[axis] = 0;
    for (const Tensor& part : parts) extents[axis] += part.extents()[axis];
    Tensor whole(parts[0].type(), extents);
    int64_t outer = 1, done = 0;
    for (int64_t i = 0; i < axis; ++i) outer *= extents[i];
    const int64_t row = whole.byte_count() / outer;
    for (const Tensor& part : parts) {
      const int64_t bytes = part.byte_count() / outer;
      for (int64_t o = 0; o < outer; ++o)
        std::copy_n(part.bytes() + o * bytes, bytes, whole.mutable_bytes() + o * row + done);
      done += bytes;
    }
    Value* value = graph_.add_constant(std::move(whole));
    value->type = {value->constant()->type(), to_shape(extents)};
    return value;
  }

  /// Dequantized where those of the members are, with a scale for each column.
  Value* joined_weights() {
    const Node& first = *members_[0].anchor;
    const auto* matmul = first.as<MatMul>();
    const int64_t axis = matmul != nullptr && !matmul->transpose_b ? 1 : 0;
    std::vector<Tensor> weights, scales;
    for (const Member& member : members_) {
      weights.push_back(*weights_of(*member.anchor));
      const Node* dequantize = dequantized_weights(*member.anchor);
      if (dequantize == nullptr) continue;
      const Tensor& given = *dequantize->input(1)->constant();
      Tensor scale(given.type(), {columns(member)});
      for (int64_t i = 0; i < scale.count(); ++i)
        scale.set_from_double(i, given.as_double(given.count() == 1 ? 0 : i));
      scales.push_back(std::move(scale));
    }
    Value* whole = joined(weights, axis);
    const Node* like = dequantized_weights(first);
    if (like == nullptr) return whole;
    auto op = std::make_unique<Dequantize>(*like->as<Dequantize>());
    op->axis = axis;
    return add_op(graph_, std::move(op), {whole, joined(scales, 0)}, *like);
  }

  void merge_anchors() {
    const Node& first = *members_[0].anchor;
    std::vector<Tensor> biases;
    bool any_bias = false;
    for (const Member& member : members_) any_bias |= member.anchor->has_input(2);
    std::vector<Value*> inputs = {first.input(0), joined_weights()};
    for (const Member& member : members_)
      if (any_bias)
        biases.push_back(member.anchor->has_input(2)
                             ? member.anchor->input(2)->constant()->reshaped({columns(member)})
                             : zeros(first.output()->type.type, columns(member)));
    if (any_bias) inputs.push_back(joined(biases, 0));
    result_ = add_op(graph_, first.op->clone(), std::move(inputs), first);
    std::string name;
    for (const Member& member : members_) {
      name += (name.empty() ? "" : " | ") + member.anchor->name;
      add_origins(*result_->producer(), *member.anchor);
    }
    result_->producer()->name = name;
  }

  static Tensor zeros(DataType type, int64_t count) {
    Tensor tensor(type, {count});
    for (int64_t i = 0; i < count; ++i) tensor.set_from_double(i, 0);
    return tensor;
  }

  /// The user that may come along, or null.
  Node* next_of(const Member& member) const {
    Node* next = only_user(graph_, member.last());
    return next != nullptr && next->is<Pointwise>() && context_.allows_fusion(*next) &&
                   next->output()->type == member.last()->type
               ? next
               : nullptr;
  }

  /// Sums with a vector; members without one get zeros.
  void take_biases() {
    std::vector<Tensor> parts;
    bool any = false;
    for (Member& member : members_) {
      Node* next = next_of(member);
      const Tensor* operand = next != nullptr && is_function(*next, k_add)
                                  ? column_operand(*next, member.last(), axis_, columns(member))
                                  : nullptr;
      parts.push_back(operand != nullptr ? operand->reshaped({columns(member)})
                                         : zeros(result_->type.type, columns(member)));
      any |= operand != nullptr;
      if (operand != nullptr) member.chain.push_back(next);
    }
    if (!any) return;
    Value* vector = joined(parts, 0);
    if (axis_ != static_cast<int64_t>(result_->type.shape.size()) - 1) {
      Extents extents(result_->type.shape.size() - axis_, 1);
      extents[0] = vector->constant()->count();
      Tensor wide = vector->constant()->reshaped(extents);
      vector = graph_.add_constant(std::move(wide));
      vector->type = {result_->type.type, to_shape(extents)};
    }
    const Node* like = nullptr;
    for (const Member& member : members_)
      if (!member.chain.empty()) like = like == nullptr ? member.chain.back() : like;
    append(k_add, {result_, vector}, *like);
  }

  /// One unary function that all have.
  bool take_activations() {
    std::vector<Node*> next;
    for (const Member& member : members_) next.push_back(next_of(member));
    if (next[0] == nullptr) return false;
    const auto* wanted = next[0]->as<Pointwise>();
    for (const Node* node : next) {
      const auto* function = node == nullptr ? nullptr : node->as<Pointwise>();
      if (function == nullptr || node->inputs().size() != 1 ||
          function->function != wanted->function || function->alpha != wanted->alpha ||
          function->beta != wanted->beta)
        return false;
    }
    for (size_t i = 0; i < next.size(); ++i) members_[i].chain.push_back(next[i]);
    append(wanted->function, {result_}, *next[0], wanted->alpha, wanted->beta);
    return true;
  }

  /// Quantization of all of them: with the first one's scale, behind a factor for each column.
  void take_quantization() {
    std::vector<Node*> next;
    for (const Member& member : members_) {
      next.push_back(quantization_of_heads(graph_, member.last(), context_));
      if (next.back() == nullptr || quantized_type(*next.back()) != quantized_type(*next[0]))
        return;
    }
    const auto scale = [](const Node* node) { return node->input(1)->constant()->as_double(0); };
    std::vector<Tensor> factors;
    bool any = false;
    for (size_t i = 0; i < next.size(); ++i) {
      const double factor = scale(next[0]) / scale(next[i]);
      any |= factor != 1;
      Tensor& part = factors.emplace_back(result_->type.type, Extents{columns(members_[i])});
      for (int64_t k = 0; k < part.count(); ++k) part.set_from_double(k, factor);
    }
    if (any) append(k_mul, {result_, joined(factors, 0)}, *next[0]);
    std::vector<Value*> inputs = next[0]->inputs();
    inputs[0] = result_;
    result_ = add_op(graph_, next[0]->op->clone(), std::move(inputs), *next[0]);
    for (size_t i = 0; i < next.size(); ++i) members_[i].chain.push_back(next[i]);
  }

  void append(PointwiseFunction function, std::vector<Value*> inputs, const Node& like,
              double alpha = 0, double beta = 0) {
    result_ = add_pointwise(graph_, function, std::move(inputs), like, alpha, beta);
    for (const Member& member : members_)
      if (!member.chain.empty()) add_origins(*result_->producer(), *member.chain.back());
  }

  Graph& graph_;
  const PassContext& context_;
  int64_t axis_;
  std::vector<Member> members_;
  Value* result_ = nullptr;
};

/// The pointwise functions with constants and the activations behind an anchor, which may come
/// along.
std::vector<const Node*> chain_behind(const Graph& graph, const Node& anchor) {
  std::vector<const Node*> chain;
  const Value* value = anchor.output();
  while (const Node* next = only_user(graph, value)) {
    const bool constant_operand =
        next->inputs().size() == 2 && (next->input(0)->constant() || next->input(1)->constant());
    if (!next->is<Pointwise>() || (next->inputs().size() != 1 && !constant_operand)) break;
    chain.push_back(next);
    value = next->output();
  }
  return chain;
}

/// Functions of one operand behind a convolution. They are free where they are its epilogue; where
/// members disagree, merging would leave each a step of its own. (The gate of an MLP needs that
/// step anyway, with the product of the halves.)
std::vector<PointwiseFunction> activations(const Graph& graph, const Node& anchor) {
  if (!anchor.is<Conv>()) return {};
  std::vector<PointwiseFunction> functions;
  for (const Node* node : chain_behind(graph, anchor))
    if (node->inputs().size() == 1) functions.push_back(node->as<Pointwise>()->function);
  return functions;
}

bool gives_bytes(const Graph& graph, const Node& anchor, const PassContext& context) {
  const auto chain = chain_behind(graph, anchor);
  const Value* last = chain.empty() ? anchor.output() : chain.back()->output();
  return quantization_of_heads(graph, last, context) != nullptr;
}

/// The candidates among the users of a value, in groups that merge, in order of the graph.
std::vector<std::vector<Node*>> groups_of(const Graph& graph, const PassContext& context) {
  std::vector<std::vector<Node*>> groups;
  for (const auto& node : graph.nodes()) {
    if (!is_candidate(*node) || !context.allows_fusion(*node)) continue;
    const auto chain = chain_behind(graph, *node);
    const Value* part = chain.empty() ? node->output() : chain.back()->output();
    const Node* bytes = node->is<MatMul>() ? quantization_of_heads(graph, part, context) : nullptr;
    if (bytes != nullptr) part = bytes->output();
    if (!reads_slices(part, !node->is<Conv>()) || graph.is_output(part)) continue;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& members) {
      return mergeable(*members[0], *node) &&
             activations(graph, *members[0]) == activations(graph, *node) &&
             gives_bytes(graph, *members[0], context) == (bytes != nullptr);
    });
    if (group != groups.end())
      group->push_back(node.get());
    else
      groups.push_back({node.get()});
  }
  std::erase_if(groups, [](const auto& members) { return members.size() < 2; });
  return groups;
}

}  // namespace

bool merge_products(Graph& graph, PassContext& context) {
  const auto groups = groups_of(graph, context);
  for (const auto& anchors : groups)
    context.applied(Merger(graph, context, anchors).run() + " are one product");
  return !groups.empty();
}

}  // namespace tenon
