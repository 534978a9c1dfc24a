// Stock plugins: anchors, and regions of feature pyramids.
#include <algorithm>
#include <array>
#include <cmath>

#include "network/stock_selection.h"
#include "ops/generate.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::network {
namespace {

constexpr size_t kLevels = 4;

/// Boxes [N, R, 4] in pixels of the image, (x1, y1, x2, y2).
Value* image_boxes(Emitter& e, const StockFields& fields, Value* rois,
                   const std::array<double, 2>& image) {
  Value* boxes = e.cast(rois, DataType::kFloat32);
  if (fields.flag("roi_coords_swap", false))
    boxes = e.concat({e.slice(boxes, -1, 1, 2), e.slice(boxes, -1, 0, 1), e.slice(boxes, -1, 3, 4),
                      e.slice(boxes, -1, 2, 3)},
                     -1);
  if (!fields.flag("roi_coords_absolute", true))
    boxes = e.mul(boxes, reals(e, {image[1], image[0], image[1], image[0]}, {4}, boxes));
  if (fields.flag("roi_coords_plusone", false)) boxes = with_far_corner(e, boxes, 1);
  return boxes;
}

/// The geometric mean of a box's sides beside `side`: [B, 1], bool.
Value* compared(Emitter& e, PointwiseFunction how, Value* boxes, double side) {
  Value* sides = e.sub(e.slice(boxes, -1, 2, 4), e.slice(boxes, -1, 0, 2));
  Value* area = e.mul(e.slice(sides, -1, 0, 1), e.slice(sides, -1, 1, 2));
  return e.pointwise(how, {area, e.number(side * side, DataType::kFloat32)});
}

/// Which boxes [B, 4] have a size and lie in the image: [B, 1], bool.
Value* inside(Emitter& e, Value* boxes, const std::vector<double>& image) {
  Value *low = e.slice(boxes, -1, 0, 2), *high = e.slice(boxes, -1, 2, 4);
  Value* margin = e.min(low, e.sub(reals(e, {image[1], image[0]}, {2}, high), high));
  const auto all = [&](PointwiseFunction how, Value* numbers) {
    return e.pointwise(how, {e.reduce(ReduceFunction::kMin, numbers, {-1}, true),
                             e.number(0, DataType::kFloat32)});
  };
  return e.pointwise(PointwiseFunction::k_and,
                     {all(PointwiseFunction::k_greater_equal, margin),
                      all(PointwiseFunction::k_greater, e.sub(high, low))});
}

RoiPool pyramid_pool(Emitter& e, const StockFields& fields) {
  RoiPool op;
  op.height = op.width = fields.integer("pooled_size", 7);
  op.sampling_ratio = fields.integer("sampling_ratio", 0);
  const int64_t transform = fields.integer("roi_coords_transform", 2);
  op.half_pixel = transform == 2;
  if (op.height < 1) e.fail(user_error("pooled_size {} is at least 1", op.height));
  if (transform != 1 && transform != 2)
    e.fail(unsupported("roi_coords_transform {} is not there; 1 and 2 are", transform));
  if (fields.flag("legacy", false))
    e.fail(unsupported("legacy coordinates are not there; set roi_coords_transform to 1 or 2"));
  return op;
}

/// Widths and heights of prior boxes, in pixels.
std::vector<std::array<double, 2>> prior_sizes(const StockFields& fields) {
  std::vector<double> ratios = {1};
  for (const double ratio : fields.numbers("aspectRatios")) {
    if (std::abs(ratio - 1) < 1e-6) continue;
    ratios.push_back(ratio);
    if (fields.flag("flip", false)) ratios.push_back(1 / ratio);
  }
  const std::vector<double> least = fields.numbers("minSize"), most = fields.numbers("maxSize");
  std::vector<std::array<double, 2>> sizes;
  for (size_t i = 0; i < least.size(); ++i) {
    sizes.push_back({least[i], least[i]});
    if (i < most.size())
      sizes.push_back({std::sqrt(least[i] * most[i]), std::sqrt(least[i] * most[i])});
    for (size_t j = 1; j < ratios.size(); ++j)
      sizes.push_back({least[i] * std::sqrt(ratios[j]), least[i] / std::sqrt(ratios[j])});
  }
  return sizes;
}

struct PriorGrid {
  int64_t height, width;
  std::array<double, 2> image, step;  ///< Height, width.
};

/// The image is the second input where the fields do not give it.
PriorGrid prior_grid(Emitter& e, const StockFields& fields, Inputs in) {
  PriorGrid grid{e.constant_extent(in[0], 2), e.constant_extent(in[0], 3), {}, {}};
  const std::array<int64_t, 2> cells = {grid.height, grid.width};
  const std::array<const char*, 2> images = {"imgH", "imgW"}, steps = {"stepH", "stepW"};
  for (size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    int64_t extent = fields.integer(images[i], 0);
    if (extent == 0) extent = e.constant_extent(in[in.size() - 1], axis);
    grid.image[i] = static_cast<double>(extent);
    grid.step[i] = fields.real(steps[i], 0);
    if (grid.step[i] == 0) grid.step[i] = grid.image[i] / static_cast<double>(cells[i]);
  }
  return grid;
}

}  // namespace

