// Interpolation.
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/nn.h"

namespace tenon::importer {
namespace {

/// Old opsets: asymmetric coordinates, nearest rounding down.
Resize old_resize(NodeImporter& n) {
  Resize op;
  op.mode = n.choice("mode", "nearest", {"nearest", "linear", "bilinear"}) ? ResizeMode::kLinear
                                                                           : ResizeMode::kNearest;
  op.coordinates = CoordinateMode::kAsymmetric;
  op.nearest = NearestMode::kFloor;
  return op;
}

/// An operand of no elements stands for an absent one.
Value* unless_empty(NodeImporter& n, Value* value) {
  const Shape& shape = n.shape(value);
  return shape.size() == 1 && shape[0] == Dim(0) ? nullptr : value;
}

}  // namespace

void import_upsample(NodeImporter& n, const OpRow&) {
  Value* scales = n.input(1);
  if (n.opset() < 9) {
    const std::vector<double> numbers = n.real_list("scales");
    const std::vector<float> floats(numbers.begin(), numbers.end());
    scales = n.constant(
        Tensor::of<float>(DataType::kFloat32, {static_cast<int64_t>(floats.size())}, floats));
  }
  n.output(n.add(old_resize(n), {n.input(0), nullptr, scales}));
}

void import_resize_10(NodeImporter& n, const OpRow&) {
  n.output(n.add(old_resize(n), {n.input(0), nullptr, n.input(1)}));
}

void import_resize(NodeImporter& n, const OpRow&) {
  Resize op;
  op.mode = static_cast<ResizeMode>(n.choice("mode", "nearest", {"nearest", "linear", "cubic"}));
  op.coordinates = static_cast<CoordinateMode>(
      n.choice("coordinate_transformation_mode", "half_pixel",
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  op.nearest = static_cast<NearestMode>(
      n.choice("nearest_mode", "round_prefer_floor",
               {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  op.aspect = static_cast<AspectPolicy>(
      n.choice("keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"}));
  op.cubic_coefficient = n.real_attribute("cubic_coeff_a", -0.75);
  op.extrapolation_value = n.real_attribute("extrapolation_value", 0);
  op.exclude_outside = n.flag("exclude_outside");
  op.antialias = n.flag("antialias");
  op.axes = n.integer_list("axes");
  const bool crops = op.coordinates == CoordinateMode::kTfCropAndResize;
  Value* roi = crops ? unless_empty(n, n.input(1)) : nullptr;
  Value* sizes = unless_empty(n, n.input(3));
  Value* scales = sizes ? nullptr : unless_empty(n, n.input(2));
  if (!sizes && !scales)
    return n.fail(ImportCode::kInvalidNode, "neither scales nor sizes are given");
  n.output(n.add(std::move(op), {n.input(0), roi, scales, sizes}));
}

void import_grid_sample(NodeImporter& n, const OpRow&) {
  constexpr ResizeMode kModes[] = {ResizeMode::kLinear, ResizeMode::kLinear, ResizeMode::kNearest,
                                   ResizeMode::kCubic, ResizeMode::kCubic};
  GridSample op;
  op.mode = kModes[n.choice("mode", n.opset() < 20 ? "bilinear" : "linear",
                            {"linear", "bilinear", "nearest", "cubic", "bicubic"})];
  op.padding = static_cast<GridPadding>(
      n.choice("padding_mode", "zeros", {"zeros", "border", "reflection"}));
  op.align_corners = n.flag("align_corners");
  n.output(n.add(op, n.inputs()));
}

}  // namespace tenon::importer
