// Batch normalization becomes a product and a sum per channel; products and sums per channel behind
// a convolution or a matmul with constant weights go into its weights and bias, those behind a
// matmul's bias too, and so do those in front of all that reads them. Must run before
// fuse_epilogue.
#include <algorithm>
#include <cmath>

#include "passes/channel_constants.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

/// y = x * scale + shift with constants of shape [C,1,...].
bool expand_batch_norm(Graph& graph, Node& node) {
  const auto* norm = node.as<BatchNorm>();
  const TensorType& type = node.input(0)->type;
  if (norm == nullptr || type.shape.size() < 2) return false;
  for (int i = 1; i < 5; ++i)
    if (node.input(i)->constant() == nullptr) return false;
  const int64_t channels = node.input(1)->constant()->count();
  std::vector<double> scale, shift;
  for (int64_t i = 0; i < channels; ++i) {
    const double factor = node.input(1)->constant()->as_double(i) /
                          std::sqrt(node.input(4)->constant()->as_double(i) + norm->epsilon);
    scale.push_back(factor);
    shift.push_back(node.input(2)->constant()->as_double(i) -
                    node.input(3)->constant()->as_double(i) * factor);
  }
  Extents extents(type.shape.size() - 1, 1);
  extents[0] = channels;
  Value* product = add_pointwise(
      graph, k_mul, {node.input(0), constant_like(graph, type.type, extents, scale)}, node);
  Value* sum =
      add_pointwise(graph, k_add, {product, constant_like(graph, type.type, extents, shift)}, node);
  stand_in(graph, node, sum);
  graph.erase(&node);  // It would count as a second user of its input.
  return true;
}

/// Where the channels of an anchor's output and weights are.
struct Channels {
  int64_t output_axis = 1;
  int64_t count = 0;
  int64_t outer = 0, inner = 0;  ///< Weights as [outer, count, inner].
};

std::optional<Channels> channels_of(const Node& anchor) {
  const Tensor* weights = anchor.input(1) == nullptr ? nullptr : anchor.input(1)->constant();
  if (weights == nullptr || anchor.input(1)->uses().size() != 1 || !is_real(weights->type()))
    return std::nullopt;
  const int64_t rank = static_cast<int64_t>(anchor.output()->type.shape.size());
  if (anchor.is<Conv>())
    return Channels{1, weights->extents()[0], 1, weights->count() / weights->extents()[0]};
  if (const auto* deconv = anchor.as<Deconv>(); deconv != nullptr && deconv->groups == 1) {
    const Extents& e = weights->extents();
    return Channels{1, e[1], e[0], weights->count() / (e[0] * e[1])};
  }
  const auto* matmul = anchor.as<MatMul>();
  if (matmul == nullptr || weights->rank() != 2) return std::nullopt;
  const Extents& e = weights->extents();
  if (matmul->transpose_b) return Channels{rank - 1, e[0], 1, e[1]};
  return Channels{rank - 1, e[1], e[0], 1};
}

Value* scaled_weights(Graph& graph, const Tensor& weights, const Channels& channels,
                      const std::vector<double>& factors) {
  Tensor result(weights.type(), weights.extents());
  const bool is_f32 = weights.type() == DataType::kFloat32;
  const float* const from = is_f32 ? weights.values<float>().data() : nullptr;
  float* const to = is_f32 ? result.mutable_values<float>().data() : nullptr;
  for (int64_t o = 0, i = 0; o < channels.outer; ++o)
    for (int64_t c = 0; c < channels.count; ++c) {
      const double factor = factors[c];
      for (const int64_t end = i + channels.inner; i < end; ++i) {
        if (is_f32)
          to[i] = static_cast<float>(from[i] * factor);
        else
          result.set_from_double(i, weights.as_double(i) * factor);
      }
    }
  Value* value = graph.add_constant(std::move(result));
  value->type = {weights.type(), to_shape(weights.extents())};
  return value;
}

/// Weights in f16 keep their digits: each channel's greatest is far above the type's least numbers,
/// which layer scales of untrained networks are not.
template <class ChannelOf>
bool keeps_digits(const Tensor& weights, const ChannelOf& channel_of,
                  const std::vector<double>& factors, const PassContext& context) {
  constexpr double kLeast = 0x1p-10, kGreatest = 65504;
  if (weights.type() != DataType::kFloat16 &&
      context.options().precision != std::optional(DataType::kFloat16))
    return true;
  std::vector<double> greatest(factors.size(), 0);
  for (int64_t i = 0; i < weights.count(); ++i) {
    double& most = greatest[channel_of(i)];
    most = std::max(most, std::abs(weights.as_double(i)));
  }
  for (size_t c = 0; c < factors.size(); ++c) {
    const double scaled = greatest[c] * std::abs(factors[c]);
    if (scaled > kGreatest || (scaled < kLeast && scaled < greatest[c])) return false;
  }
  return true;
}

/// (x + c) with one constant a channel behind a product; that constant is input `constant`.
struct ShiftedProduct {
  Node* sum = nullptr;
  int constant = 0;
};

