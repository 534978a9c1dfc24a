// Shapes: reshaping, slicing, joining, padding.
#include "onnx/graph_importer.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/movement.h"
#include "ops/structure.h"

namespace tenon::importer {

void import_identity(NodeImporter& n, const OpRow&) {
  const bool is_list = n.importer().context().list(n.input(0)) != nullptr;
  n.output(is_list ? n.input(0) : n.add(Identity{}, {n.input(0)}));
}

/// Axes moved from an attribute to an operand in opset 13.
void import_squeeze(NodeImporter& n, const OpRow&) {
  Value* axes = n.has("axes") ? n.integers(n.integer_list("axes")) : n.input(1);
  n.output(n.add(Squeeze{}, {n.input(0), axes}));
}

void import_unsqueeze(NodeImporter& n, const OpRow&) {
  Value* axes = n.has("axes") ? n.integers(n.integer_list("axes")) : n.input(1);
  n.output(n.add(Unsqueeze{}, {n.input(0), axes}));
}

void import_expand_dims(NodeImporter& n, const OpRow&) {
  n.output(n.add(Unsqueeze{}, {n.input(0), n.reshape(n.cast(n.input(1), DataType::kInt64), {1})}));
}

void import_concat(NodeImporter& n, const OpRow&) {
  Concat op;
  op.axis = n.integer_attribute("axis", 1);
  n.output(n.add(op, n.inputs()));
}

/// Sizes moved from an attribute to an operand in opset 13; without them the parts are equal.
void import_split(NodeImporter& n, const OpRow&) {
  Split op;
  op.axis = n.integer_attribute("axis", 0);
  Value* sizes = n.has("split") ? n.integers(n.integer_list("split")) : n.input(1);
  const int64_t parts = n.integer_attribute("num_outputs", n.output_count());
  if (parts != n.output_count())
    return n.fail(
        ImportCode::kInvalidNode,
        fmt::format("num_outputs is {}, but there are {} outputs", parts, n.output_count()));
  const std::vector<Value*> results = n.add_multiple(op, {n.input(0), sizes}, n.output_count());
  for (int i = 0; i < n.output_count(); ++i) n.output(i, results[static_cast<size_t>(i)]);
}

void import_slice_attributes(NodeImporter& n, const OpRow&) {
  Value* starts = n.integers(n.integer_list("starts"));
  Value* ends = n.integers(n.integer_list("ends"));
  Value* axes = n.has("axes") ? n.integers(n.integer_list("axes")) : nullptr;
  n.output(n.add(Slice{}, {n.input(0), starts, ends, axes}));
}

void import_pad_attributes(NodeImporter& n, const OpRow&) {
  Pad op;
  op.fill = static_cast<PadFill>(n.choice("mode", "constant", {"constant", "reflect", "edge"}));
  Value* pads = n.integers(n.integer_list("pads"));
  n.output(
      n.add(op, {n.input(0), pads, n.number(n.real_attribute("value", 0), n.type(n.input(0)))}));
}

}  // namespace tenon::importer
