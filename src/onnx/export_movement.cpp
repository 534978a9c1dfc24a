// Operators that move, choose and join elements.
#include "onnx/node_exporter.h"
#include "ops/movement.h"
#include "ops/table.h"

namespace tenon::importer {
namespace {

std::string_view reduction_name(ScatterReduction reduction) {
  return enum_names(reduction)[static_cast<size_t>(reduction)];
}

}  // namespace

void export_shape(NodeExporter& n) {
  const ShapeOf& op = *n.node().as<ShapeOf>();
  AddedNode added = n.plain("Shape").integer("start", op.start);
  if (op.end != INT64_MAX) added.integer("end", op.end);
}

void export_reshape(NodeExporter& n) {
  n.result("Reshape", {n.in(0), n.in64(1)})
      .integer("allowzero", n.node().as<Reshape>()->allow_zero);
}

void export_flatten(NodeExporter& n) {
  n.plain("Flatten").integer("axis", n.node().as<Flatten>()->axis);
}

void export_squeeze(NodeExporter& n) {
  n.result("Squeeze", {n.in(0), n.in64(1)});
}

void export_unsqueeze(NodeExporter& n) {
  n.result("Unsqueeze", {n.in(0), n.in64(1)});
}

void export_transpose(NodeExporter& n) {
  n.plain("Transpose").integers("perm", n.node().as<Transpose>()->permutation);
}

void export_concat(NodeExporter& n) {
  n.plain("Concat").integer("axis", n.node().as<Concat>()->axis);
}

void export_split(NodeExporter& n) {
  AddedNode added =
      n.result("Split", {n.in(0), n.in64(1)}, n.outs()).integer("axis", n.node().as<Split>()->axis);
  if (!n.has(1)) added.integer("num_outputs", static_cast<int64_t>(n.node().outputs().size()));
}

void export_pad(NodeExporter& n) {
  const Pad& op = *n.node().as<Pad>();
  n.result("Pad", {n.in(0), n.in64(1), n.in(2), n.in64(3)})
      .text("mode", enum_names(op.fill)[static_cast<size_t>(op.fill)]);
}

void export_gather(NodeExporter& n) {
  n.result("Gather", {n.in(0), n.indices(1)}).integer("axis", n.node().as<Gather>()->axis);
}

void export_gather_elements(NodeExporter& n) {
  n.result("GatherElements", {n.in(0), n.indices(1)})
      .integer("axis", n.node().as<GatherElements>()->axis);
}

void export_scatter_elements(NodeExporter& n) {
  const ScatterElements& op = *n.node().as<ScatterElements>();
  n.result("ScatterElements", {n.in(0), n.indices(1), n.in(2)})
      .integer("axis", op.axis)
      .text("reduction", reduction_name(op.reduction));
}

void export_scatter_nd(NodeExporter& n) {
  n.result("ScatterND", {n.in(0), n.in64(1), n.in(2)})
      .text("reduction", reduction_name(n.node().as<ScatterNd>()->reduction));
}

void export_tensor_scatter(NodeExporter& n) {
  const TensorScatter& op = *n.node().as<TensorScatter>();
  n.writer().model().need_opset(24);
  n.result("TensorScatter", {n.in(0), n.in(1), n.in64(2)})
      .integer("axis", op.axis)
      .text("mode", op.circular ? "circular" : "linear");
}

void export_depth_to_space(NodeExporter& n) {
  const DepthToSpace& op = *n.node().as<DepthToSpace>();
  n.plain("DepthToSpace")
      .integer("blocksize", op.block)
      .text("mode", op.column_row_depth ? "CRD" : "DCR");
}

void export_space_to_depth(NodeExporter& n) {
  n.plain("SpaceToDepth").integer("blocksize", n.node().as<SpaceToDepth>()->block);
}

void export_col2im(NodeExporter& n) {
  const Col2Im& op = *n.node().as<Col2Im>();
  std::vector<int64_t> pads = op.pads_begin;
  pads.insert(pads.end(), op.pads_end.begin(), op.pads_end.end());
  n.result("Col2Im", {n.in(0), n.in64(1), n.in64(2)})
      .integers("strides", op.strides)
      .integers("dilations", op.dilations)
      .integers("pads", pads);
}

void export_compress(NodeExporter& n) {
  const Compress& op = *n.node().as<Compress>();
  AddedNode added = n.plain("Compress");
  if (!op.flat) added.integer("axis", op.axis);
}

void export_unique(NodeExporter& n) {
  const Unique& op = *n.node().as<Unique>();
  AddedNode added = n.plain("Unique").integer("sorted", op.sorted);
  if (!op.flat) added.integer("axis", op.axis);
}

}  // namespace tenon::importer
