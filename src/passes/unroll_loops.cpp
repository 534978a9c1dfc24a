// Loops and scans with a small, known number of iterations are written out, so that their operators
// get kernels, fuse, and share the common parts of iterations. Must run after fold_constants and
// hoist_invariants.
#include <algorithm>
#include <set>

#include "ops/region.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Operators that a loop may become, those of loops inside it counted; and all loops together.
constexpr int64_t kMaxNodes = 1024;
constexpr int64_t kMaxNodesOfAll = 16 * kMaxNodes;
constexpr int64_t kMaxTrips = 256;

/// Whether the body has data-dependent shapes: each iteration has its own, under one name.
bool depends_on_data(const Graph& body) {
  std::set<std::string> given;
  const auto names = [](const Value* value) {
    std::set<std::string> all;
    for (const Dim& dim : value->type.shape)
      for (std::string& name : dim.symbols()) all.insert(std::move(name));
    return all;
  };
  for (const Value* input : body.inputs()) given.merge(names(input));
  return std::ranges::any_of(body.nodes(), [&](const auto& node) {
    return std::ranges::any_of(node->outputs(), [&](const Value* output) {
      return !std::ranges::includes(given, names(output));
    });
  });
}

int64_t trips_of(const Node& node);

/// Nodes of a body with those that loops inside it become; such loops are written out once they are
/// part of the graph. More than a loop may become where that would not end.
int64_t written_out(const Graph& body) {
  int64_t nodes = 0;
  for (const auto& node : body.nodes()) {
    const int64_t trips = std::clamp<int64_t>(trips_of(*node), 0, kMaxTrips);
    int64_t inside = 0;
    for (const auto& inner : node->bodies) inside += written_out(*inner);
    nodes += 1 + std::max<int64_t>(trips, 1) * inside;
    if (nodes > kMaxNodes) return nodes;
  }
  return nodes;
}

/// Whether the loop becomes few enough nodes; they are taken off `room` then.
bool is_worth_it(int64_t trips, const Graph& body, int64_t& room) {
  if (trips < 1 || trips > kMaxTrips) return false;
  const int64_t nodes = trips * written_out(body);
  if (nodes > std::min(kMaxNodes, room) || depends_on_data(body)) return false;
  room -= nodes;
  return true;
}

/// The value after conversions that change nothing.
const Value* plain(const Value* value) {
  while (produced_by<Identity>(value) != nullptr) value = value->producer()->input(0);
  return value;
}

bool is_true(const Value* value) {
  return value != nullptr && value->constant() != nullptr && value->constant()->count() == 1 &&
         value->constant()->as_int64(0) != 0;
}

Value* number(Graph& graph, int64_t value) {
  Value* constant = graph.add_constant(Tensor::scalar_i64(value));
  constant->type = {DataType::kInt64, {}};
  return constant;
}

Value* yes(Graph& graph) {
  Tensor tensor(DataType::kBool, {});
  tensor.set_from_int64(0, 1);
  Value* constant = graph.add_constant(std::move(tensor));
  constant->type = {DataType::kBool, {}};
  return constant;
}

/// The values of all iterations along a new axis.
Value* stacked(Graph& graph, std::vector<Value*> slices, int64_t axis, bool reversed,
               const Node& like) {
  if (reversed) std::reverse(slices.begin(), slices.end());
  for (Value*& slice : slices)
    slice =
        add_op(graph, std::make_unique<Unsqueeze>(), {slice, add_integers(graph, {axis})}, like);
  auto concat = std::make_unique<Concat>();
  concat->axis = axis;
  return add_op(graph, std::move(concat), std::move(slices), like);
}

/// How often a loop or scan runs, when that is known; else 0.
int64_t trips_of_loop(const Node& node) {
  const Graph& body = *node.bodies[0];
  const Tensor* trips = node.has_input(0) ? node.input(0)->constant() : nullptr;
  if (trips == nullptr || trips->count() != 1) return 0;
  if (node.has_input(1) && !is_true(node.input(1))) return 0;
  const Value* goes_on = plain(body.outputs()[0]);
  return goes_on == body.inputs()[1] || is_true(goes_on) ? trips->as_int64(0) : 0;
}

