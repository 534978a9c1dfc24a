// f(expand(x)) becomes expand(f(x)) where f treats the expanded axes equally, and an expand whose
// user broadcasts anyway is dropped. So values that a network computes for each element of the
// batch from constants alone are computed once, or folded: masks, positions, types of tokens.
// Constants that repeat along an axis count as expanded where pointwise operators read them, and a
// tensor that is filled with one number is that number, expanded. Must run after fold_constants,
// and before it runs again.
#include <algorithm>
#include <unordered_map>

#include "ops/fill_value.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/repeats.h"

namespace tenon {
namespace {

/// An operand, and the source of its expansion with as many axes.
struct Source {
  Value* whole = nullptr;
  Value* small = nullptr;  ///< The same as `whole` where nothing was expanded; may have fewer axes.
  Shape shape;             ///< Of `small`, with leading ones to the rank of `whole`.

  bool expanded(size_t axis) const { return !(shape[axis] == whole->type.shape[axis]); }
  bool any_expanded() const {
    for (size_t i = 0; i < shape.size(); ++i)
      if (expanded(i)) return true;
    return false;
  }
};

Source source_of(Value* value) {
  Source source{value, value, value->type.shape};
  if (produced_by<Expand>(value) == nullptr) return source;
  source.small = value->producer()->input(0);
  source.shape = source.small->type.shape;
  if (source.shape.size() > value->type.shape.size()) return {value, value, value->type.shape};
  source.shape.insert(source.shape.begin(), value->type.shape.size() - source.shape.size(), Dim(1));
  for (size_t i = 0; i < source.shape.size(); ++i)  // An extent that may be 1 need not be.
    if (source.expanded(i) && !(source.shape[i] == Dim(1)))
      return {value, value, value->type.shape};
  return source;
}

Value* expanded(Graph& graph, Value* value, const Shape& shape, const Node& like) {
  if (value->type.shape == shape) return value;
  return add_op(graph, std::make_unique<Expand>(), {value, add_shape(graph, shape)}, like);
}

/// The operand with the rank it had.
Value* with_rank(Graph& graph, const Source& source, const Node& like) {
  if (source.small->type.shape == source.shape) return source.small;
  return add_reshape(graph, source.small, source.shape, like);
}

/// The operand as before along the axes that are `kept`, along the others not expanded.
Value* with_axes(Graph& graph, const Source& source, const std::vector<bool>& kept,
                 const Node& like) {
  Shape shape = source.shape;
  for (size_t i = 0; i < shape.size(); ++i)
    if (kept[i]) shape[i] = source.whole->type.shape[i];
  return expanded(graph, with_rank(graph, source, like), shape, like);
}

/// Constants without their repetitions, made once each.
class SmallConstants {
 public:
  explicit SmallConstants(Graph& graph) : graph_(graph) {}

  /// The value itself where nothing repeats. Vectors stay: kernels take them as they are.
  Value* of(Value* value) {
    const Tensor* tensor = value->constant();
    if (tensor == nullptr || is_vector(*tensor)) return value;
    const auto [found, added] = small_.emplace(value, value);
    if (!added) return found->second;
    auto small = without_repeats(*tensor, tensor->rank());
    if (!small.has_value()) return value;
    found->second = graph_.add_constant(std::move(*small), value->producer()->name);
    return found->second;
  }

 private:
  static bool is_vector(const Tensor& tensor) {
    return std::count_if(tensor.extents().begin(), tensor.extents().end(),
                         [](int64_t extent) { return extent != 1; }) <= 1;
  }
  Graph& graph_;
  std::unordered_map<const Value*, Value*> small_;
};

class Sinker {
 public:
  Sinker(Graph& graph, SmallConstants& constants, Node& node)
      : graph_(graph), constants_(constants), node_(node) {}

