// Constant folding: nodes whose operands are all constants are evaluated; integer tensors whose
// elements inference knows as expressions become constants or `dims`, so that no shape arithmetic
// is left to run.
#include <algorithm>
#include <map>
#include <span>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

/// Results larger than this and than their operands are not worth a constant (Expand, Tile, Range,
/// ...).
constexpr int64_t kMaxGrowth = 1 << 20;
/// Beyond this all constants together may at most become twice as large, however little each result
/// adds: constants that grow step by step would grow without end.
constexpr int64_t kFreeGrowth = 64 << 20;
/// Evaluations of nodes that folding a loop may take: many more would keep a build busy for
/// minutes.
constexpr int64_t kMaxEvaluations = 1'000'000;

bool has_effects_or_chance(const Node& node) {
  return node.is<Random>() || node.is<Bernoulli>() || node.is<Multinomial>() ||
         node.is<Assertion>() || node.is<Plugin>() || node.outputs().empty();
}

bool operands_constant(const Node& node) {
  return std::all_of(node.inputs().begin(), node.inputs().end(), [](const Value* value) {
    return value == nullptr || value->constant() != nullptr;
  });
}

/// Quantized weights stay quantized where kernels read them so: folding them would only make them
/// larger.
bool keeps_weights_small(const Graph& graph, const Node& node, const PassOptions& options) {
  if (!node.is<Dequantize>() || node.input(0)->constant()->count() <= 1) return false;
  return options.quantized_weights ||
         (options.quantized_regions && gives_quantized_weights(node, options)) ||
         gives_small_weights(graph, node, options);
}

/// Weights of a wider type are worth their memory: else each run converts them.
bool converts(const Node& node) {
  return node.is<Cast>() || node.is<Dequantize>();
}

/// Bytes of the operands, each counted once; of those only that the node alone reads, where asked.
int64_t operand_bytes(const Node& node, bool only_own) {
  int64_t bytes = 0;
  for (auto input = node.inputs().begin(); input != node.inputs().end(); ++input) {
    if (*input == nullptr || std::find(node.inputs().begin(), input, *input) != input) continue;
    const bool own =
        std::ranges::all_of((*input)->uses(), [&](const Use& use) { return use.node == &node; });
    if (own || !only_own) bytes += (*input)->constant()->byte_count();
  }
  return bytes;
}

int64_t result_bytes(const Node& node) {
  int64_t bytes = 0;
  for (const Value* value : node.outputs()) {
    if (!is_constant(value->type.shape)) return INT64_MAX;
    const int64_t count = element_count(constants(value->type.shape));
    bytes = saturating_add(bytes, saturating_multiply(count, byte_size(value->type.type)));
  }
  return bytes;
}

/// How much folding may add to a graph's constants.
class Room {
 public:
  explicit Room(const Graph& graph) {
    int64_t given = 0;
    for (const auto& node : graph.nodes())
      if (const auto* constant = node->as<Constant>())
        given = saturating_add(given, constant->value.byte_count());
    left_ = saturating_add(kFreeGrowth, given);
  }
  /// Whether there is room for the node's results, which is used up then.
  bool take(const Node& node) {
    if (converts(node)) return true;
    const int64_t bytes = result_bytes(node);
    // Results of evaluation are small mostly.
    if (bytes == INT64_MAX) return true;
    if (bytes > saturating_add(kMaxGrowth, operand_bytes(node, false))) return false;
    const int64_t added = std::max<int64_t>(0, bytes - operand_bytes(node, true));
    if (added > left_) return false;
    left_ -= added;
    return true;
  }

 private:
  int64_t left_ = 0;
};

int64_t evaluations(const Graph& body);

/// Of nodes, at most; INT64_MAX where a loop's number of iterations is not known.
int64_t evaluations(const Node& node) {
  int64_t trips = 1;
  if (node.is<Loop>()) {
    const Tensor* count = node.has_input(0) ? node.input(0)->constant() : nullptr;
    trips = count != nullptr && count->count() == 1 ? std::max<int64_t>(count->as_int64(0), 0)
                                                    : INT64_MAX;
  } else if (const auto* scan = node.as<Scan>()) {
    // Whichever axis it runs along.
    for (const Dim& extent : node.input(static_cast<int>(scan->states))->type.shape)
      trips = std::max(trips, extent.is_constant() ? extent.constant() : INT64_MAX);
  }
  int64_t inside = 1;
  for (const auto& body : node.bodies) inside = saturating_add(inside, evaluations(*body));
  return saturating_multiply(trips, inside);
}

int64_t evaluations(const Graph& body) {
  int64_t all = 0;
  for (const auto& node : body.nodes()) all = saturating_add(all, evaluations(*node));
  return all;
}

void replace(Graph& graph, Value* old, Value* with) {
  with->type.layout = old->type.layout;
  if (with->name.empty()) with->name = old->name;
  graph.replace_uses(old, with);
}

/// Contents of constants are row-major: the reader of a channels-last one gets it through a
/// reformat.
bool is_channels_last(const Value& value) {
  return value.type.layout == Layout::kChannelsLast;
}

bool gives_channels_last(const Node& node) {
  return node.is<Reformat>() && is_channels_last(*node.output());
}

/// A constant under another name is that constant, with the name that its weights are refitted by.
bool fold_identity(Graph& graph, Node& node) {
  Value *from = node.input(0), *to = node.output();
  if (graph.is_output(to) || !(from->type.layout == to->type.layout)) return false;
  graph.replace_uses(to, from);
  return true;
}

std::vector<const Tensor*> operands_of(const Node& node) {
  std::vector<const Tensor*> operands;
  for (const Value* value : node.inputs())
    operands.push_back(value == nullptr ? nullptr : value->constant());
  return operands;
}