int64_t trips_of_scan(const Node& node) {
  const auto& op = *node.as<Scan>();
  const Shape& first = node.input(static_cast<int>(op.states))->type.shape;
  const int64_t axis = attribute_at(op.input_axes, 0), rank = std::ssize(first);
  if (axis < -rank || axis >= rank) return 0;  // Of a body without types yet.
  const Dim& steps = first[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  return steps.is_constant() ? steps.constant() : 0;
}

int64_t trips_of(const Node& node) {
  if (node.is<Loop>()) return trips_of_loop(node);
  return node.is<Scan>() ? trips_of_scan(node) : 0;
}

bool unroll_loop(Graph& graph, Node& node, int64_t& room) {
  const Graph& body = *node.bodies[0];
  const int64_t trips = trips_of(node);
  if (!is_worth_it(trips, body, room)) return false;
  const auto carried = static_cast<size_t>(node.as<Loop>()->carried);
  const std::vector<Value*> given(node.inputs().begin() + 2, node.inputs().end());
  std::vector<Value*> operands = {nullptr, yes(graph)};
  operands.insert(operands.end(), given.begin(), given.end());
  std::vector<std::vector<Value*>> slices(node.outputs().size() - carried);
  for (int64_t trip = 0; trip < trips; ++trip) {
    operands[0] = number(graph, trip);
    const auto results = inline_body(graph, body, operands, fmt::format("#{}", trip));
    std::copy_n(results.begin() + 1, carried, operands.begin() + 2);
    for (size_t i = 0; i < slices.size(); ++i) slices[i].push_back(results[1 + carried + i]);
  }
  for (size_t i = 0; i < carried; ++i) take_place(graph, node.outputs()[i], operands[2 + i]);
  for (size_t i = 0; i < slices.size(); ++i)
    take_place(graph, node.outputs()[carried + i], stacked(graph, slices[i], 0, false, node));
  return true;
}

Value* slice_at(Graph& graph, Value* value, int64_t axis, int64_t at, const Node& like) {
  auto gather = std::make_unique<Gather>();
  gather->axis = axis;
  return add_op(graph, std::move(gather), {value, number(graph, at)}, like);
}

bool unroll_scan(Graph& graph, Node& node, int64_t& room) {
  const Graph& body = *node.bodies[0];
  const auto& op = *node.as<Scan>();
  const auto states = static_cast<size_t>(op.states), scanned = static_cast<size_t>(op.scanned);
  const int64_t trips = trips_of(node);
  if (!is_worth_it(trips, body, room)) return false;
  std::vector<Value*> operands = node.inputs();
  std::vector<std::vector<Value*>> slices(node.outputs().size() - states);
  for (int64_t trip = 0; trip < trips; ++trip) {
    for (size_t i = 0; i < scanned; ++i) {
      const bool backward = attribute_at(op.input_directions, i) == 1;
      operands[states + i] =
          slice_at(graph, node.inputs()[states + i], attribute_at(op.input_axes, i),
                   backward ? trips - 1 - trip : trip, node);
    }
    const auto results = inline_body(graph, body, operands, fmt::format("#{}", trip));
    std::copy_n(results.begin(), states, operands.begin());
    for (size_t i = 0; i < slices.size(); ++i) slices[i].push_back(results[states + i]);
  }
  for (size_t i = 0; i < states; ++i) take_place(graph, node.outputs()[i], operands[i]);
  for (size_t i = 0; i < slices.size(); ++i) {
    Value* whole = stacked(graph, slices[i], attribute_at(op.output_axes, i),
                           attribute_at(op.output_directions, i) == 1, node);
    take_place(graph, node.outputs()[states + i], whole);
  }
  return true;
}

}  // namespace

bool unroll_loops(Graph& graph, PassContext& context) {
  bool changed = false;
  int64_t room = kMaxNodesOfAll;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {  // Grows: loops hold loops.
    Node& node = *graph.nodes()[i];
    if ((!node.is<Loop>() && !node.is<Scan>()) || !context.allows(node)) continue;
    if (!(node.is<Loop>() ? unroll_loop(graph, node, room) : unroll_scan(graph, node, room)))
      continue;
    context.applied(node.name + " is written out");
    changed = true;
    node.truncate_inputs(0);
    graph.erase(&node);
    --i;
  }
  return changed;
}

}  // namespace tenon
