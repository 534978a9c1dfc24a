// Convolution, pooling and other operators with a sliding window.
#include "onnx/import_window.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::importer {

PadMode pad_mode(NodeImporter& n) {
  constexpr PadMode kModes[] = {PadMode::kExplicit, PadMode::kExplicit, PadMode::kSameUpper,
                                PadMode::kSameLower};
  return kModes[n.choice("auto_pad", "NOTSET", {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"})];
}

void split_pads(NodeImporter& n, std::vector<int64_t>& begin, std::vector<int64_t>& end) {
  const std::vector<int64_t> pads = n.integer_list("pads");
  const auto half = static_cast<std::ptrdiff_t>(pads.size() / 2);
  if (pads.size() % 2 != 0)
    return n.fail(ImportCode::kInvalidNode, "pads has an odd number of entries");
  if (n.text("auto_pad", "NOTSET") != "NOTSET") return;
  begin.assign(pads.begin(), pads.begin() + half);
  end.assign(pads.begin() + half, pads.end());
}

namespace {

template <class T> T windowed(NodeImporter& n) {
  auto op = n.attributes<T>();
  split_pads(n, op.pads_begin, op.pads_end);
  if constexpr (requires { op.pad_mode; }) op.pad_mode = pad_mode(n);
  return op;
}

Pool pool(NodeImporter& n, PoolFunction function) {
  Pool op = windowed<Pool>(n);
  op.function = function;
  if (op.kernel.empty()) n.fail(ImportCode::kInvalidNode, "attribute kernel_shape is missing");
  return op;
}

}  // namespace

Value* channels_moved(NodeImporter& n, Value* x, bool to_the_front) {
  const int64_t rank = n.rank(x);
  std::vector<int64_t> order{0};
  if (to_the_front) order.push_back(rank - 1);
  for (int64_t axis = to_the_front ? 1 : 2; axis < rank - (to_the_front ? 1 : 0); ++axis)
    order.push_back(axis);
  if (!to_the_front) order.push_back(1);
  return n.transpose(x, std::move(order));
}

Conv convolution(NodeImporter& n) {
  return windowed<Conv>(n);
}

void import_conv(NodeImporter& n, const OpRow&) {
  n.output(n.add(convolution(n), n.inputs()));
}

void import_conv_transpose(NodeImporter& n, const OpRow&) {
  Deconv op = windowed<Deconv>(n);
  // Some exporters write the full shape, batch and channels included.
  const auto spatial = static_cast<size_t>(std::max(n.rank(n.input(0)) - 2, 0));
  if (op.output_shape.size() > spatial)
    op.output_shape.erase(op.output_shape.begin(),
                          op.output_shape.end() - static_cast<std::ptrdiff_t>(spatial));
  n.output(n.add(std::move(op), n.inputs()));
}

void import_deform_conv(NodeImporter& n, const OpRow&) {
  n.output(n.add(windowed<DeformConv>(n), n.inputs()));
}

void import_average_pool(NodeImporter& n, const OpRow&) {
  Pool op = pool(n, PoolFunction::kAverage);
  op.count_include_pad = n.flag("count_include_pad");
  n.output(n.add(std::move(op), {n.input(0)}));
}

void import_lp_pool(NodeImporter& n, const OpRow&) {
  Pool op = pool(n, PoolFunction::kLp);
  op.p = n.integer_attribute("p", 2);
  n.output(n.add(std::move(op), {n.input(0)}));
}

void import_max_pool(NodeImporter& n, const OpRow&) {
  Pool op = pool(n, PoolFunction::kMax);
  op.column_major_indices = n.flag("storage_order");
  const int count = n.wants(1) ? 2 : 1;
  const std::vector<Value*> results = n.add_multiple(std::move(op), {n.input(0)}, count);
  for (int i = 0; i < count; ++i) n.output(i, results[static_cast<size_t>(i)]);
}

/// With channels last.
void import_nhwc_max_pool(NodeImporter& n, const OpRow&) {
  Value* y = n.add(pool(n, PoolFunction::kMax), {channels_moved(n, n.input(0), true)});
  n.output(channels_moved(n, y, false));
}

void import_trt_blend_pool(NodeImporter& n, const OpRow&) {
  const double blend = n.real_attribute("blend", 0);
  Pool average = pool(n, PoolFunction::kAverage);
  average.count_include_pad = n.flag("count_include_pad");
  Value* most = n.mul(n.add(pool(n, PoolFunction::kMax), {n.input(0)}), 1 - blend);
  n.output(n.add(most, n.mul(n.add(std::move(average), {n.input(0)}), blend)));
}

void import_max_unpool(NodeImporter& n, const OpRow&) {
  n.output(n.add(windowed<MaxUnpool>(n), n.inputs()));
}

void import_max_roi_pool(NodeImporter& n, const OpRow&) {
  const std::vector<int64_t> shape = n.integer_list("pooled_shape");
  if (shape.size() != 2)
    return n.fail(ImportCode::kInvalidNode, "pooled_shape must have 2 entries");
  RoiPool op;
  op.function = RoiFunction::kPoolMax;
  op.height = shape[0];
  op.width = shape[1];
  op.spatial_scale = n.real_attribute("spatial_scale", 1);
  n.output(n.add(op, n.inputs()));
}

void import_roi_align(NodeImporter& n, const OpRow&) {
  RoiPool op;
  op.function =
      n.choice("mode", "avg", {"avg", "max"}) ? RoiFunction::kAlignMax : RoiFunction::kAlignAverage;
  op.height = n.integer_attribute("output_height", 1);
  op.width = n.integer_attribute("output_width", 1);
  op.sampling_ratio = n.integer_attribute("sampling_ratio", 0);
  op.spatial_scale = n.real_attribute("spatial_scale", 1);
  // Before opset 16 coordinates were not shifted by half a pixel.
  const bool old = n.opset() < 16;
  op.half_pixel = !old && n.choice("coordinate_transformation_mode", "half_pixel",
                                   {"output_half_pixel", "half_pixel"}) == 1;
  n.output(n.add(op, n.inputs()));
}

/// Depthwise convolution over time that carries its last positions from call to call.
void import_causal_conv(NodeImporter& n, const OpRow&) {
  Value* x = n.input(0);
  Value* weights = n.input(1);
  const int64_t kernel = n.constant_extent(weights, 2);
  const int64_t channels = n.constant_extent(weights, 0);
  Value* past = n.input(3);
  if (!past && kernel > 1) {
    Value* batch = n.slice(n.shape_of(x), 0, 0, 1);
    Tensor zero(n.type(x), {});
    zero.set_from_double(0, 0);
    past = n.fill(n.concat({batch, n.integers({channels, kernel - 1})}, 0), std::move(zero));
  }
  Value* all = past ? n.concat({past, x}, 2) : x;
  Conv op;
  op.groups = channels;
  Value* y = n.add(std::move(op), {all, weights, n.input(2)});
  const int activation = n.choice("activation", "none", {"none", "silu", "swish"});
  n.output(0, activation ? n.pointwise(PointwiseFunction::k_swish, {y}, 1) : y);
  if (n.wants(1)) n.output(1, n.slice(all, 2, kernel > 1 ? 1 - kernel : INT64_MAX, INT64_MAX));
}

}  // namespace tenon::importer