/// Results of casts of large constants, side by side: where precision is lowered these are all
/// weights of the network.
using Evaluated = std::map<const Node*, Result<std::vector<Tensor>>>;
Evaluated evaluate_casts(std::span<Node* const> nodes) {
  constexpr int64_t kLarge = 1 << 16;
  std::vector<Evaluated::value_type*> casts;
  Evaluated evaluated;
  for (const Node* node : nodes)
    if (node->is<Cast>() && operands_constant(*node) &&
        node->input(0)->constant()->count() >= kLarge)
      casts.push_back(&*evaluated.try_emplace(node, std::vector<Tensor>()).first);
  for_each_parallel(casts.size(), helper_threads(), [&](size_t i) {
    auto& [node, results] = *casts[i];
    results = evaluate_node(*node, operands_of(*node));
  });
  return evaluated;
}

bool fold_evaluated(Graph& graph, Node& node, const PassOptions& options, Room& room,
                    Evaluated& evaluated) {
  if (!operands_constant(node) || keeps_weights_small(graph, node, options) ||
      gives_channels_last(node))
    return false;
  if (node.is<Identity>() && fold_identity(graph, node)) return true;
  if (evaluations(node) > kMaxEvaluations || !room.take(node)) return false;
  const auto known = evaluated.extract(&node);
  const auto results = known ? std::move(known.mapped()) : evaluate_node(node, operands_of(node));
  if (!results.ok()) return false;  // Stays in the graph, where running it reports the error.
  for (size_t i = 0; i < results->size(); ++i) {
    Value* constant = graph.add_constant((*results)[i]);
    constant->type.shape = to_shape((*results)[i].extents());
    replace(graph, node.output(static_cast<int>(i)), constant);
  }
  return true;
}

/// The output of a node whose elements are known as expressions.
Value* source_of(Graph& graph, const Value& value) {
  const auto& elements = *value.elements;
  if (!is_constant(value.type.shape)) return nullptr;
  const Extents extents = constants(value.type.shape);
  if (std::all_of(elements.begin(), elements.end(),
                  [](const Dim& dim) { return dim.is_constant(); })) {
    Tensor tensor(value.type.type, extents);
    for (size_t i = 0; i < elements.size(); ++i) {
      if (value.type.type == DataType::kInt64)
        tensor.mutable_values<int64_t>()[i] = elements[i].constant();
      else
        tensor.mutable_values<int32_t>()[i] = static_cast<int32_t>(elements[i].constant());
    }
    Value* constant = graph.add_constant(std::move(tensor));
    constant->type.shape = value.type.shape;
    return constant;
  }
  auto dims = std::make_unique<Dims>();
  for (const Dim& dim : elements) dims->expressions.push_back(dim.to_string());
  dims->extents = extents;
  dims->to = value.type.type;
  Node* node = graph.add_node(std::move(dims), {}, 1, value.producer()->name);
  node->origins = value.producer()->origins;
  node->output()->type = value.type;
  node->output()->elements = value.elements;
  return node->output();
}

bool fold_elements(Graph& graph, Node& node) {
  bool changed = false;
  for (Value* output : node.outputs()) {
    const bool integer =
        output->type.type == DataType::kInt64 || output->type.type == DataType::kInt32;
    if (!output->elements.has_value() || !integer || is_channels_last(*output) ||
        (output->uses().empty() && !graph.is_output(output)))
      continue;
    if (Value* source = source_of(graph, *output)) {
      replace(graph, output, source);
      changed = true;
    }
  }
  return changed;
}

/// The first operand that bodies get unchanged, or none.
size_t first_capture(const Node& node) {
  if (node.is<If>()) return 1;
  if (const auto* loop = node.as<Loop>()) return static_cast<size_t>(2 + loop->carried);
  if (const auto* scan = node.as<Scan>()) return static_cast<size_t>(scan->states + scan->scanned);
  return SIZE_MAX;
}

/// Constants that bodies capture become their own, where rules find them. An If hands its operands
/// on without the condition.
bool take_in_constants(Node& node) {
  std::vector<Value*> inputs = node.inputs();
  const size_t first = first_capture(node), lead = node.is<If>() ? 1 : 0;
  bool changed = false;
  for (size_t i = inputs.size(); i-- > first;) {
    if (inputs[i] == nullptr || inputs[i]->constant() == nullptr) continue;
    for (const auto& body : node.bodies) {
      Value* captured = body->inputs()[i - lead];
      if (!captured->uses().empty() || body->is_output(captured)) {
        Value* own = body->add_constant(*inputs[i]->constant(), captured->name);
        own->type = inputs[i]->type;
        body->replace_uses(captured, own);
      }
      body->erase_input(static_cast<int>(i - lead));
      if (!body->sort().ok()) return false;  // It was in order.
    }
    inputs.erase(inputs.begin() + static_cast<ptrdiff_t>(i));
    changed = true;
  }
  if (!changed) return false;
  node.truncate_inputs(0);
  for (Value* input : inputs) node.append_input(input);
  return true;
}

}  // namespace

bool fold_constants(Graph& graph, PassContext& context) {
  bool changed = false;
  Room room(graph);
  std::vector<Node*> nodes = nodes_of(graph);
  std::erase_if(nodes, [&](const Node* node) {
    return is_constant(*node) || has_effects_or_chance(*node) || !context.allows(*node);
  });
  Evaluated evaluated = evaluate_casts(nodes);
  for (Node* node : nodes) {
    if (take_in_constants(*node)) {
      changed = true;
      continue;
    }
    if (!fold_elements(graph, *node) &&
        !fold_evaluated(graph, *node, context.options(), room, evaluated))
      continue;
    changed = true;
  }
  return changed;
}

}  // namespace tenon