/// All levels pool all boxes, those of other levels shrunk to nothing, and each box takes the
/// result of its own.
Values stock_pyramid_roi_align(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, kLevels + 1, kLevels + 1)) return {};
  const RoiPool op = pyramid_pool(e, fields);
  const int64_t rois = e.constant_extent(in[0], 1), channels = e.constant_extent(in[1], 1);
  std::vector<double> image = fields.numbers("image_size");
  if (image.empty()) image = {1024, 1024};
  if (image.size() != 2 || image[0] < 1 || image[1] < 1)
    e.fail(user_error("image_size holds a height and a width, each at least 1"));
  if (!e.ok()) return {};
  Value* boxes = e.reshape(image_boxes(e, fields, in[0], {image[0], image[1]}), {-1, 4});
  Value* numbers = image_numbers(e, in[0]);
  const double canonical = fields.real("fpn_scale", 224);
  Value* pooled = nullptr;
  for (size_t level = 0; level < kLevels && e.ok(); ++level) {
    Value* map = in[level + 1];
    const double y = static_cast<double>(e.constant_extent(map, 2)) / image[0],
                 x = static_cast<double>(e.constant_extent(map, 3)) / image[1];
    if (!e.ok()) return {};
    Value* scaled = e.mul(boxes, reals(e, {x, y, x, y}, {4}, boxes));
    Value* belongs =  // To this level or a coarser one.
        level == 0 ? nullptr
                   : compared(e, PointwiseFunction::k_greater_equal, boxes,
                              canonical * std::exp2(static_cast<double>(level) - 2));
    if (belongs != nullptr) scaled = e.where(belongs, scaled, e.number(0, DataType::kFloat32));
    Value* part = e.add(op, {map, e.cast(scaled, e.type(map)), numbers});
    pooled = level == 0 ? part : e.where(e.unsqueeze(belongs, {2, 3}), part, pooled);
  }
  return {e.reshape(pooled, {-1, rois, channels, op.height, op.width})};
}

