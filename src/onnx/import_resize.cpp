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
  auto op = n.attributes<Resize>();
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
  auto op = n.attributes<GridSample>();
  op.mode = kModes[n.choice("mode", n.opset() < 20 ? "bilinear" : "linear",
                            {"linear", "bilinear", "nearest", "cubic", "bicubic"})];
  n.output(n.add(op, n.inputs()));
}

}  // namespace tenon::importer
