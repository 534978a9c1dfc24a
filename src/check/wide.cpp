#include "check/wide.h"

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
template <class Real>
Tensor stored_as(const Tensor& tensor, DataType type) {
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

Value* cast_in(Graph& body, Value* value, DataType to) {
  Node* cast = body.add_node(std::make_unique<Cast>(to), {value}, 1);
  cast->output()->type = value->type;
  cast->output()->type.type = to;
  return cast->output();
}

/// A region that computes in f32 between its operands and its results, which stay in their types.
Status widen_inside(const Node& region) {
  Graph& body = *region.bodies[0];
  widen(body, DataType::kFloat32);
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

Status write_out(Graph& graph, RegionTypes types) {
  for (Value* input : graph.inputs()) input->type.layout = Layout::kRowMajor;
  for (Node* node : all_nodes(graph)) {
    if (!node->is<Fused>()) continue;
    if (types == RegionTypes::kWide) TENON_TRY(widen_inside(*node));
    inline_region(graph, node);
  }
  for (Node* node : all_nodes(graph)) {
    node->tactic.clear();
    node->packed = {};
    if (node->is<Reformat>()) node->op = std::make_unique<Identity>();
    for (Value* output : node->outputs()) output->type.layout = Layout::kRowMajor;
    for (const auto& body : node->bodies) TENON_TRY(write_out(*body, types));
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

Result<std::unique_ptr<Graph>> written_out(const Graph& graph, RegionTypes types) {
  auto copy = graph.clone();
  TENON_TRY(write_out(*copy, types));
  return copy;
}

Result<std::unique_ptr<Graph>> widened(const Graph& graph, DataType to) {
  TENON_ASSIGN(auto copy, written_out(graph));
  widen(*copy, to);
  TENON_TRY(infer_graph(*copy));
  return copy;
}

}  // namespace tenon
