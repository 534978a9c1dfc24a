// Writes to constant places that fill a tensor piece by piece along one axis, as assignments to
// slices are exported, become one join of the pieces. Only where nothing of a computed tensor
// stays between them, which would have to be copied. Must run after fold_constants, which computes
// the places.
#include <algorithm>
#include <map>

#include "ops/ops.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Elements [begin, end) of an axis, all of the other axes.
struct Piece {
  int64_t begin = 0, end = 0;
  Value* value = nullptr;
};

struct Write {
  int64_t axis = -1;  ///< -1: everything is written.
  Piece piece;
};

/// Places that count up along each axis from a first one: a box, whose corner this is.
std::optional<std::vector<int64_t>> corner_of(const Tensor& places, const Shape& shape) {
  const int64_t axes = places.rank() - 1;
  const Extents& extents = places.extents();
  if (axes < 1 || extents[axes] != axes || axes > static_cast<int64_t>(shape.size()) ||
      places.count() == 0)
    return std::nullopt;
  const std::vector<int64_t> numbers = places.to_int64s();
  std::vector<int64_t> corner(axes), position(axes, 0);
  for (int64_t i = 0; i < axes; ++i) {
    if (!shape[i].is_constant()) return std::nullopt;
    corner[i] = numbers[i] + (numbers[i] < 0 ? shape[i].constant() : 0);
    if (corner[i] < 0 || corner[i] + extents[i] > shape[i].constant()) return std::nullopt;
  }
  for (size_t at = 0; at < numbers.size(); at += axes) {
    for (int64_t i = 0; i < axes; ++i) {
      const int64_t number = numbers[at + i];
      if (number + (number < 0 ? shape[i].constant() : 0) != corner[i] + position[i])
        return std::nullopt;
    }
    for (int64_t i = axes - 1; i >= 0 && ++position[i] == extents[i]; --i) position[i] = 0;
  }
  return corner;
}

std::optional<Write> write_of(const Node& node) {
  const auto* scatter = node.as<ScatterNd>();
  const Tensor* places = scatter == nullptr ? nullptr : node.input(1)->constant();
  if (places == nullptr || scatter->reduction != ScatterReduction::kNone) return std::nullopt;
  const Shape& shape = node.input(0)->type.shape;
  const auto corner = corner_of(*places, shape);
  if (!corner.has_value()) return std::nullopt;
  Write write{-1, {0, 0, node.input(2)}};
  for (size_t i = 0; i < corner->size(); ++i) {
    const int64_t begin = (*corner)[i], end = begin + places->extents()[i];
    if (begin == 0 && shape[i] == Dim(end)) continue;
    if (write.axis >= 0) return std::nullopt;
    write.axis = static_cast<int64_t>(i);
    write.piece.begin = begin;
    write.piece.end = end;
  }
  return write;
}

/// Pieces of an axis, of which later ones hide earlier ones.
class Pieces {
 public:
  explicit Pieces(int64_t extent) : extent_(extent) {}

  /// Adds the parts of an earlier piece that show between those here.
  void add_below(const Piece& piece) {
    int64_t at = piece.begin;
    std::vector<Parts::value_type> shown;
    for (const auto& [begin, part] : parts_) {
      if (part.end <= at) continue;
      if (begin >= piece.end) break;
      if (begin > at) shown.push_back({at, {piece, at, begin}});
      at = part.end;
    }
    if (at < piece.end) shown.push_back({at, {piece, at, piece.end}});
    parts_.insert(shown.begin(), shown.end());
  }
  bool is_full() const {
    int64_t at = 0;
    for (const auto& [begin, part] : parts_) {
      if (begin != at) return false;
      at = part.end;
    }
    return at == extent_;
  }
  size_t size() const { return parts_.size(); }

  Value* join(Graph& graph, int64_t axis, const Node& like) const {
    std::vector<Value*> values;
    for (const auto& [begin, part] : parts_) {
      const Piece& of = part.of;
      values.push_back(
          part.begin == of.begin && part.end == of.end
              ? of.value
              : add_op(graph, std::make_unique<Slice>(),
                       {of.value, add_integers(graph, {part.begin - of.begin}),
                        add_integers(graph, {part.end - of.begin}), add_integers(graph, {axis})},
                       like));
    }
    if (values.size() == 1) return values[0];
    auto concat = std::make_unique<Concat>();
    concat->axis = axis;
    return add_op(graph, std::move(concat), std::move(values), like);
  }

 private:
  struct Part {
    Piece of;
    int64_t begin, end;
  };
  using Parts = std::map<int64_t, Part>;  ///< By where they begin.
  int64_t extent_;
  Parts parts_;
};

/// The writes that end in `node`, as far back as they go along one axis and nothing else reads
/// between them.
bool join(Graph& graph, PassContext& context, Node& last) {
  if (!last.is<ScatterNd>()) return false;
  std::optional<Pieces> pieces;
  std::vector<Node*> nodes;
  int64_t axis = -1;
  for (Node* node = &last; node != nullptr; node = node->input(0)->producer()) {
    if (!context.allows_fusion(*node) ||
        (node != &last && only_user(graph, node->output()) == nullptr))
      break;
    const auto write = write_of(*node);
    if (!write.has_value() || (axis >= 0 && write->axis >= 0 && write->axis != axis)) break;
    nodes.push_back(node);
    if (axis < 0) axis = std::max<int64_t>(write->axis, 0);
    const Dim& extent = last.output()->type.shape[axis];
    if (!pieces.has_value()) pieces.emplace(extent.constant());
    pieces->add_below(write->axis < 0 ? Piece{0, extent.constant(), write->piece.value}
                                      : write->piece);
    if (pieces->is_full()) break;
  }
  if (nodes.empty()) return false;
  Value* const base = nodes.back()->input(0);
  if (!pieces->is_full()) {
    if (base->constant() == nullptr) return false;
    pieces->add_below({0, last.output()->type.shape[axis].constant(), base});
  }
  for (Node* node : nodes)
    if (node != &last) add_origins(last, *node);
  stand_in(graph, last, pieces->join(graph, axis, last));
  return context.applied(fmt::format("{} and {} writes before it are a join of {} pieces",
                                     last.name, nodes.size() - 1, pieces->size()));
}

/// Nothing joins it to a later write.
bool is_last(const Node& node) {
  return node.is<ScatterNd>() && std::ranges::none_of(node.output()->uses(), [](const Use& use) {
           return use.node->is<ScatterNd>() && use.index == 0;
         });
}

}  // namespace

bool join_writes(Graph& graph, PassContext& context) {
  return for_each_from_back(nodes_of(graph, is_last),
                            [&](Node& node) { return join(graph, context, node); });
}

}  // namespace tenon
