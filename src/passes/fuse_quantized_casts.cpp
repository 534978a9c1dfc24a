// Where a network computes in 16 bits, quantization reads such tensors, its reverse gives them, and
// regions of 8-bit numbers do both, instead of casts that come between. Must run after
// fuse_quantized and lower_precision, and after constants are folded.
#include <algorithm>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/casts.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

/// The Cast of an f32 tensor to 16 bits that is all that reads `value`, else null.
Node* narrowing(const Graph& graph, const Value* value) {
  Node* next = value->type.type == DataType::kFloat32 ? only_user(graph, value) : nullptr;
  return next != nullptr && next->is<Cast>() && is_half(next->output()->type.type) ? next : nullptr;
}

bool is_quantized_region(const Node& node);

/// Where the network computes in 16 bits: the Cast among the readers of `value`, if all others
/// quantize it or are regions of 8-bit numbers, which then read its result; one of its own where
/// nothing but quantization reads it; else null.
Node* shared_narrowing(Graph& graph, Value* value, const PassOptions& options) {
  if (!options.precision || value->type.type != DataType::kFloat32 || graph.is_output(value))
    return nullptr;
  Node* cast = nullptr;
  bool only_quantized = true;
  const std::vector<Use> uses(value->uses().begin(), value->uses().end());
  for (const Use& use : uses) {
    const bool narrows =
        use.node->is<Cast>() && use.node->output()->type.type == *options.precision;
    const bool quantizes = use.node->is<Quantize>() && use.index == 0;
    only_quantized &= quantizes;
    if (!narrows && !quantizes && !is_quantized_region(*use.node)) return nullptr;
    if (narrows && cast == nullptr) cast = use.node;
  }
  if (cast == nullptr && only_quantized && !uses.empty())
    cast = add_cast(graph, value, *options.precision)->producer();
  if (cast == nullptr) return nullptr;
  for (const Use& use : uses) {
    if (use.node == cast) continue;
    if (use.node->is<Cast>())
      take_place(graph, use.node->output(), cast->output());
    else if (use.node->is<Quantize>())
      use.node->set_input(0, cast->output());
    else
      use.node->set_input(use.index, add_cast(graph, cast->output(), DataType::kFloat32));
  }
  return cast;
}

bool is_quantized_region(const Node& node) {
  if (!node.is<Fused>()) return false;
  const auto nodes = node.bodies[0]->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const std::unique_ptr<Node>& inner) {
    return (inner->is<Conv>() || inner->is<MatMul>()) &&
           produced_by<Dequantize>(inner->input(0)) != nullptr;
  });
}

bool quantize_halves(Node& node) {
  Node* cast = node.is<Quantize>() ? widening(node.input(0)) : nullptr;
  if (cast == nullptr) return false;
  node.set_input(0, cast->input(0));
  return true;
}

bool dequantize_to_halves(Graph& graph, Node& node) {
  auto* op = node.as<Dequantize>();
  Node* cast = op == nullptr ? nullptr : narrowing(graph, node.output());
  if (cast == nullptr) return false;
  op->to = cast->output()->type.type;
  node.output()->type.type = op->to;
  take_place(graph, cast->output(), node.output());
  return true;
}

/// The region's own casts of its operands: others may read what they give.
std::vector<Node*> own_widenings(Graph& graph, Node& region) {
  std::vector<Node*> casts;
  for (int i = 0; i < static_cast<int>(region.inputs().size()); ++i) {
    const Node* cast = region.input(i) == nullptr ? nullptr : widening(region.input(i));
    if (cast == nullptr) continue;
    Value* own = add_cast(graph, cast->input(0), DataType::kFloat32);
    region.set_input(i, own);
    casts.push_back(own->producer());
  }
  return casts;
}

bool take_casts(Graph& graph, Node& region, const PassOptions& options) {
  std::vector<Node*> members = own_widenings(graph, region);
  Node* last = narrowing(graph, region.output());
  if (last == nullptr) last = shared_narrowing(graph, region.output(), options);
  if (members.empty() && last == nullptr) return false;
  const std::string name = region.name;
  const std::vector<Node*> inside = inline_region(graph, &region);
  members.insert(members.end(), inside.begin(), inside.end());
  if (last != nullptr) members.push_back(last);
  make_region(graph, members, name);
  return true;
}

}  // namespace

bool fuse_quantized_casts(Graph& graph, PassContext& context) {
  if (!context.options().quantized_halves) return false;
  // Casts among them would go with a region.
  const std::vector<Node*> nodes = fusible_nodes(graph, context, [](const Node& node) {
    return node.is<Quantize>() || node.is<Dequantize>() || node.is<Fused>();
  });
  return for_each_of(nodes, [&](Node& node) {
    const std::string name = node.name;
    const bool taken = is_quantized_region(node)
                           ? take_casts(graph, node, context.options())
                           : quantize_halves(node) || dequantize_to_halves(graph, node);
    return taken && context.applied(name + " does without casts");
  });
}

}  // namespace tenon
