// Convolution, pooling, normalization and the other layers of networks.
#include <numeric>

#include "onnx/node_exporter.h"
#include "ops/gate_activations.h"
#include "ops/movement.h"
#include "ops/nn.h"
#include "ops/table.h"

namespace tenon::importer {
namespace {

/// With all attributes, and the pads by which a window goes over its image.
template <class Op> AddedNode with_window(NodeExporter& n, AddedNode added, const Op& op) {
  AddedNode node = n.with_attributes(added);
  if constexpr (requires { op.pad_mode; })
    if (op.pad_mode != PadMode::kExplicit)
      return node.text("auto_pad",
                       op.pad_mode == PadMode::kSameUpper ? "SAME_UPPER" : "SAME_LOWER");
  std::vector<int64_t> pads = op.pads_begin;
  pads.insert(pads.end(), op.pads_end.begin(), op.pads_end.end());
  return node.integers("pads", pads);
}

bool takes_bytes(const NodeExporter& n) {
  return n.element(0) == DataType::kInt8 || n.element(0) == DataType::kUInt8;
}

}  // namespace

void export_conv(NodeExporter& n) {
  const Conv& op = *n.node().as<Conv>();
  if (is_integer(n.element(0)) && !takes_bytes(n))
    return n.fail("integers are convolved as bytes only in ONNX");
  if (takes_bytes(n) && n.has(2)) return n.fail("sums of bytes take no bias in ONNX");
  with_window(n, n.plain(takes_bytes(n) ? "ConvInteger" : "Conv"), op);
}

void export_deconv(NodeExporter& n) {
  with_window(n, n.plain("ConvTranspose"), *n.node().as<Deconv>());
}

void export_deform_conv(NodeExporter& n) {
  with_window(n, n.plain("DeformConv"), *n.node().as<DeformConv>());
}

void export_pool(NodeExporter& n) {
  const Pool& op = *n.node().as<Pool>();
  constexpr std::string_view kNames[] = {"MaxPool", "AveragePool", "LpPool"};
  AddedNode added = with_window(n, n.plain(kNames[static_cast<size_t>(op.function)]), op);
  if (op.function == PoolFunction::kMax) added.integer("storage_order", op.column_major_indices);
  if (op.function == PoolFunction::kAverage)
    added.integer("count_include_pad", op.count_include_pad);
  if (op.function == PoolFunction::kLp) added.integer("p", op.p);
}

void export_max_unpool(NodeExporter& n) {
  with_window(n, n.plain("MaxUnpool"), *n.node().as<MaxUnpool>());
}

void export_col2im(NodeExporter& n) {
  with_window(n, n.result("Col2Im", {n.in(0), n.in64(1), n.in64(2)}), *n.node().as<Col2Im>());
}

void export_roi_pool(NodeExporter& n) {
  const RoiPool& op = *n.node().as<RoiPool>();
  if (op.function == RoiFunction::kPoolMax) {
    n.plain("MaxRoiPool")
        .integers("pooled_shape", {op.height, op.width})
        .real("spatial_scale", op.spatial_scale);
    return;
  }
  n.plain("RoiAlign")
      .text("mode", op.function == RoiFunction::kAlignMax ? "max" : "avg")
      .integer("output_height", op.height)
      .integer("output_width", op.width)
      .integer("sampling_ratio", op.sampling_ratio)
      .real("spatial_scale", op.spatial_scale)
      .text("coordinate_transformation_mode", op.half_pixel ? "half_pixel" : "output_half_pixel");
}

/// Over several axes it is made of its parts.
void export_softmax(NodeExporter& n) {
  const Softmax& op = *n.node().as<Softmax>();
  if (op.axes.size() == 1) {
    n.plain(op.log ? "LogSoftmax" : "Softmax").integer("axis", op.axes[0]);
    return;
  }
  const std::string axes = n.integers(op.axes);
  const std::string low = n.step("Sub", {n.in(0), n.step("ReduceMax", {n.in(0), axes})});
  const std::string exponentials = n.step("Exp", {low});
  const std::string sum = n.step("ReduceSum", {exponentials, axes});
  if (op.log)
    n.result("Sub", {low, n.step("Log", {sum})});
  else
    n.result("Div", {exponentials, sum});
}

namespace {

/// Axes from `first` on.
std::vector<int64_t> axes_from(int64_t first, int rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank - (first < 0 ? first + rank : first)));
  std::iota(axes.rbegin(), axes.rend(), int64_t{0});
  for (int64_t& axis : axes) axis = rank - 1 - axis;
  return axes;
}

