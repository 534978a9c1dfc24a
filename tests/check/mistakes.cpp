#include <algorithm>
#include <functional>

#include "damage.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon::mistake {
namespace {

/// The first node for which f is true, inside regions too.
bool first(Graph& graph, const std::function<bool(Graph&, Node&)>& f) {
  for (const auto& node : graph.nodes()) {
    if (f(graph, *node)) return true;
    for (const auto& body : node->bodies)
      if (first(*body, f)) return true;
  }
  return false;
}

using Change = std::function<void(Tensor&)>;

void change_copy(Constant& constant, const Change& change) {
  Tensor copy(constant.value.type(), constant.value.extents());
  for (int64_t i = 0; i < copy.count(); ++i) copy.set_from_double(i, constant.value.as_double(i));
  change(copy);
  constant.value = std::move(copy);
}

/// Changes a copy of the first real constant that the predicate takes.
bool change_constant(Graph& graph, const std::function<bool(const Node&)>& wanted,
                     const Change& change) {
  return first(graph, [&](Graph&, Node& node) {
    auto* constant = node.as<Constant>();
    if (constant == nullptr || !is_real(constant->value.type()) || !wanted(node)) return false;
    change_copy(*constant, change);
    return true;
  });
}

/// Of the main graph, and not a constant of all zeros.
bool change_last_constant(Graph& graph, const std::function<bool(const Node&)>& wanted,
                          const Change& change) {
  Constant* last = nullptr;
  for (const auto& node : graph.nodes()) {
    auto* constant = node->as<Constant>();
    if (constant != nullptr && is_real(constant->value.type()) && wanted(*node) &&
        constant->value.as_double(0) != 0)
      last = constant;
  }
  if (last != nullptr) change_copy(*last, change);
  return last != nullptr;
}

bool has_count(const Node& node, int64_t least, int64_t most) {
  const int64_t count = node.as<Constant>()->value.count();
  return count >= least && count <= most;
}

void scale_all(Tensor& tensor, double factor) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_double(i, tensor.as_double(i) * factor);
}

bool is_add(const Node& node) {
  const auto* pointwise = node.as<Pointwise>();
  return pointwise != nullptr && pointwise->function == PointwiseFunction::k_add;
}

}  // namespace