  /// The node's result by way of smaller operands, or null.
  Value* run() {
    for (Value* input : node_.inputs())
      if (input == nullptr) return nullptr;
    if (node_.outputs().size() != 1 || node_.inputs().empty()) return nullptr;
    if (const auto* fill = node_.as<Fill>()) return filled(*fill);
    if (node_.is<Pointwise>() || node_.is<Cast>()) return pointwise();
    if (node_.is<Concat>()) return concat();
    if (const auto* gather = node_.as<Gather>()) return gathered(*gather);
    if (node_.is<GatherNd>()) return gathered_by_tuples();
    const Source x = source_of(node_.input(0));
    if (!x.any_expanded()) return nullptr;
    if (node_.is<Expand>()) return expanded(graph_, x.small, node_.output()->type.shape, node_);
    if (const auto* transpose = node_.as<Transpose>()) return transposed(*transpose, x);
    if (is_reshape(&node_)) return reshaped(x);
    if (node_.is<Slice>()) return sliced(x);
    return along_one_axis(x);
  }

 private:
  const Shape& shape() const { return node_.output()->type.shape; }

  Value* pointwise() {
    std::vector<Value*> operands;
    Shape small;
    bool any = false;
    for (Value* input : node_.inputs()) {
      const Source source = source_of(input);
      Value* operand = source.any_expanded() ? source.small : constants_.of(input);
      any |= operand != input;
      operands.push_back(operand);
      auto joined = broadcast(small, operand->type.shape);
      if (!joined.ok()) return nullptr;
      small = std::move(*joined);
    }
    if (!any) return nullptr;
    Value* result = add_op(graph_, node_.op->clone(), std::move(operands), node_);
    return expanded(graph_, result, shape(), node_);
  }

  Value* filled(const Fill& fill) {
    Value* small = graph_.add_constant(fill_value(fill).reshaped({}), node_.name);
    return add_op(graph_, std::make_unique<Expand>(), {small, node_.input(0)}, node_);
  }

  Value* concat() {
    const int64_t given = node_.as<Concat>()->axis;
    const size_t axis = static_cast<size_t>(given < 0 ? given + shape().size() : given);
    std::vector<bool> kept(shape().size(), false);
    std::vector<Source> sources;
    for (Value* input : node_.inputs()) {
      sources.push_back(source_of(input));
      for (size_t i = 0; i < kept.size(); ++i)
        kept[i] = kept[i] || i == axis || !sources.back().expanded(i);
    }
    if (std::all_of(kept.begin(), kept.end(), [](bool keep) { return keep; })) return nullptr;
    std::vector<Value*> operands;
    for (const Source& source : sources) operands.push_back(with_axes(graph_, source, kept, node_));
    return expanded(graph_, add_op(graph_, node_.op->clone(), std::move(operands), node_), shape(),
                    node_);
  }

  /// Rows of a table by expanded indices.
  Value* gathered(const Gather&) {
    const Source indices = source_of(node_.input(1));
    if (!indices.any_expanded()) return nullptr;
    Value* rows = add_op(graph_, node_.op->clone(),
                         {node_.input(0), with_rank(graph_, indices, node_)}, node_);
    return expanded(graph_, rows, shape(), node_);
  }

  /// By tuples of indices: expanded tuples, or tuples whose first index says which of equal slices.
  Value* gathered_by_tuples() {
    if (node_.as<GatherNd>()->batch_dims != 0) return nullptr;
    const Source x = source_of(node_.input(0)), tuples = source_of(node_.input(1));
    const size_t last = tuples.shape.size() - 1;
    if (tuples.any_expanded() && !tuples.expanded(last)) {
      Value* rows = add_op(graph_, node_.op->clone(),
                           {node_.input(0), with_rank(graph_, tuples, node_)}, node_);
      return expanded(graph_, rows, shape(), node_);
    }
    Value* others = without_first_index(node_.input(1), last);
    if (x.shape.empty() || !x.expanded(0) || others == nullptr) return nullptr;
    std::vector<bool> kept(x.shape.size(), true);
    kept[0] = false;
    Value* slices = with_axes(graph_, x, kept, node_);
    const Shape& whole = slices->type.shape;
    slices = add_reshape(graph_, slices, Shape(whole.begin() + 1, whole.end()), node_);
    return add_op(graph_, node_.op->clone(), {slices, others}, node_);
  }