/// Layer and RMS normalization by their parts: scale and bias may have any shape that broadcasts.
void export_by_moments(NodeExporter& n, const Normalization& op) {
  const int rank = n.rank(0);
  const std::string axes = n.integers(axes_from(op.axis, rank));
  std::string x = n.cast(n.in(0), n.element(0), op.compute);
  std::string mean;
  if (op.norm == NormKind::kLayer) {
    mean = n.step("ReduceMean", {x, axes});
    x = n.step("Sub", {x, mean});
  }
  const std::string variance = n.step("ReduceMean", {n.step("Mul", {x, x}), axes});
  const std::string root =
      n.step("Sqrt", {n.step("Add", {variance, n.number(op.epsilon, op.compute)})});
  std::string y = n.step("Div", {x, root});
  for (int i = 1; i < 3; ++i)
    if (n.has(i))
      y = n.step(i == 1 ? "Mul" : "Add", {y, n.cast(n.in(i), n.element(i), op.compute)});
  const auto count = n.node().outputs().size();
  n.give(n.cast(y, op.compute, n.element(0)));
  if (count > 1 && mean.empty()) return n.fail("RMS normalization has no mean");
  if (count > 1) n.give(mean, 1);
  if (count > 2) n.result("Reciprocal", {root}, {n.out(2)});
}

/// A vector of numbers for channels, or of ones or zeros where the operand is absent.
std::string per_channel(NodeExporter& n, int operand, const Dim& channels) {
  if (n.has(operand)) return n.in(operand);
  return n.filled(channels.constant(), operand == 1 ? 1 : 0, n.element(0));
}

/// Whether the operand has exactly the extents that are normalized over.
bool spans_rows(const NodeExporter& n, int operand, int64_t axis) {
  const Shape& x = n.type(0).shape;
  const auto first = static_cast<size_t>(axis < 0 ? axis + n.rank(0) : axis);
  const Shape rows(x.begin() + static_cast<std::ptrdiff_t>(first), x.end());
  return n.type(operand).shape == rows;
}

}  // namespace

void export_normalization(NodeExporter& n) {
  const Normalization& op = *n.node().as<Normalization>();
  if (op.norm == NormKind::kLayer || op.norm == NormKind::kRms) {
    const bool plain = op.norm == NormKind::kLayer && n.has(1) && spans_rows(n, 1, op.axis) &&
                       (!n.has(2) || spans_rows(n, 2, op.axis));
    if (plain)
      n.plain("LayerNormalization").integer("axis", op.axis).real("epsilon", op.epsilon);
    else
      export_as_function(n, fmt::format("normalize_{}", n.node().name),
                         [&](NodeExporter& inner) { export_by_moments(inner, op); });
    return;
  }
  const Dim& channels = n.type(0).shape[1];
  if ((!n.has(1) || !n.has(2)) && !channels.is_constant())
    return n.fail("the number of channels is not known");
  const std::vector<std::string> operands = {n.in(0), per_channel(n, 1, channels),
                                             per_channel(n, 2, channels)};
  if (op.norm == NormKind::kInstance)
    n.result("InstanceNormalization", operands).real("epsilon", op.epsilon);
  else
    n.result("GroupNormalization", operands)
        .integer("num_groups", op.groups)
        .real("epsilon", op.epsilon);
}

void export_resize(NodeExporter& n) {
  n.with_attributes(n.result("Resize", {n.in(0), n.in(1), n.in(2), n.in64(3)}));
}

void export_grid_sample(NodeExporter& n) {
  const GridSample& op = *n.node().as<GridSample>();
  n.with_attributes(n.plain("GridSample"))
      .text("mode", enum_names(op.mode)[static_cast<size_t>(op.mode)]);
}

void export_rnn(NodeExporter& n) {
  const Rnn& op = *n.node().as<Rnn>();
  constexpr std::string_view kNames[] = {"LSTM", "GRU", "RNN"};
  std::vector<std::string> activations;
  for (const std::string& name : op.activations) activations.emplace_back(spelled_as_onnx(name));
  AddedNode added =
      n.plain(kNames[static_cast<size_t>(op.cell)])
          .integer("hidden_size", op.hidden)
          .text("direction", enum_names(op.direction)[static_cast<size_t>(op.direction)])
          .texts("activations", activations)
          .reals("activation_alpha", op.activation_alpha)
          .reals("activation_beta", op.activation_beta)
          .integer("layout", op.batch_first);
  if (op.clip != 0) added.real("clip", op.clip);
  if (op.cell == RnnKind::kLstm) added.integer("input_forget", op.input_forget);
  if (op.cell == RnnKind::kGru) added.integer("linear_before_reset", op.linear_before_reset);
}

}  // namespace tenon::importer
