// If, Loop and Scan: nested graphs become isolated bodies, with values from outside as explicit
// operands.
#include "onnx/graph_importer.h"
#include "onnx/op_table.h"
#include "onnx_proto/onnx.pb.h"
#include "ops/structure.h"

namespace tenon::importer {
namespace {

/// Extents of carried values may have to be relaxed once an axis.
constexpr int kMaxRelaxations = 12;

/// The nested graph has reported its own problems.
void fail_silently(NodeImporter& n) {
  n.fail(ImportCode::kSuccess, "");
}

bool takes(NodeImporter& n, const ::onnx::GraphProto& body, size_t inputs) {
  if (static_cast<size_t>(body.input_size()) == inputs) return true;
  n.fail(ImportCode::kInvalidNode,
         fmt::format("the body takes {} inputs, but {} are given", body.input_size(), inputs));
  return false;
}

void take_results(NodeImporter& n, const std::vector<Value*>& results) {
  for (int i = 0; i < n.output_count() && static_cast<size_t>(i) < results.size(); ++i)
    n.output(i, results[static_cast<size_t>(i)]);
}

/// Extents that an iteration changes become symbols of the body. Returns whether any did.
bool relax(NodeImporter& n, std::vector<TensorType>& carried, const Graph& body,
           size_t first_output) {
  bool changed = false;
  for (size_t i = 0; i < carried.size(); ++i) {
    const TensorType& after = body.outputs()[first_output + i]->type;
    TensorType& before = carried[i];
    if (after.type != before.type || after.shape.size() != before.shape.size()) {
      n.fail(ImportCode::kUnsupportedNodeShape,
             fmt::format("carried value {} enters the body as {}{} and leaves it as {}{}", i,
                         name_of(before.type), to_string(before.shape), name_of(after.type),
                         to_string(after.shape)));
      return false;
    }
    for (size_t axis = 0; axis < before.shape.size(); ++axis) {
      if (after.shape[axis] == before.shape[axis]) continue;
      const std::vector<std::string> own = before.shape[axis].symbols();
      if (own.size() == 1 && before.shape[axis] == Dim::symbol(own[0]) &&
          own[0].starts_with("loop_"))
        continue;
      const std::string symbol =
          fmt::format("loop_{}_{}_{}", n.graph().symbol_ranges.size(), i, axis);
      n.graph().symbol_ranges.emplace(symbol, Range{});
      before.shape[axis] = Dim::symbol(symbol);
      changed = true;
    }
  }
  return changed;
}

/// Imports a body whose `carried` inputs (after `fixed`) come back as outputs, until their types
/// hold for every iteration.
std::optional<ImportedBody> stable_body(NodeImporter& n, const ::onnx::GraphProto& proto,
                                        const std::vector<TensorType>& fixed,
                                        std::vector<TensorType> carried,
                                        const std::vector<TensorType>& scanned,
                                        size_t first_output) {
  for (int attempt = 0; attempt < kMaxRelaxations; ++attempt) {
    std::vector<TensorType> types = fixed;
    types.insert(types.end(), carried.begin(), carried.end());
    types.insert(types.end(), scanned.begin(), scanned.end());
    std::optional<ImportedBody> body = n.importer().import_body(proto, types, {});
    if (!body) fail_silently(n);
    if (!body) return std::nullopt;
    if (body->graph->outputs().size() < first_output + carried.size()) {
      n.fail(ImportCode::kInvalidNode, "the body has fewer outputs than carried values");
      return std::nullopt;
    }
    if (!relax(n, carried, *body->graph, first_output))
      return n.ok() ? std::move(body) : std::nullopt;
  }
  n.fail(ImportCode::kUnsupportedNodeShape, "the shapes of carried values do not converge");
  return std::nullopt;
}

std::vector<TensorType> types_of(const std::vector<Value*>& values) {
  std::vector<TensorType> types;
  for (const Value* value : values) types.push_back({value->type.type, value->type.shape});
  return types;
}

/// The element at one position of an axis.
TensorType slice_type(NodeImporter& n, const Value* value, int64_t axis) {
  TensorType type{value->type.type, value->type.shape};
  axis = n.normalized(axis, n.rank(value));
  if (n.ok()) type.shape.erase(type.shape.begin() + axis);
  return type;
}

/// Negative axes count from the end; a missing list stands for zeros.
std::vector<int64_t> list_or_zeros(NodeImporter& n, std::string_view name, size_t count) {
  std::vector<int64_t> list = n.integer_list(name);
  if (!list.empty() && list.size() != count)
    n.fail(ImportCode::kInvalidNode,
           fmt::format("attribute {} has {} entries instead of {}", name, list.size(), count));
  list.resize(count, 0);
  return list;
}

std::vector<std::unique_ptr<Graph>> one_body(std::unique_ptr<Graph> graph) {
  std::vector<std::unique_ptr<Graph>> bodies;
  bodies.push_back(std::move(graph));
  return bodies;
}

/// Whether a loop carries or reads sequences, which a body that stays a body cannot.
bool touches_lists(NodeImporter& n, const ::onnx::GraphProto& body) {
  const ModelContext& context = n.importer().context();
  for (const Value* value : n.inputs())
    if (context.list(value)) return true;
  if (context.lists.empty()) return false;
  for (const auto& node : body.node())
    for (const std::string& name : node.input())
      if (context.list(n.importer().find(name).value_or(nullptr))) return true;
  return false;
}

/// Values of one output of every iteration, stacked.
Value* stacked(NodeImporter& n, const std::vector<Value*>& values) {
  std::vector<Value*> rows;
  for (Value* value : values) rows.push_back(n.unsqueeze(value, {0}));
  if (rows.empty())
    n.fail(ImportCode::kUnsupportedNodeShape, "no iteration tells the shape of a scan output");
  return n.ok() ? n.concat(std::move(rows), 0) : nullptr;
}

/// A loop over sequences, iteration by iteration; how many there are must be known now.
void unroll(NodeImporter& n, const ::onnx::GraphProto& body, std::vector<Value*> carried) {
  constexpr int64_t kMostIterations = 4096;
  int64_t trips = INT64_MAX;
  if (n.has_input(0)) {
    const std::vector<int64_t> given = n.required_integers(0, "the trip count of such a loop");
    trips = given.empty() ? 0 : given[0];
  }
  Value* condition = n.has_input(1) ? n.input(1) : n.number(1, DataType::kBool);
  std::vector<std::vector<Value*>> scans(
      static_cast<size_t>(std::max<int>(body.output_size() - 1, 0)));
  for (int64_t i = 0; n.ok() && i < trips; ++i) {
    const std::optional<double> go_on = n.known_number(condition);
    if (!go_on || i == kMostIterations)
      return n.fail(ImportCode::kUnsupportedNodeInput,
                    "a loop over sequences must have a known, small number of iterations");
    if (*go_on == 0) break;
    std::vector<Value*> operands{n.integer(i), condition};
    operands.insert(operands.end(), carried.begin(), carried.end());
    const std::vector<Value*> results = n.importer().inline_body(body, operands);
    if (results.size() < carried.size() + 1) return fail_silently(n);
    condition = results[0];
    std::copy_n(results.begin() + 1, carried.size(), carried.begin());
    for (size_t k = carried.size() + 1; k < results.size(); ++k) scans[k - 1].push_back(results[k]);
  }
  for (int k = 0; n.ok() && k < n.output_count(); ++k) {
    const auto index = static_cast<size_t>(k);
    if (index < carried.size())
      n.output(k, carried[index]);
    else if (index < scans.size() && n.wants(k))
      n.output(k, stacked(n, scans[index]));
  }
}

/// Of branches whose results differ in rank the one that squeezes: exporters write the squeeze of
/// an extent that they do not know as a choice between Squeeze and Identity, and all that follows
/// is made for the rank of one of them. -1: there is none.
int squeezing_branch(const Graph& yes, const Graph& no) {
  const Graph* branches[] = {&yes, &no};
  for (size_t i = 0; i < std::min(yes.outputs().size(), no.outputs().size()); ++i) {
    const size_t ranks[] = {yes.outputs()[i]->type.shape.size(),
                            no.outputs()[i]->type.shape.size()};
    if (ranks[0] == ranks[1]) continue;
    const int least = ranks[0] < ranks[1] ? 0 : 1;
    const Node* producer = branches[least]->outputs()[i]->producer();
    return producer != nullptr && producer->is<Squeeze>() ? least : -1;
  }
  return -1;
}

/// One branch in place of the node; a run fails where the condition chooses the other one.
void take_branch(NodeImporter& n, const ::onnx::GraphProto& branch, bool when) {
  Value* condition = n.input(0);
  if (!when) condition = n.pointwise(PointwiseFunction::k_not, {condition});
  auto assertion = std::make_unique<Assertion>();
  assertion->message = "only an extent of 1 can be squeezed, and the model goes on without it";
  n.add_node(std::move(assertion), {condition}, 0);
  const std::vector<Value*> results = n.importer().inline_body(branch, {});
  if (results.empty()) return fail_silently(n);
  take_results(n, results);
}

}  // namespace

/// A condition known now leaves one branch, inlined; else both branches take the same captures.
void import_if(NodeImporter& n, const OpRow&) {
  const ::onnx::GraphProto* then_graph = n.body("then_branch");
  const ::onnx::GraphProto* else_graph = n.body("else_branch");
  if (!n.ok() || !n.has_input(0))
    return n.fail(ImportCode::kInvalidNode, "the condition is missing");
  if (const std::optional<double> known = n.known_number(n.input(0))) {
    const std::vector<Value*> results =
        n.importer().inline_body(*known != 0 ? *then_graph : *else_graph, {});
    if (results.empty()) return fail_silently(n);
    return take_results(n, results);
  }
  if (then_graph->input_size() != 0 || else_graph->input_size() != 0)
    return n.fail(ImportCode::kInvalidNode, "the branches must have no inputs");
  std::optional<ImportedBody> then_body = n.importer().import_body(*then_graph, {}, {});
  if (!then_body) return fail_silently(n);
  std::optional<ImportedBody> else_body =
      n.importer().import_body(*else_graph, {}, then_body->capture_names);
  if (!else_body) return fail_silently(n);
  for (size_t i = then_body->captures.size(); i < else_body->captures.size(); ++i)
    then_body->graph->add_input(else_body->capture_names[i], else_body->captures[i]->type);
  if (then_body->graph->outputs().size() != else_body->graph->outputs().size())
    return n.fail(ImportCode::kInvalidNode, "the branches differ in the number of outputs");
  if (const int branch = squeezing_branch(*then_body->graph, *else_body->graph); branch >= 0)
    return take_branch(n, branch == 0 ? *then_graph : *else_graph, branch == 0);
  std::vector<Value*> inputs{n.input(0)};
  inputs.insert(inputs.end(), else_body->captures.begin(), else_body->captures.end());
  std::vector<std::unique_ptr<Graph>> bodies = one_body(std::move(then_body->graph));
  bodies.push_back(std::move(else_body->graph));
  const int count = static_cast<int>(bodies[0]->outputs().size());
  take_results(n, n.add_node(std::make_unique<If>(), std::move(inputs), count, std::move(bodies)));
}

void import_loop(NodeImporter& n, const OpRow&) {
  const ::onnx::GraphProto* proto = n.body("body");
  const size_t given = n.inputs().size();
  if (!n.ok() || !takes(n, *proto, std::max<size_t>(given, 2))) return;
  std::vector<Value*> inputs = n.inputs();
  inputs.resize(std::max<size_t>(given, 2), nullptr);
  const std::vector<Value*> carried(inputs.begin() + 2, inputs.end());
  for (const Value* value : carried)
    if (!value) return n.fail(ImportCode::kInvalidNode, "a carried value is missing");
  if (touches_lists(n, *proto)) return unroll(n, *proto, carried);
  const std::vector<TensorType> fixed{{DataType::kInt64, {}}, {DataType::kBool, {}}};
  std::optional<ImportedBody> body = stable_body(n, *proto, fixed, types_of(carried), {}, 1);
  if (!body) return;
  Loop op;
  op.carried = static_cast<int64_t>(carried.size());
  inputs.insert(inputs.end(), body->captures.begin(), body->captures.end());
  const int count = static_cast<int>(body->graph->outputs().size()) - 1;
  take_results(n, n.add_node(std::make_unique<Loop>(op), std::move(inputs), count,
                             one_body(std::move(body->graph))));
}

void import_scan(NodeImporter& n, const OpRow&) {
  const ::onnx::GraphProto* proto = n.body("body");
  if (!n.ok() || !takes(n, *proto, n.inputs().size())) return;
  Scan op;
  op.scanned = n.integer_attribute("num_scan_inputs", 0);
  op.states = n.input_count() - op.scanned;
  if (op.scanned <= 0 || op.states < 0)
    return n.fail(ImportCode::kInvalidNode, "num_scan_inputs does not fit the inputs");
  for (const Value* value : n.inputs())
    if (!value) return n.fail(ImportCode::kInvalidNode, "an input is missing");
  const auto scanned = static_cast<size_t>(op.scanned);
  op.input_axes = list_or_zeros(n, "scan_input_axes", scanned);
  op.input_directions = list_or_zeros(n, "scan_input_directions", scanned);
  const std::vector<Value*> states(n.inputs().begin(), n.inputs().begin() + op.states);
  std::vector<TensorType> slices;
  for (size_t i = 0; i < scanned; ++i)
    slices.push_back(slice_type(n, n.input(static_cast<int>(states.size() + i)), op.input_axes[i]));
  if (!n.ok()) return;
  std::optional<ImportedBody> body = stable_body(n, *proto, {}, types_of(states), slices, 0);
  if (!body) return;
  const size_t count = body->graph->outputs().size();
  op.output_axes = list_or_zeros(n, "scan_output_axes", count - states.size());
  op.output_directions = list_or_zeros(n, "scan_output_directions", count - states.size());
  std::vector<Value*> inputs = n.inputs();
  inputs.insert(inputs.end(), body->captures.begin(), body->captures.end());
  take_results(n, n.add_node(std::make_unique<Scan>(std::move(op)), std::move(inputs),
                             static_cast<int>(count), one_body(std::move(body->graph))));
}

/// Opset 8 scans axis 1 of batched operands: a scan over the batch around a scan over time.
void import_scan_8(NodeImporter& n, const OpRow&) {
  const ::onnx::GraphProto* proto = n.body("body");
  if (!n.ok() || !takes(n, *proto, n.inputs().size() - 1)) return;
  if (n.has_input(0))
    return n.fail(ImportCode::kUnsupportedNodeInput,
                  "sequence_lens is not supported; convert the model to opset 9");
  const std::vector<Value*> operands(n.inputs().begin() + 1, n.inputs().end());
  Scan inner;
  inner.scanned = n.integer_attribute("num_scan_inputs", 0);
  inner.states = static_cast<int64_t>(operands.size()) - inner.scanned;
  inner.input_directions =
      list_or_zeros(n, "directions", static_cast<size_t>(std::max<int64_t>(inner.scanned, 0)));
  if (inner.scanned <= 0 || inner.states < 0)
    return n.fail(ImportCode::kInvalidNode, "num_scan_inputs does not fit the inputs");
  auto batch = std::make_unique<Graph>();
  batch->symbol_ranges = n.graph().symbol_ranges;
  std::vector<TensorType> states, slices;
  std::vector<Value*> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    const TensorType whole = slice_type(n, operands[i], 0);
    inputs.push_back(batch->add_input("", whole));
    if (static_cast<int64_t>(i) < inner.states)
      states.push_back(whole);
    else
      slices.push_back(slice_type(n, inputs.back(), 0));
  }
  if (!n.ok()) return;
  std::optional<ImportedBody> body = stable_body(n, *proto, {}, states, slices, 0);
  if (!body) return;
  if (!body->captures.empty())
    return n.fail(ImportCode::kUnsupportedNode, "a body that reads outer values needs opset 9");
  const size_t count = body->graph->outputs().size();
  inner.input_axes.assign(slices.size(), 0);
  inner.output_axes.assign(count - states.size(), 0);
  inner.output_directions.assign(count - states.size(), 0);
  FoldCache folded;
  Emitter emitter(*batch, folded);
  const std::vector<Value*> results =
      emitter.add_node(std::make_unique<Scan>(std::move(inner)), std::move(inputs),
                       static_cast<int>(count), one_body(std::move(body->graph)));
  if (!emitter.ok()) return n.fail(emitter.code(), emitter.message());
  for (Value* result : results) batch->add_output(result);
  Scan outer;
  outer.scanned = static_cast<int64_t>(operands.size());
  outer.input_axes.assign(operands.size(), 0);
  outer.input_directions.assign(operands.size(), 0);
  outer.output_axes.assign(count, 0);
  outer.output_directions.assign(count, 0);
  take_results(n, n.add_node(std::make_unique<Scan>(std::move(outer)), operands,
                             static_cast<int>(count), one_body(std::move(batch))));
}

}  // namespace tenon::importer