  /// concat(i, others) along the tuples' axis: the others.
  static Value* without_first_index(Value* tuples, size_t last) {
    const auto* concat = produced_by<Concat>(tuples);
    if (concat == nullptr || tuples->producer()->inputs().size() != 2) return nullptr;
    if (concat->axis != -1 && concat->axis != static_cast<int64_t>(last)) return nullptr;
    const Node& join = *tuples->producer();
    return join.input(0)->type.shape[last] == Dim(1) ? join.input(1) : nullptr;
  }

  Value* transposed(const Transpose& transpose, const Source& x) {
    if (transpose.permutation.empty()) return nullptr;
    Value* result = add_op(graph_, node_.op->clone(), {with_rank(graph_, x, node_)}, node_);
    return expanded(graph_, result, shape(), node_);
  }

  /// Only axes of extent 1 come or go.
  Value* reshaped(const Source& x) {
    const Shape& from = node_.input(0)->type.shape;
    Shape small;
    size_t next = 0;
    const auto skip_ones = [&] {
      while (next < from.size() && from[next] == Dim(1)) ++next;
    };
    for (const Dim& extent : shape()) {
      if (extent == Dim(1)) {
        small.push_back(Dim(1));
        continue;
      }
      skip_ones();
      if (next == from.size() || !(from[next] == extent)) return nullptr;
      small.push_back(x.shape[next++]);
    }
    skip_ones();
    if (next != from.size()) return nullptr;
    return expanded(graph_, add_reshape(graph_, x.small, small, node_), shape(), node_);
  }

  /// Along axes that were not expanded, or only along those.
  Value* sliced(const Source& x) {
    const Tensor* axes = node_.has_input(3) ? node_.input(3)->constant() : nullptr;
    if (axes == nullptr) return nullptr;
    bool outside = true, inside = true;
    for (const int64_t given : axes->to_int64s()) {
      const bool is_expanded =
          x.expanded(static_cast<size_t>(given < 0 ? given + x.shape.size() : given));
      outside &= !is_expanded;
      inside &= is_expanded;
    }
    if (inside) return expanded(graph_, x.small, shape(), node_);
    if (!outside) return nullptr;
    std::vector<Value*> inputs = node_.inputs();
    inputs[0] = with_rank(graph_, x, node_);
    return expanded(graph_, add_op(graph_, node_.op->clone(), std::move(inputs), node_), shape(),
                    node_);
  }

  /// Running sums, and triangles of matrices.
  Value* along_one_axis(const Source& x) {
    const size_t rank = x.shape.size();
    std::vector<bool> kept(rank, false);
    if (node_.is<Cumulative>()) {
      const auto axis = scalar_of(node_.input(1));
      if (!axis.has_value()) return nullptr;
      kept[static_cast<size_t>(*axis < 0 ? *axis + static_cast<double>(rank) : *axis)] = true;
    } else if (node_.is<Trilu>() && rank > 2) {
      kept[rank - 1] = kept[rank - 2] = true;
    } else {
      return nullptr;
    }
    bool any = false;
    for (size_t i = 0; i < rank; ++i) any |= x.expanded(i) && !kept[i];
    if (!any) return nullptr;
    std::vector<Value*> inputs = node_.inputs();
    inputs[0] = with_axes(graph_, x, kept, node_);
    return expanded(graph_, add_op(graph_, node_.op->clone(), std::move(inputs), node_), shape(),
                    node_);
  }

  Graph& graph_;
  SmallConstants& constants_;
  Node& node_;
};

}  // namespace

bool sink_expands(Graph& graph, PassContext& context) {
  bool changed = false;
  SmallConstants constants(graph);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {  // Grows: results may sink further.
    Node& node = *graph.nodes()[i];
    const bool dead =
        !node.outputs().empty() && node.output()->uses().empty() && !graph.is_output(node.output());
    if (dead || !context.allows(node)) continue;
    Value* result = Sinker(graph, constants, node).run();
    if (result == nullptr) continue;
    stand_in(graph, node, result);
    changed = true;
  }
  return changed;
}

}  // namespace tenon
