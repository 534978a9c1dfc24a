#include "plan/concrete_graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "ir/value_name.h"
#include "kernels/view.h"
#include "ops/dims.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "ops/uniform_rows.h"
#include "plan/shape_values.h"

namespace tenon {
namespace {

Status bind_extent(const Value& input, size_t axis, int64_t extent, SymbolValues& symbols) {
  const Dim& dim = input.type.shape[axis];
  const std::vector<std::string> names = dim.symbols();
  if (names.size() == 1 && dim == Dim::symbol(names[0])) {
    const auto [entry, is_new] = symbols.try_emplace(names[0], extent);
    if (entry->second == extent) return {};
    return user_error("input '{}': axis {} is {}, but '{}' is {} elsewhere", input.name, axis,
                      extent, names[0], entry->second);
  }
  const auto expected = dim.evaluate(symbols);
  if (!expected.has_value() || *expected == extent) return {};
  return user_error("input '{}': axis {} must be {}, not {}", input.name, axis, *expected, extent);
}

/// Under the largest shapes of its graph.
int64_t most_bytes(const Value& value, const SymbolRanges& ranges) {
  int64_t bytes = byte_size(value.type.type);
  for (const Dim& dim : value.type.shape)
    if (__builtin_mul_overflow(bytes, dim.range(ranges).max, &bytes)) return kMaxTensorBytes;
  return std::min(bytes, kMaxTensorBytes);
}

int64_t most_bytes(const Node& node, const SymbolRanges& ranges) {
  int64_t bytes = 0;
  for (const Value* input : node.inputs())
    if (input != nullptr && input->constant() == nullptr) bytes += most_bytes(*input, ranges);
  for (const Value* output : node.outputs()) bytes += most_bytes(*output, ranges);
  return bytes;
}

}  // namespace

Result<SymbolValues> bind_inputs(const Graph& graph, const std::map<std::string, Extents>& shapes,
                                 const ShapeValues& values) {
  SymbolValues symbols;
  for (const Value* input : graph.inputs()) {
    const auto found = shapes.find(input->name);
    if (found == shapes.end()) return user_error("input '{}' has no shape", input->name);
    const Extents& extents = found->second;
    if (extents.size() != input->type.shape.size())
      return user_error("input '{}' has {} axes in the model, {} were given", input->name,
                        input->type.shape.size(), extents.size());
    for (size_t axis = 0; axis < extents.size(); ++axis)
      TENON_TRY(bind_extent(*input, axis, extents[axis], symbols));
    if (const auto given = values.find(input->name); given != values.end())
      if (is_shape_input(*input)) TENON_TRY(bind_shape_values(*input, given->second, symbols));
  }
  return symbols;
}

ConstantPlaces::ConstantPlaces(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (!node->is<Constant>()) continue;
    const Value* value = node->output();
    extents.try_emplace(value, tenon::constants(value->type.shape));
    storage.try_emplace(value, Storage{value, 0, {}});
  }
}

Result<ConcreteGraph> ConcreteGraph::create(const Graph& graph, SymbolValues symbols,
                                            std::shared_ptr<const ConstantPlaces> constants) {
  ConcreteGraph result;
  result.graph_ = &graph;
  result.constants_ = std::move(constants);
  result.symbols_ = std::move(symbols);
  TENON_TRY(result.resolve_extents());
  result.resolve_known();
  result.place_concats();
  result.place_values();
  return result;
}

Result<std::optional<Extents>> concrete_extents(const Value& value, const SymbolValues& symbols) {
  Extents extents;
  extents.reserve(value.type.shape.size());
  int64_t bytes = byte_size(value.type.type);
  for (const Dim& dim : value.type.shape) {
    const auto extent = dim.evaluate(symbols);
    if (!extent.has_value()) return std::optional<Extents>();
    if (*extent < 0 || __builtin_mul_overflow(bytes, *extent, &bytes))
      return user_error("{} would have the impossible shape {}", quoted_name(value),
                        to_string(value.type.shape));
    extents.push_back(*extent);
  }
  if (bytes > kMaxTensorBytes)
    return resource_error("{} would take {} bytes ({:.0f} GiB) for the shape {}",
                          quoted_name(value), bytes, static_cast<double>(bytes) / (1 << 30),
                          to_string(to_shape(extents)));
  return std::optional(std::move(extents));
}