/// Boxes (y1, x1, y2, x2) in pixels, each from the map of its level at the middles of its bins;
/// zeros for boxes outside the image.
Values stock_multilevel_crop(Emitter& e, const StockFields& fields, Inputs in) {
  constexpr size_t kMaps = 5;
  if (!takes(e, in, kMaps + 1, kMaps + 1)) return {};
  RoiPool op;
  op.height = op.width = fields.integer("pooled_size", 7);
  op.sampling_ratio = 1;
  op.half_pixel = true;
  const int64_t rois = e.constant_extent(in[0], 1), channels = e.constant_extent(in[1], 1);
  if (op.height < 1) e.fail(user_error("pooled_size {} is at least 1", op.height));
  const std::vector<double> image = image_extents(e, fields, {});
  if (!e.ok()) return {};
  Value* swapped = e.reshape(e.cast(in[0], DataType::kFloat32), {0, rois, 4});
  Value* boxes = e.reshape(e.concat({e.slice(swapped, -1, 1, 2), e.slice(swapped, -1, 0, 1),
                                     e.slice(swapped, -1, 3, 4), e.slice(swapped, -1, 2, 3)},
                                    -1),
                           {-1, 4});
  Value* numbers = image_numbers(e, swapped);
  Value* pooled = nullptr;
  for (size_t level = 0; level < kMaps && e.ok(); ++level) {
    Value* map = in[level + 1];
    const double stride = std::exp2(static_cast<double>(level) + 2);
    // The operator takes half a pixel off, which these boxes do not have.
    Value* scaled = e.add(e.mul(boxes, 1 / stride), 0.5);
    Value* belongs = level == 0 ? nullptr
                                : compared(e, PointwiseFunction::k_greater, boxes,
                                           56 * std::exp2(static_cast<double>(level)));
    if (belongs != nullptr) scaled = e.where(belongs, scaled, e.number(0, DataType::kFloat32));
    Value* part = e.add(op, {map, e.cast(scaled, e.type(map)), numbers});
    pooled = level == 0 ? part : e.where(e.unsqueeze(belongs, {2, 3}), part, pooled);
  }
  if (!image.empty())
    pooled =
        e.where(e.unsqueeze(inside(e, boxes, image), {2, 3}), pooled, e.number(0, e.type(pooled)));
  return {e.reshape(pooled, {-1, rois, channels, op.height, op.width})};
}

/// Boxes of SSD around the centres of a feature map's cells, and their variances.
Values stock_prior_box(Emitter& e, const StockFields& fields, Inputs in) {
  if (!takes(e, in, 1, 2)) return {};
  const std::vector<double> variance = fields.numbers("variance");
  const auto sizes = prior_sizes(fields);
  if (std::ranges::any_of(fields.numbers("aspectRatios"), [](double r) { return !(r > 0); }))
    e.fail(user_error("aspectRatios are above 0"));
  if (sizes.empty() || variance.size() != 4)
    e.fail(user_error("minSize has {} numbers and variance {}; they take at least 1, and 4",
                      fields.numbers("minSize").size(), variance.size()));
  if (!e.ok()) return {};
  const PriorGrid grid = prior_grid(e, fields, in);
  if (!e.ok()) return {};
  const double offset = fields.real("offset", 0.5);
  const bool clips = fields.flag("clip", false);
  std::vector<double> numbers;
  for (int64_t row = 0; row < grid.height; ++row)
    for (int64_t column = 0; column < grid.width; ++column)
      for (const auto& [width, height] : sizes) {
        const double x = (static_cast<double>(column) + offset) * grid.step[1],
                     y = (static_cast<double>(row) + offset) * grid.step[0];
        for (const double corner :
             {(x - width / 2) / grid.image[1], (y - height / 2) / grid.image[0],
              (x + width / 2) / grid.image[1], (y + height / 2) / grid.image[0]})
          numbers.push_back(clips ? std::clamp(corner, 0.0, 1.0) : corner);
      }
  const auto count = static_cast<int64_t>(numbers.size());
  for (int64_t i = 0; i < count; ++i) numbers.push_back(variance[static_cast<size_t>(i % 4)]);
  Value* shape = e.concat({e.slice(e.shape_of(in[0]), 0, 0, 1), e.integers({2, count, 1})}, 0);
  return {e.add(Expand{}, {reals(e, numbers, {1, 2, count, 1}, in[0]), shape})};
}

/// The second input, once for each image of the first.
Values stock_batch_tile(Emitter& e, const StockFields&, Inputs in) {
  if (!takes(e, in, 2, 2)) return {};
  Value* rest = e.slice(e.shape_of(in[1]), 0, 1, e.rank(in[1]));
  return {e.add(Expand{}, {in[1], e.concat({e.slice(e.shape_of(in[0]), 0, 0, 1), rest}, 0)})};
}

}  // namespace tenon::network
