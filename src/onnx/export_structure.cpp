// Regions as local functions; branches and loops.
#include <algorithm>

#include "base/ascii.h"
#include "onnx/node_exporter.h"
#include "onnx/tensor_writer.h"
#include "ops/movement.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon::importer {
namespace {

constexpr size_t kLongestFunctionName = 96;

/// Functions bear names of letters, digits and _, as other programs expect.
std::string function_name(const std::string& name) {
  std::string word;
  for (const char c : name)
    if (is_letter_or_digit(c))
      word += c;
    else if (!word.empty() && word.back() != '_')
      word += '_';
  while (!word.empty() && word.back() == '_') word.pop_back();
  if (word.empty() || is_digit(word[0])) word.insert(0, "region_");
  return word.substr(0, kLongestFunctionName);
}

/// The name of a body's output: a copy's where it is an input, a constant, or another output too.
std::string own_result(GraphWriter& inside, const Graph& body, size_t index) {
  const Value* output = body.outputs()[index];
  const auto before = body.outputs().begin() + static_cast<std::ptrdiff_t>(index);
  const bool is_own = output->producer() != nullptr && output->constant() == nullptr &&
                      std::find(body.outputs().begin(), before, output) == before;
  if (is_own) return inside.name_of(output);
  std::string copy = inside.fresh("result");
  inside.add("Identity", {inside.name_of(output)}, {copy});
  return copy;
}

/// A body as a nested graph: its first `own` inputs and all of its outputs are the nested graph's,
/// the inputs behind them stand for operands of the node.
::onnx::GraphProto nested(NodeExporter& n, const Graph& body, size_t own, size_t first_operand) {
  ::onnx::GraphProto graph;
  graph.set_name(n.writer().fresh(body.name.empty() ? "body" : body.name));
  GraphWriter inside(n.writer().model(), graph, &n.writer());
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    const Value* input = body.inputs()[i];
    if (i < own)
      write_value_info(inside.declare(input), input->type, *graph.add_input());
    else
      inside.declare(input, n.in(static_cast<int>(first_operand + i - own)));
  }
  inside.write_nodes(body);
  for (size_t i = 0; i < body.outputs().size(); ++i)
    write_value_info(own_result(inside, body, i), body.outputs()[i]->type, *graph.add_output());
  return graph;
}

std::vector<std::string> first_inputs(NodeExporter& n, size_t count) {
  std::vector<std::string> names = n.ins();
  names.resize(count);
  return names;
}

}  // namespace

::onnx::FunctionProto& open_function(NodeExporter& n, const std::string& name) {
  ModelWriter& model = n.writer().model();
  ::onnx::FunctionProto& function = *model.model.add_functions();
  function.set_name(ModelWriter::unused(model.functions, function_name(name)));
  function.set_domain("tenon");
  return function;
}

void declare_inputs(NodeExporter& n, ::onnx::FunctionProto& function, GraphWriter& inside) {
  std::vector<const Value*> known;
  for (const Value* input : n.node().inputs()) {
    if (input == nullptr || std::ranges::find(known, input) != known.end()) continue;
    known.push_back(input);
    function.add_input(inside.declare(input));
  }
}

void call_function(NodeExporter& n, ::onnx::FunctionProto& function, const GraphWriter& inside) {
  std::vector<std::string> operands;
  std::vector<const Value*> known;
  for (const Value* input : n.node().inputs()) {
    if (input == nullptr || std::ranges::find(known, input) != known.end()) continue;
    known.push_back(input);
    operands.push_back(n.writer().name_of(input));
  }
  for (const Value* output : n.node().outputs()) function.add_output(inside.name_of(output));
  n.result(function.name(), operands, n.outs()).proto().set_domain(function.domain());
}

void export_identity(NodeExporter& n) {
  n.plain("Identity");
}

/// Layouts are no matter of ONNX: contents stay.
void export_reformat(NodeExporter& n) {
  n.plain("Identity");
}

void export_fused(NodeExporter& n) {
  const Graph& body = *n.node().bodies[0];
  ::onnx::FunctionProto& function = open_function(n, n.node().name);
  GraphWriter inside(n.writer().model(), function);
  for (const Value* input : body.inputs()) function.add_input(inside.declare(input));
  inside.write_nodes(body);
  for (size_t i = 0; i < body.outputs().size(); ++i)
    function.add_output(own_result(inside, body, i));
  n.result(function.name(), n.ins(), n.outs()).proto().set_domain(function.domain());
}

void export_if(NodeExporter& n) {
  ::onnx::GraphProto then_graph = nested(n, *n.node().bodies[0], 0, 1);
  ::onnx::GraphProto else_graph = nested(n, *n.node().bodies[1], 0, 1);
  n.result("If", {n.in(0)}, n.outs())
      .graph("then_branch", std::move(then_graph))
      .graph("else_branch", std::move(else_graph));
}

void export_loop(NodeExporter& n) {
  const auto carried = static_cast<size_t>(n.node().as<Loop>()->carried);
  ::onnx::GraphProto body = nested(n, *n.node().bodies[0], carried + 2, carried + 2);
  n.result("Loop", first_inputs(n, carried + 2), n.outs()).graph("body", std::move(body));
}

void export_scan(NodeExporter& n) {
  const Scan& op = *n.node().as<Scan>();
  const auto own = static_cast<size_t>(op.states + op.scanned);
  ::onnx::GraphProto body = nested(n, *n.node().bodies[0], own, own);
  n.result("Scan", first_inputs(n, own), n.outs())
      .integer("num_scan_inputs", op.scanned)
      .integers("scan_input_axes", op.input_axes)
      .integers("scan_input_directions", op.input_directions)
      .integers("scan_output_axes", op.output_axes)
      .integers("scan_output_directions", op.output_directions)
      .graph("body", std::move(body));
}

/// ONNX has none: the model computes on where a run of the network would end.
void export_assertion(NodeExporter&) {}

void export_shape(NodeExporter& n) {
  const ShapeOf& op = *n.node().as<ShapeOf>();
  AddedNode added = n.plain("Shape").integer("start", op.start);
  if (op.end != INT64_MAX) added.integer("end", op.end);
}

void export_split(NodeExporter& n) {
  AddedNode added =
      n.result("Split", {n.in(0), n.in64(1)}, n.outs()).integer("axis", n.node().as<Split>()->axis);
  if (!n.has(1)) added.integer("num_outputs", static_cast<int64_t>(n.node().outputs().size()));
}

}  // namespace tenon::importer
