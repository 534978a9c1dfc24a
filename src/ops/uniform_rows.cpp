#include "ops/uniform_rows.h"

#include <unordered_map>

#include "ops/ops.h"

namespace tenon {
namespace {

/// Values looked at before the answer is no.
constexpr int kMaxValues = 64;

class Tracer {
 public:
  bool uniform(const Value* value) {
    if (--left_ < 0) return false;
    const auto outer = outer_.find(value);
    if (outer != outer_.end()) return uniform(outer->second);
    const Node* node = value->producer();
    if (node == nullptr) return false;
    if (node->is<Normalization>()) return normalizes_rows(*node);
    if (node->is<Fused>()) return region_alike(*node, *value);
    if (node->is<MatMul>()) return product_alike(*node);
    if (node->is<Attention>()) return first_alike(*node, 3);
    if (node->is<Pointwise>()) return pointwise_alike(*node);
    return keeps_rows(*node) && uniform(node->input(0));
  }

 private:
  static bool normalizes_rows(const Node& node) {
    const auto& norm = *node.as<Normalization>();
    const auto rank = static_cast<int64_t>(node.input(0)->type.shape.size());
    return norm.over_rows() && (norm.axis == -1 || norm.axis == rank - 1);
  }

  /// Elements move, and those of a row stay together or are cut from it.
  static bool keeps_rows(const Node& node) {
    if (const auto* transpose = node.as<Transpose>())
      return !transpose->permutation.empty() &&
             transpose->permutation.back() == std::ssize(transpose->permutation) - 1;
    return node.is<Reshape>() || node.is<Flatten>() || node.is<Squeeze>() || node.is<Unsqueeze>() ||
           node.is<Expand>() || node.is<Slice>() || node.is<Split>() || node.is<Cast>() ||
           node.is<Identity>() || node.is<RotaryEmbedding>();
  }

  bool first_alike(const Node& node, int count) {
    for (int i = 0; i < count; ++i)
      if (!node.has_input(i) || !uniform(node.input(i))) return false;
    return true;
  }

  bool product_alike(const Node& node) {
    const bool fixed = node.input(1)->constant() != nullptr || outer_constant(node.input(1));
    return !node.as<MatMul>()->transpose_a && fixed && uniform(node.input(0));
  }

  bool pointwise_alike(const Node& node) {
    const PointwiseFunction function = node.as<Pointwise>()->function;
    const bool sum = function == PointwiseFunction::k_add || function == PointwiseFunction::k_sub ||
                     function == PointwiseFunction::k_min || function == PointwiseFunction::k_max;
    int varying = 0;
    for (const Value* input : node.inputs()) {
      if (input->constant() != nullptr || outer_constant(input)) continue;
      if (!uniform(input) || (++varying > 1 && !sum)) return false;
    }
    return varying > 0;
  }

  bool region_alike(const Node& node, const Value& value) {
    const Graph& body = *node.bodies[0];
    for (size_t i = 0; i < body.inputs().size(); ++i) outer_[body.inputs()[i]] = node.inputs()[i];
    return uniform(body.outputs()[value.index()]);
  }

  bool outer_constant(const Value* value) const {
    const auto outer = outer_.find(value);
    return outer != outer_.end() && outer->second->constant() != nullptr;
  }

  int left_ = kMaxValues;
  std::unordered_map<const Value*, const Value*> outer_;  ///< Of the inputs of regions' bodies.
};

}  // namespace

bool rows_are_uniform(const Value& value) {
  return Tracer().uniform(&value);
}

int left_operand(const Node& node) {
  if (node.is<MatMul>()) return 0;
  if (!node.is<Fused>()) return -1;
  for (const auto& inner : node.bodies[0]->nodes()) {
    if (!inner->is<MatMul>()) continue;
    const Value* left = inner->input(0);
    return left->producer() == nullptr ? left->index() : -1;
  }
  return -1;
}

}  // namespace tenon