std::optional<ShiftedProduct> shifted_product(const Graph& graph, const Value* value) {
  Node* sum = pointwise_producer(value, k_add);
  if (sum == nullptr) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const Value* x = sum->input(i);
    if (produced_by<MatMul>(x) != nullptr && only_user(graph, x) != nullptr &&
        x->type.shape == value->type.shape)
      return ShiftedProduct{sum, 1 - i};
  }
  return std::nullopt;
}

/// (x + c) * s becomes x * s + c s, whose first product the weights take.
bool spread(Graph& graph, Node& node, const PassContext& context) {
  if (!is_function(node, k_mul)) return false;
  for (int i = 0; i < 2; ++i) {
    Value* x = node.input(i);
    if (only_user(graph, x) == nullptr || x->type.shape != node.output()->type.shape) continue;
    const auto shifted = shifted_product(graph, x);
    if (!shifted.has_value()) continue;
    Node& anchor = *shifted->sum->input(1 - shifted->constant)->producer();
    const auto channels = channels_of(anchor);
    if (!channels.has_value()) continue;
    const auto rank = static_cast<int64_t>(x->type.shape.size());
    const auto factors =
        per_channel(node.input(1 - i), rank, channels->output_axis, channels->count);
    auto shifts = per_channel(shifted->sum->input(shifted->constant), rank, channels->output_axis,
                              channels->count);
    const Tensor& weights = *anchor.input(1)->constant();
    const auto channel_of = [&](int64_t i) { return i / channels->inner % channels->count; };
    if (!factors || !shifts || !keeps_digits(weights, channel_of, *factors, context)) continue;
    for (int64_t c = 0; c < channels->count; ++c) (*shifts)[c] *= (*factors)[c];
    anchor.set_input(1, scaled_weights(graph, weights, *channels, *factors));
    anchor.output()->name.clear();  // The product is scaled now.
    shifted->sum->set_input(shifted->constant,
                            constant_like(graph, x->type.type, {channels->count}, *shifts));
    add_origins(anchor, node);
    stand_in(graph, node, x);
    graph.erase(&node);
    return true;
  }
  return false;
}

/// Takes `node` (x * c or x + c per channel) into the anchor that makes x.
bool fold(Graph& graph, Node& node) {
  const bool product = is_function(node, k_mul), sum = is_function(node, k_add);
  if (!product && !sum) return false;
  for (int i = 0; i < 2; ++i) {
    Value* x = node.input(i);
    Node* anchor = x->producer();
    if (anchor == nullptr || only_user(graph, x) == nullptr ||
        x->type.shape != node.output()->type.shape)
      continue;
    const auto channels = channels_of(*anchor);
    if (!channels.has_value() || (anchor->is<MatMul>() && sum) || !has_constant_bias(*anchor))
      continue;
    const auto numbers = per_channel(node.input(1 - i), static_cast<int64_t>(x->type.shape.size()),
                                     channels->output_axis, channels->count);
    if (!numbers.has_value()) continue;
    if (product)
      anchor->set_input(1,
                        scaled_weights(graph, *anchor->input(1)->constant(), *channels, *numbers));
    if (!anchor->is<MatMul>() && (sum || anchor->has_input(2))) {
      std::vector<double> bias = bias_of(*anchor, channels->count);
      for (int64_t c = 0; c < channels->count; ++c)
        bias[c] = product ? bias[c] * (*numbers)[c] : bias[c] + (*numbers)[c];
      set_bias(graph, *anchor, bias);
    }
    add_origins(*anchor, node);
    stand_in(graph, node, x);
    graph.erase(&node);  // It would count as a second user of x.
    return true;
  }
  return false;
}

/// A convolution or matmul with constant weights that reads a value as its first operand.
struct Reader {
  Node* node = nullptr;
  int64_t groups = 1, outputs = 0, inputs = 0, taps = 1;  ///< inputs: of a group.
  bool across = false;                                    ///< Weights are [inputs, outputs].
  int64_t channel(int64_t i) const {
    if (across) return i / outputs;
    return i / (inputs * taps) / (outputs / groups) * inputs + i / taps % inputs;
  }
  int64_t output(int64_t i) const { return across ? i % outputs : i / (inputs * taps); }
};

/// A shift is the same at all pixels where none of them is padding.
bool is_padded(const Conv& conv) {
  return conv.pad_mode != PadMode::kExplicit || !all_are(conv.pads_begin, 0) ||
         !all_are(conv.pads_end, 0);
}

