// Copies of whole pieces that follow each other, as cyclic shifts along two axes and the windows
// that an image is parted into, become one gather of rows with constant indices. Where each element
// comes from is found by moving the numbers of the elements. All moves leave the first axis, or the
// elements of a batch that its first part counts, where they are. Must run after the patterns,
// which know joins and transposes, and before lift_products, which takes transposes away from
// joins.
#include <algorithm>
#include <map>
#include <numeric>

#include "ops/table.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Elements of a row that is worth an index of its own.
constexpr int64_t kLeastRow = 8;
constexpr int64_t kMostRows = int64_t{1} << 18;
constexpr int64_t kMostElements = int64_t{1} << 22;

bool moves_with_constants(const Node& node) {
  for (size_t i = 1; i < node.inputs().size() && !node.is<Concat>(); ++i)
    if (node.inputs()[i] != nullptr && node.inputs()[i]->constant() == nullptr) return false;
  return true;
}

/// Nodes that move elements by constants, and make no others.
bool is_move(const Node& node) {
  if (is_reshape(&node)) return true;
  if (const auto* transpose = node.as<Transpose>()) return !transpose->permutation.empty();
  if (node.is<Gather>())
    return node.input(1)->constant() != nullptr && node.input(1)->constant()->rank() <= 1;
  if (node.is<Slice>()) return node.has_input(3) && moves_with_constants(node);
  return node.is<Concat>() || (node.is<Split>() && moves_with_constants(node));
}

bool is_copy(const Node& node) {
  return node.is<Concat>() || node.is<Transpose>() || node.is<Gather>();
}

/// Moves from one value to another.
class Moves {
 public:
  Moves(const Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  /// The value that all moves behind `value` begin with: itself where it is made otherwise, or of
  /// several.
  Value* source_of(Value* value) {
    if (const auto known = sources_.find(value); known != sources_.end()) return known->second;
    Node* node = value->producer();
    Value* source = value;
    if (node != nullptr && is_move(*node) && context_.allows(*node)) {
      const size_t count = node->is<Concat>() ? node->inputs().size() : 1;
      source = source_of(node->input(0));
      for (size_t i = 1; i < count; ++i)
        if (source_of(node->inputs()[i]) != source) source = value;
    }
    return sources_[value] = source;
  }

  /// The copies between the two, all of whose results go nowhere else; empty where some do.
  std::vector<const Node*> copies(Value* root, const Value* source) const {
    std::vector<const Node*> inside = {root->producer()}, found;
    for (size_t i = 0; i < inside.size(); ++i) {
      const Node& node = *inside[i];
      const size_t count = node.is<Concat>() ? node.inputs().size() : 1;
      for (size_t k = 0; k < count; ++k) {
        const Value* operand = node.inputs()[k];
        if (operand != source &&
            std::find(inside.begin(), inside.end(), operand->producer()) == inside.end())
          inside.push_back(operand->producer());
      }
      if (is_copy(node)) found.push_back(&node);
    }
    for (const Node* node : found)
      for (const Value* output : node->outputs()) {
        if (output == root) continue;
        const bool stays =
            std::all_of(output->uses().begin(), output->uses().end(), [&](const Use& use) {
              return std::find(inside.begin(), inside.end(), use.node) != inside.end();
            });
        if (!stays || graph_.is_output(output)) return {};
      }
    return found;
  }

 private:
  const Graph& graph_;
  const PassContext& context_;
  std::map<const Value*, Value*> sources_;
};

/// Numbers of the source's elements where the moves put them, of one element of the batch.
class Numbers {
 public:
  /// The first axis of all values is `batch` times a number.
  Numbers(const Value* source, Dim batch) : batch_(std::move(batch)) {
    if (const auto extents = local(source->type.shape)) {
      Tensor numbers(DataType::kInt64, *extents);
      std::iota(numbers.mutable_values<int64_t>().begin(), numbers.mutable_values<int64_t>().end(),
                0);
      known_[source] = std::move(numbers);
    } else {
      known_[source] = std::nullopt;
    }
  }

  /// Nothing where a move takes elements from one element of the batch to another.
  const std::optional<Tensor>& of(const Value* value) {
    const auto [found, added] = known_.try_emplace(value);
    if (added) known_[value] = made_by(*value->producer(), value);
    return known_[value];
  }

 private:
  std::optional<Extents> local(const Shape& shape) const {
    if (shape.empty()) return std::nullopt;
    const Dim first = batch_ == Dim(1) ? shape[0] : floor_div(shape[0], batch_);
    if (!first.is_constant() || !(first * batch_ == shape[0])) return std::nullopt;
    Shape rest = shape;
    rest[0] = first;
    if (!is_constant(rest)) return std::nullopt;
    Extents extents = constants(rest);
    const int64_t count = element_count(extents);
    return count > 0 && count <= kMostElements ? std::optional(extents) : std::nullopt;
  }

