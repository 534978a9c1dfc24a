#include "select/open_broadcasts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/dim_expression.h"
#include "ops/math.h"
#include "ops/movement.h"
#include "ops/table.h"
#include "passes/match.h"
#include "plan/concrete_graph.h"
#include "plan/graph_parts.h"
#include "plan/points.h"

namespace tenon {
namespace {

/// Meeting that meet in one axis, by their texts.
using Meeting = std::map<std::string, Dim>;

class BroadcastOpener {
 public:
  explicit BroadcastOpener(Graph& graph) : graph_(graph), of_inputs_(input_symbols(graph)) {}

  Status run() {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    for (Node* node : nodes) {
      TENON_TRY(infer_node(*node));
      if (node->is<Pointwise>()) expand(*node, node->inputs().size(), 0);
      if (node->is<MatMul>()) expand(*node, 2, 2);
      TENON_TRY(infer_node(*node));
    }
    return graph_.sort();
  }
  /// Whether extents of two inputs met.
  bool found() const { return found_; }

 private:
  bool may_be_one(const Dim& dim) const {
    const Range range = dim.range(graph_.symbol_ranges);
    return range.min <= 1 && range.max >= 1;
  }

  /// The extents that one is the largest of, else itself.
  static void add_parts(const Dim& dim, Meeting& parts) {
    if (!dim.is_constant() && expression_of(dim).constant == 0 &&
        expression_of(dim).terms.size() == 1) {
      const DimTerm& term = expression_of(dim).terms[0];
      const bool is_largest = term.coefficient == 1 && term.factors.size() == 1 &&
                              term.factors[0]->kind == AtomKind::kMax;
      if (is_largest) {
        add_parts(term.factors[0]->a, parts);
        return add_parts(term.factors[0]->b, parts);
      }
    }
    parts.emplace(dim.to_string(), dim);
  }

  /// The largest of these, each of which is that or 1; nothing where inference knows it.
  std::optional<Dim> joined(const Meeting& met) {
    if (met.size() < 2) return std::nullopt;
    Meeting parts;
    for (const auto& [text, dim] : met) add_parts(dim, parts);
    for (const auto& [text, dim] : parts)
      if (!may_be_one(dim)) return parts.size() > 2 ? std::optional(dim) : std::nullopt;
    const auto is_input = [&](const auto& part) {
      const auto symbol = part.second.as_symbol();
      return symbol.has_value() && of_inputs_.contains(*symbol);
    };
    found_ |= std::ranges::count_if(parts, is_input) > 1;
    Dim all = parts.begin()->second;
    for (const auto& [text, dim] : parts) all = max(all, dim);
    return all;
  }

  /// Of the first `operands`, all axes but the last `inner` ones.
  void expand(Node& node, size_t operands, size_t inner) {
    const size_t count = std::min(operands, node.inputs().size());
    std::vector<Shape> shapes;
    size_t rank = 0;
    for (size_t i = 0; i < count; ++i) {
      shapes.push_back(node.input(i)->type.shape);
      rank = std::max(rank, shapes.back().size());
    }
    std::set<size_t> changed;
    for (size_t axis = inner + 1; axis <= rank; ++axis) {  // From the last on.
      Meeting met;
      for (const Shape& shape : shapes)
        if (axis <= shape.size() && !(shape[shape.size() - axis] == Dim(1)))
          met.emplace(shape[shape.size() - axis].to_string(), shape[shape.size() - axis]);
      const std::optional<Dim> all = joined(met);
      if (!all) continue;
      for (size_t i = 0; i < count; ++i) {
        Shape& shape = shapes[i];
        if (axis > shape.size() || shape[shape.size() - axis] == Dim(1)) continue;
        if (shape[shape.size() - axis] == *all) continue;
        shape[shape.size() - axis] = *all;
        changed.insert(i);
      }
    }
    for (const size_t i : changed) {
      Value* target = add_shape(graph_, shapes[i]);
      node.set_input(i, add_op(graph_, std::make_unique<Expand>(), {node.input(i), target}, node));
    }
  }

  Graph& graph_;
  std::set<std::string> of_inputs_;
  bool found_ = false;
};

}  // namespace

Result<std::unique_ptr<Graph>> with_open_broadcasts(const Graph& graph) {
  if (input_symbols(graph).size() < 2) return std::unique_ptr<Graph>();
  std::unique_ptr<Graph> open = graph.clone();
  // Extents are broadcast to the largest of them unless one is 0.
  for (auto& [symbol, range] : open->symbol_ranges) range.min = std::max<int64_t>(range.min, 1);
  BroadcastOpener opener(*open);
  TENON_TRY(opener.run());
  return opener.found() ? std::move(open) : std::unique_ptr<Graph>();
}

std::vector<SymbolValues> broadcasts_of(const Plan& plan, const Graph& open) {
  std::vector<SymbolValues> shapes;
  for (const Profile& profile : plan.profiles) {
    const auto ends = profile_ends(open, profile);
    if (!ends.ok()) continue;
    for (const auto& [name, least] : ends->least) {
      SymbolValues shape = ends->most;
      shape[name] = least;
      if (ConcreteGraph::create(open, shape).ok()) shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

}  // namespace tenon