bool bias_dropped(Graph& graph) {
  return change_constant(
      graph, [](const Node& node) { return has_count(node, 8, 64); },
      [](Tensor& tensor) { scale_all(tensor, 0); });
}
bool one_weight_wrong(Graph& graph) {
  return change_constant(
      graph, [](const Node& node) { return has_count(node, 1000, 1 << 20); },
      [](Tensor& tensor) { tensor.set_from_double(123, tensor.as_double(123) + 1); });
}
bool weights_two_percent_larger(Graph& graph) {
  return change_constant(
      graph, [](const Node& node) { return has_count(node, 200, 1 << 20); },
      [](Tensor& tensor) { scale_all(tensor, 1.02); });
}
bool channels_of_weights_swapped(Graph& graph) {
  return change_constant(
      graph, [](const Node& node) { return has_count(node, 200, 1 << 20); },
      [](Tensor& tensor) {
        const int64_t row = tensor.count() / tensor.extents()[0];
        for (int64_t i = 0; i < row; ++i) {
          const double a = tensor.as_double(i), b = tensor.as_double(row + i);
          tensor.set_from_double(i, b), tensor.set_from_double(row + i, a);
        }
      });
}
bool pads_moved(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    auto* conv = node.as<Conv>();
    if (conv == nullptr || conv->pads_begin.empty() || conv->pads_begin[0] != 1) return false;
    conv->pads_begin[0] += 1, conv->pads_end[0] -= 1;
    return true;
  });
}
bool maximum_for_mean(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    auto* reduce = node.as<Reduce>();
    if (reduce == nullptr || reduce->function != ReduceFunction::kMean) return false;
    reduce->function = ReduceFunction::kMax;
    return true;
  });
}
bool other_epsilon(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    auto* norm = node.as<Normalization>();
    if (norm == nullptr) return false;
    norm->epsilon = 0.05;
    return true;
  });
}
bool other_scale_of_attention(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    auto* attention = node.as<Attention>();
    if (attention == nullptr) return false;
    attention->scale = 0.5;
    return true;
  });
}
bool mask_dropped(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    auto* attention = node.as<Attention>();
    if (attention == nullptr) return false;
    if (attention->causal == CausalMask::kNone && !node.has_input(3)) return false;
    attention->causal = CausalMask::kNone;
    if (node.has_input(3)) node.set_input(3, nullptr);
    return true;
  });
}
bool axes_swapped(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    const Value* x = node.input(0);
    auto* matmul = node.as<MatMul>();
    if (matmul == nullptr || x == nullptr) return false;
    const Shape& b = node.input(1)->type.shape;
    if (b.size() < 2 || !(b[b.size() - 1] == b[b.size() - 2])) return false;
    matmul->transpose_b = !matmul->transpose_b;
    return true;
  });
}
bool stale_residual(Graph& graph) {
  for (const auto& node : graph.nodes())
    for (size_t i = 1; i < node->inputs().size(); ++i) {
      const Value* input = node->inputs()[i];
      if (input == nullptr || input->constant() != nullptr) continue;
      for (const auto& other : graph.nodes()) {
        if (other.get() == node.get()) break;
        for (Value* value : other->outputs())
          if (value != input && value->constant() == nullptr && value->type == input->type &&
              value != node->input(0)) {
            node->set_input(static_cast<int>(i), value);
            return true;
          }
      }
    }
  return false;
}
bool residual_twice(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    if (!is_add(node) || node.input(0)->type != node.input(1)->type) return false;
    if (node.input(0)->constant() != nullptr || node.input(1)->constant() != nullptr) return false;
    node.set_input(0, node.input(1));
    return true;
  });
}
bool activation_dropped(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    auto* pointwise = node.as<Pointwise>();
    if (pointwise == nullptr || pointwise->function != PointwiseFunction::k_relu) return false;
    pointwise->function = PointwiseFunction::k_abs;
    return true;
  });
}
bool other_softmax_axis(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    auto* softmax = node.as<Softmax>();
    if (softmax == nullptr || node.input(0)->type.shape.size() < 2) return false;
    softmax->axes = {0};
    return true;
  });
}
bool quantized_with_other_scale(Graph& graph) {
  return change_constant(
      graph, [](const Node& node) { return has_count(node, 1, 1); },
      [](Tensor& tensor) { scale_all(tensor, 1.1); });
}
bool parts_swapped(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    if (!node.is<Concat>() || node.inputs().size() < 2) return false;
    Value *a = node.input(0), *b = node.input(1);
    if (a->type != b->type) return false;
    node.set_input(0, b), node.set_input(1, a);
    return true;
  });
}

bool pool_moved(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    auto* pool = node.as<Pool>();
    if (pool == nullptr || pool->pads_begin.empty() || pool->pads_begin[0] < 1) return false;
    pool->pads_begin[0] -= 1, pool->pads_end[0] += 1;
    return true;
  });
}
bool transposed_otherwise(Graph& graph) {
  return first(graph, [](Graph&, Node& node) {
    auto* transpose = node.as<Transpose>();
    if (transpose == nullptr) return false;
    const Shape& x = node.input(0)->type.shape;
    auto& order = transpose->permutation;
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      const Dim &a = x[static_cast<size_t>(order[i])], &b = x[static_cast<size_t>(order[i + 1])];
      if (!(a == b) || a == Dim(1)) continue;
      std::swap(order[i], order[i + 1]);
      return true;
    }
    return false;
  });
}
bool late_bias_dropped(Graph& graph) {
  return change_last_constant(
      graph, [](const Node& node) { return has_count(node, 8, 2048); },
      [](Tensor& tensor) { scale_all(tensor, 0); });
}
bool late_weight_wrong(Graph& graph) {
  return change_last_constant(
      graph, [](const Node& node) { return has_count(node, 1000, 1 << 22); },
      [](Tensor& tensor) { tensor.set_from_double(777, tensor.as_double(777) + 1); });
}

}  // namespace tenon::mistake