  bool moves_first_axis(const Node& node) const {
    if (batch_ == Dim(1)) return false;
    const auto rank = static_cast<int64_t>(node.input(0)->type.shape.size());
    const auto is_first = [rank](int64_t axis) { return axis == 0 || axis == -rank; };
    if (const auto* transpose = node.as<Transpose>()) return transpose->permutation[0] != 0;
    if (const auto* concat = node.as<Concat>()) return is_first(concat->axis);
    if (const auto* split = node.as<Split>()) return is_first(split->axis);
    if (const auto* gather = node.as<Gather>()) return is_first(gather->axis);
    if (!node.is<Slice>()) return false;
    const std::vector<int64_t> axes = node.input(3)->constant()->to_int64s();
    return std::any_of(axes.begin(), axes.end(), is_first);
  }

  std::optional<Tensor> made_by(const Node& node, const Value* value) {
    if (moves_first_axis(node)) return std::nullopt;
    const auto extents = local(value->type.shape);
    if (!extents.has_value()) return std::nullopt;
    std::vector<const Tensor*> operands;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* input = node.inputs()[i];
      const bool moved = i == 0 || node.is<Concat>();
      if (moved && !of(input).has_value()) return std::nullopt;
      operands.push_back(moved ? &*known_[input] : input == nullptr ? nullptr : input->constant());
    }
    if (is_reshape(&node)) {
      if (operands[0]->count() != element_count(*extents)) return std::nullopt;
      return operands[0]->reshaped(*extents);
    }
    auto results = evaluate_node(node, operands);
    if (!results.ok()) return std::nullopt;
    const auto& outputs = node.outputs();
    const auto at = std::find(outputs.begin(), outputs.end(), value) - outputs.begin();
    Tensor result = (*results)[static_cast<size_t>(at)];
    return result.extents() == *extents ? std::optional(std::move(result)) : std::nullopt;
  }

  Dim batch_;
  std::map<const Value*, std::optional<Tensor>> known_;
};

/// The longest rows that stay in one piece, of a source of `count` elements.
int64_t row_of(std::span<const int64_t> numbers, int64_t count) {
  int64_t row = std::gcd(static_cast<int64_t>(numbers.size()), count);
  for (size_t i = 0; i < numbers.size() && row > 1; ++i)
    if (i == 0 || numbers[i] != numbers[i - 1] + 1)
      row = std::gcd(std::gcd(row, static_cast<int64_t>(i)), numbers[i]);
  return row;
}

/// `rows`: the source as batch, rows, elements.
Value* gathered(Graph& graph, Value* source, const Value& root, const Shape& rows,
                const Tensor& numbers) {
  const Node& like = *root.producer();
  const int64_t row = rows.back().constant();
  Value* as_rows = add_reshape(graph, source, rows, like);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < numbers.count(); i += row) places.push_back(numbers.as_int64(i) / row);
  auto gather = std::make_unique<Gather>();
  gather->axis = 1;
  Value* result =
      add_op(graph, std::move(gather), {as_rows, add_integers(graph, std::move(places))}, like);
  return add_reshape(graph, result, root.type.shape, like);
}

/// Puts a gather in place of the moves that end with `root`.
bool merge(Graph& graph, Moves& moves, Value* root) {
  Value* source = moves.source_of(root);
  if (source == root || source->type.shape.empty() || root->type.shape.empty()) return false;
  const auto copies = moves.copies(root, source);
  const bool joins = std::any_of(copies.begin(), copies.end(),
                                 [](const Node* node) { return !node->is<Transpose>(); });
  if (copies.size() < 2 || !joins) return false;
  for (const Dim& batch : {root->type.shape[0], source->type.shape[0], Dim(1)}) {
    Numbers numbers(source, batch);
    const auto& found = numbers.of(root);
    if (!found.has_value()) continue;
    const int64_t count = numbers.of(source)->count();
    const int64_t row = row_of(found->values<int64_t>(), count);
    if (row < kLeastRow || found->count() / row > kMostRows) return false;
    const Shape rows = {batch, Dim(count / row), Dim(row)};
    Value* result = gathered(graph, source, *root, rows, *found);
    for (const Node* copy : copies) add_origins(*result->producer(), *copy);
    stand_in(graph, *root->producer(), result);
    return true;
  }
  return false;
}

}  // namespace

bool merge_moves(Graph& graph, PassContext& context) {
  Moves moves(graph, context);
  // From the back: the longest come first, and the nodes that they make unused are gone then.
  return for_each_from_back(nodes_of(graph), [&](Node& node) {
    if (node.outputs().size() != 1 || !is_move(node) || node.is<Slice>()) return false;
    if (!context.allows_fusion(node)) return false;
    if (node.output()->uses().empty() && !graph.is_output(node.output())) return false;
    if (!merge(graph, moves, node.output())) return false;
    node.truncate_inputs(0);
    return context.applied(node.name + " and the moves before it are one gather");
  });
}

}  // namespace tenon