Status ConcreteGraph::resolve_extents() {
  size_t least_values = graph_->inputs().size() + graph_->nodes().size();
  if (constants_ != nullptr) least_values -= constants_->extents.size();
  extents_.reserve(least_values);
  storage_.reserve(least_values);
  const auto resolve = [this](const Value* value) -> Status {
    TENON_ASSIGN(auto extents, concrete_extents(*value, symbols_));
    if (extents.has_value()) extents_.try_emplace(value, std::move(*extents));
    return {};
  };
  for (const Value* input : graph_->inputs()) TENON_TRY(resolve(input));
  for (const auto& node : graph_->nodes()) {
    if (is_shared(*node)) continue;
    for (const Value* output : node->outputs()) TENON_TRY(resolve(output));
    TENON_TRY(check_count(*node));
  }
  return {};
}

/// Shapes that are given at run time may ask for more elements than there are.
Status ConcreteGraph::check_count(const Node& node) const {
  if (!node.is<Reshape>() && !node.is<Flatten>()) return {};
  if (!resolved(node.input(0)) || !resolved(node.output())) return {};
  const Extents &from = extents(node.input(0)), &to = extents(node.output());
  if (element_count(from) == element_count(to)) return {};
  return user_error("layer '{}': [{}] cannot take the shape [{}]: it has {} elements, not {}",
                    node.name, fmt::join(from, ","), fmt::join(to, ","), element_count(from),
                    element_count(to));
}

void ConcreteGraph::resolve_known() {
  for (const auto& node : graph_->nodes()) {
    const auto* dims = node->as<Dims>();
    if (dims == nullptr) continue;
    if (auto contents = dims->evaluate(symbols_))
      known_.emplace(node->output(), std::move(*contents));
  }
}

const Tensor* ConcreteGraph::known(const Value* value) const {
  if (const Tensor* constant = value->constant()) return constant;
  const auto found = known_.find(value);
  return found == known_.end() ? nullptr : &found->second;
}

bool ConcreteGraph::resolved(const Node& node) const {
  auto all = [this](const std::vector<Value*>& values) {
    return std::all_of(values.begin(), values.end(),
                       [this](const Value* v) { return v == nullptr || resolved(v); });
  };
  return all(node.inputs()) && all(node.outputs());
}

/// Inputs of concat views lie inside the output, from the outermost concat inwards.
void ConcreteGraph::place_concats() {
  const auto nodes = graph_->nodes();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = **it;
    const auto* concat = node.as<Concat>();
    if (concat == nullptr || node.tactic != kViewTactic || !resolved(node)) continue;
    const Value* output = node.output();
    const Storage whole = storage_.try_emplace(output, Storage{output, 0, {}}).first->second;
    const std::vector<int64_t> strides =
        whole.strides.empty() ? dense_strides(extents(output), output->type.layout) : whole.strides;
    const int64_t rank = static_cast<int64_t>(strides.size());
    const int64_t axis = concat->axis < 0 ? concat->axis + rank : concat->axis;
    int64_t offset = whole.offset;
    for (const Value* input : node.inputs()) {
      storage_[input] = {whole.root, offset,
                         normalized_strides(extents(input), strides, input->type.layout)};
      offset += extents(input)[axis] * strides[axis];
    }
  }
}

void ConcreteGraph::place_values() {
  for (const Value* input : graph_->inputs()) storage_.try_emplace(input, Storage{input, 0, {}});
  for (const auto& node : graph_->nodes()) {
    if (is_shared(*node)) continue;
    const bool concat = node->is<Concat>();
    if (node->tactic == kViewTactic && !concat && !place_view(*node)) no_views_.insert(node.get());
    for (const Value* output : node->outputs())
      storage_.try_emplace(output, Storage{output, 0, {}});
  }
}