std::optional<Reader> reader_of(const Use& use, bool shifts) {
  const Tensor* weights = use.node->inputs().size() < 2 || use.node->input(1) == nullptr
                              ? nullptr
                              : use.node->input(1)->constant();
  if (use.index != 0 || weights == nullptr || use.node->input(1)->uses().size() != 1 ||
      !is_real(weights->type()))
    return std::nullopt;
  const Extents& e = weights->extents();
  if (const auto* conv = use.node->as<Conv>()) {
    if (weights->rank() < 3 || !has_constant_bias(*use.node) || (shifts && is_padded(*conv)))
      return std::nullopt;
    return Reader{use.node, conv->groups, e[0], e[1], weights->count() / (e[0] * e[1])};
  }
  const auto* matmul = use.node->as<MatMul>();
  if (matmul == nullptr || matmul->transpose_a || weights->rank() != 2 ||
      use.node->input(0)->type.shape.size() < 2)
    return std::nullopt;
  return matmul->transpose_b ? Reader{use.node, 1, e[0], e[1]}
                             : Reader{use.node, 1, e[1], e[0], 1, true};
}

void scale_reader(Graph& graph, const Reader& reader, const std::vector<double>& factors) {
  const Tensor& weights = *reader.node->input(1)->constant();
  Tensor scaled(weights.type(), weights.extents());
  for (int64_t i = 0; i < weights.count(); ++i)
    scaled.set_from_double(i, weights.as_double(i) * factors[reader.channel(i)]);
  Value* value = graph.add_constant(std::move(scaled));
  value->type = reader.node->input(1)->type;
  reader.node->set_input(1, value);
}

void shift_reader(Graph& graph, const Reader& reader, const std::vector<double>& shifts,
                  const Node& like) {
  const Tensor& weights = *reader.node->input(1)->constant();
  std::vector<double> sums(reader.outputs, 0);
  for (int64_t i = 0; i < weights.count(); ++i)
    sums[reader.output(i)] += weights.as_double(i) * shifts[reader.channel(i)];
  if (reader.node->is<Conv>()) {
    const std::vector<double> bias = bias_of(*reader.node, reader.outputs);
    for (int64_t o = 0; o < reader.outputs; ++o) sums[o] += bias[o];
    return set_bias(graph, *reader.node, sums);
  }
  Value* const product = reader.node->output();
  const std::vector<Use> uses(product->uses().begin(), product->uses().end());
  Value* const constant = constant_like(graph, product->type.type, {reader.outputs}, sums);
  Value* const sum = add_pointwise(graph, k_add, {product, constant}, *reader.node);
  sum->producer()->origins = like.origins;
  std::swap(sum->name, product->name);
  for (const Use& use : uses) use.node->set_input(use.index, sum);
}

/// Takes `node` (x * c or x + c per channel) into the weights of all that reads it.
bool fold_ahead(Graph& graph, Node& node, const PassContext& context) {
  const bool product = is_function(node, k_mul), sum = is_function(node, k_add);
  if ((!product && !sum) || graph.is_output(node.output()) || node.output()->uses().empty())
    return false;
  std::vector<Reader> readers;
  for (const Use& use : node.output()->uses()) {
    const auto reader = reader_of(use, sum);
    if (!reader.has_value() || !context.allows_fusion(*use.node) ||
        (use.node->is<MatMul>() && graph.is_output(use.node->output())))
      return false;
    readers.push_back(*reader);
  }
  for (int i = 0; i < 2; ++i) {
    Value* x = node.input(i);
    if (x->constant() != nullptr || x->type.shape != node.output()->type.shape) continue;
    const auto rank = static_cast<int64_t>(x->type.shape.size());
    const Reader& first = readers.front();
    const auto numbers = per_channel(node.input(1 - i), rank, first.node->is<Conv>() ? 1 : rank - 1,
                                     first.groups * first.inputs);
    if (!numbers.has_value()) continue;
    const auto differs = [&](const Reader& reader) {
      return reader.node->is<Conv>() != first.node->is<Conv>() ||
             reader.groups * reader.inputs != first.groups * first.inputs ||
             (product &&
              !keeps_digits(
                  *reader.node->input(1)->constant(),
                  [&](int64_t element) { return reader.channel(element); }, *numbers, context));
    };
    if (std::ranges::any_of(readers, differs)) return false;
    for (const Reader& reader : readers) {
      if (product)
        scale_reader(graph, reader, *numbers);
      else
        shift_reader(graph, reader, *numbers, node);
      add_origins(*reader.node, node);
      reader.node->set_input(0, x);
    }
    graph.erase(&node);
    return true;
  }
  return false;
}

}  // namespace

bool fold_into_weights(Graph& graph, PassContext& context) {
  const bool expanded = for_each_fusible(graph, context, [&](Node& node) {
    return node.is<BatchNorm>() && expand_batch_norm(graph, node);
  });
  // New nodes stand at the end; the graph had no cycle, so it has none now.
  (void)graph.sort().ok();
  const bool folded = for_each_fusible(graph, context, [&](Node& node) {
    const std::string name = node.name;
    return (fold(graph, node) || spread(graph, node, context)) &&
           context.applied(name + " goes into the weights before it");
  });
  const bool ahead = for_each_from_back(nodes_of(graph), [&](Node& node) {
    const std::string name = node.name;
    return context.allows_fusion(node) && fold_ahead(graph, node, context) &&
           context.applied(name + " goes into the weights behind it");
  });
  return expanded || folded || ahead;
}

}  // namespace tenon
