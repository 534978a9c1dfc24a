#include "check/wide.h"

#include <random>
#include <utility>

#include "ops/ops.h"
#include "ops/reals.h"
#include "ops/region.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Changes the types among an operator's attributes.
class TypeAttributes final : public AttributeVisitor {
 public:
  explicit TypeAttributes(DataType to) : to_(to) {}
  void visit(std::string_view, bool&) override {}
  void visit(std::string_view, int64_t&) override {}
  void visit(std::string_view, double&) override {}
  void visit(std::string_view, std::string&) override {}
  void visit(std::string_view, DataType& type) override { type = widened(type, to_); }
  void visit(std::string_view, std::vector<int64_t>&) override {}
  void visit(std::string_view, std::vector<double>&) override {}
  void visit(std::string_view, std::vector<std::string>&) override {}
  void visit(std::string_view, Tensor&) override {}
  void visit_enum(std::string_view, int&, std::span<const std::string_view>) override {}

 private:
  DataType to_;
};

std::vector<Node*> all_nodes(const Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  return nodes;
}

/// By way of numbers that hold those of both types.
template <class Real> Tensor stored_as(const Tensor& tensor, DataType type) {
  const Values<Real> values(tensor);
  Tensor result(type, tensor.extents());
  store_values(std::span(values.data(), static_cast<size_t>(values.size())), result);
  return result;
}

void widen(Graph& graph, DataType to) {
  TypeAttributes attributes(to);
  for (Value* input : graph.inputs()) input->type.type = widened(input->type.type, to);
  for (const auto& node : graph.nodes()) {
    if (auto* constant = node->as<Constant>())
      constant->value = widened(constant->value, to);
    else
      node->op->visit_attributes(attributes);
    for (Value* output : node->outputs()) output->type.type = widened(output->type.type, to);
    for (const auto& body : node->bodies) widen(*body, to);
  }
}

bool is_narrow(DataType type) {
  return widened(type, DataType::kFloat32) != type;
}

Value* cast_in(Graph& body, Value* value, DataType to) {
  Node* cast = body.add_node(std::make_unique<Cast>(to), {value}, 1);
  cast->output()->type = value->type;
  cast->output()->type.type = to;
  return cast->output();
}

/// A value's readers read it rounded to the type.
void round_value(Graph& body, Value* value, DataType type) {
  Value* wide = cast_in(body, cast_in(body, value, type), value->type.type);
  body.replace_uses(value, wide);
  wide->producer()->input(0)->producer()->set_input(0, value);
}

/// Whether a value is rounded in a region that computes in f32.
bool is_rounded(const Value& value, RegionTypes types, std::mt19937_64& draws) {
  if (!is_narrow(value.type.type) || types == RegionTypes::kWide) return false;
  return types == RegionTypes::kCasts ? value.producer()->is<Cast>() : draws() % 2 == 0;
}

/// A region that computes in f32 between its operands and its results, which stay in their types,
/// but for the values that are rounded on the way.
Status widen_inside(const Node& region, RegionTypes types, std::mt19937_64& draws) {
  Graph& body = *region.bodies[0];
  std::vector<std::pair<Value*, DataType>> rounded;
  for (const auto& node : body.nodes())
    for (Value* value : node->outputs())
      if (is_rounded(*value, types, draws)) rounded.emplace_back(value, value->type.type);
  widen(body, DataType::kFloat32);
  for (const auto& [value, type] : rounded) round_value(body, value, type);
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    Value* input = body.inputs()[i];
    const DataType type = region.inputs()[i]->type.type;
    if (type == input->type.type) continue;
    Value* wide = cast_in(body, input, input->type.type);
    body.replace_uses(input, wide);
    wide->producer()->set_input(0, input);
    input->type.type = type;
  }
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    Value* output = body.outputs()[i];
    const DataType type = region.outputs()[i]->type.type;
    if (type != output->type.type)
      body.set_output(static_cast<int>(i), cast_in(body, output, type));
  }
  return body.sort();
}

Status write_out(Graph& graph, RegionTypes types, std::mt19937_64& draws) {
  for (Value* input : graph.inputs()) input->type.layout = Layout::kRowMajor;
  for (Node* node : all_nodes(graph)) {
    if (!node->is<Fused>()) continue;
    if (types != RegionTypes::kOwn) TENON_TRY(widen_inside(*node, types, draws));
    inline_region(graph, node);
  }
  for (Node* node : all_nodes(graph)) {
    node->tactic.clear();
    node->packed = {};
    if (node->is<Reformat>()) node->op = std::make_unique<Identity>();
    for (Value* output : node->outputs()) output->type.layout = Layout::kRowMajor;
    for (const auto& body : node->bodies) TENON_TRY(write_out(*body, types, draws));
  }
  return graph.sort();
}

}  // namespace

DataType widened(DataType type, DataType to) {
  const bool narrow = is_real(type) && byte_size(type) >= 2 && byte_size(type) < byte_size(to);
  return narrow ? to : type;
}

Tensor widened(const Tensor& tensor, DataType to) {
  const DataType type = widened(tensor.type(), to);
  if (type == tensor.type() || !tensor.defined()) return tensor;
  return type == DataType::kFloat64 ? stored_as<double>(tensor, type)
                                    : stored_as<float>(tensor, type);
}

Result<std::unique_ptr<Graph>> written_out(const Graph& graph, RegionTypes types, uint64_t draw) {
  auto copy = graph.clone();
  std::mt19937_64 draws(draw);
  TENON_TRY(write_out(*copy, types, draws));
  return copy;
}

Result<std::unique_ptr<Graph>> widened(const Graph& graph, DataType to) {
  TENON_ASSIGN(auto copy, written_out(graph));
  widen(*copy, to);
  TENON_TRY(infer_graph(*copy));
  return copy;
}

}  // namespace tenon