bool ConcreteGraph::place_view(const Node& node) {
  if (!resolved(node)) return false;
  std::vector<Storage> views;
  views.reserve(node.outputs().size());
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    auto view = view_of(node, static_cast<int>(i));
    // The memory of graph outputs is the caller's, who expects them dense.
    if (!view.ok() || (graph_->is_output(node.outputs()[i]) && !view->strides.empty()))
      return false;
    views.push_back(std::move(view).value());
  }
  for (size_t i = 0; i < views.size(); ++i)
    storage_.try_emplace(node.outputs()[i], std::move(views[i]));
  return true;
}

bool ConcreteGraph::is_view(const Node& node) const {
  return node.tactic == kViewTactic && !no_views_.contains(&node) && resolved(node);
}

Result<Storage> ConcreteGraph::view_of(const Node& node, int output) const {
  const Storage& base = storage(node.input(0));
  std::vector<const Tensor*> contents;
  contents.reserve(node.inputs().size());
  for (const Value* input : node.inputs()) {
    const Tensor* tensor = input == nullptr ? nullptr : known(input);
    // Bounds are integers; a constant may have been left out of the plan.
    const bool bounds = tensor != nullptr && tensor->defined() && is_integer(tensor->type());
    contents.push_back(bounds ? tensor : nullptr);
  }
  TENON_ASSIGN(const View view, make_view(node, output, operand(node.input(0)),
                                          extents(node.output(output)), contents));
  return Storage{base.root, base.offset + view.offset, view.strides};
}

void ConcreteGraph::align(const Value* root, int64_t bytes) {
  const auto [entry, is_new] = alignments_.try_emplace(root, bytes);
  if (!is_new) entry->second = std::gcd(entry->second, bytes);
}

Operand ConcreteGraph::operand(const Value* value) const {
  Operand operand;
  if (value == nullptr) return operand;
  operand.present = true;
  operand.type = value->type.type;
  operand.extents = extents(value);
  operand.layout = value->type.layout;
  operand.strides = storage(value).strides;
  operand.constant = known(value);
  operand.alignment = alignment(value);
  return operand;
}

int64_t ConcreteGraph::alignment(const Value* value) const {
  const Storage& where = storage(value);
  const int64_t bytes = std::gcd(Operand{}.alignment, where.offset * byte_size(value->type.type));
  const auto found = alignments_.find(where.root);
  return found == alignments_.end() ? bytes : std::gcd(bytes, found->second);
}

bool ConcreteGraph::has_equal_operands(const Node& node, const Node& other) const {
  const auto are_equal = [this](const Value* a, const Value* b) {
    if (a == nullptr || b == nullptr) return a == b;
    return extents(a) == extents(b) && storage(a).strides == storage(b).strides &&
           alignment(a) == alignment(b);
  };
  return std::ranges::equal(node.inputs(), other.inputs(), are_equal) &&
         std::ranges::equal(node.outputs(), other.outputs(), are_equal);
}

Problem ConcreteGraph::problem(const Node& node, const Backend& backend, int threads) const {
  Problem problem;
  problem.operation = node;
  problem.layer = node.name;
  problem.device = backend.device.get();
  problem.application = backend.application.get();
  problem.attachments = backend.attachments;
  problem.constants = backend.constants;
  problem.tactics = backend.tactics;
  problem.numerics = backend.numerics;
  problem.shared_memory = backend.shared_memory;
  problem.threads = threads;
  if (node.packed.defined())
    problem.packed = {node.packed.bytes(), static_cast<size_t>(node.packed.byte_count())};
  problem.inputs.reserve(node.inputs().size());
  problem.outputs.reserve(node.outputs().size());
  for (const Value* input : node.inputs()) problem.inputs.push_back(operand(input));
  for (const Value* output : node.outputs()) problem.outputs.push_back(operand(output));
  // No kernels of the other kind of device ask.
  if (!problem.device->capabilities().host_cores)
    problem.most_bytes = most_bytes(node, graph_->symbol_ranges);
  else if (const int left = left_operand(node); left >= 0 && rows_are_uniform(*node.input(left)))
    problem.inputs[static_cast<size_t>(left)].uniform_rows = true;
  return problem;
}

}  // namespace tenon
