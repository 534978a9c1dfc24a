#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/nn.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/table.h"

namespace tenon {
namespace {

struct Box {
  double top = 0, left = 0, bottom = 0, right = 0;
  double area() const { return (bottom - top) * (right - left); }
};

Box box_of(const Nms& op, const double* numbers) {
  if (op.center_point_box) {
    const double x = numbers[0], y = numbers[1], w = numbers[2] / 2, h = numbers[3] / 2;
    return {y - h, x - w, y + h, x + w};
  }
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]),
          std::max(numbers[0], numbers[2]), std::max(numbers[1], numbers[3])};
}

bool overlaps(const Box& a, const Box& b, double threshold) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return false;
  // Boxes that share an area have one each.
  const double common = height * width, united = a.area() + b.area() - common;
  return common / united > threshold;
}

/// False only where they overlap by less than the threshold, of which `least` is a little less:
/// without branches, which no processor foresees, and without division.
bool may_overlap(const Box& a, const Box& b, double least) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double common = height * width, united = a.area() + b.area() - common;
  return static_cast<int>(height > 0) & static_cast<int>(width > 0) &
         static_cast<int>(!(common < least * united));
}

/// Boxes by their left edges, in stripes of equal width: one meets only those of a few stripes.
class Stripes {
 public:
  explicit Stripes(const std::vector<Box>& boxes) {
    double last = -std::numeric_limits<double>::infinity();
    first_ = -last;
    for (const Box& box : boxes) {
      if (!std::isfinite(box.left)) continue;
      first_ = std::min(first_, box.left), last = std::max(last, box.left);
    }
    const double span = last - first_;
    if (!std::isfinite(span) || span <= 0) return;
    constexpr size_t kBoxes = 4, kMost = 1024;
    stripes_.resize(std::clamp<size_t>(boxes.size() / kBoxes, 1, kMost));
    each_ = static_cast<double>(stripes_.size()) / span;
  }

  void add(const Box& box) {
    stripes_[at(box.left)].push_back(box);
    widest_ = std::max(widest_, box.right - box.left);
  }

  bool has_overlap(const Box& box, double threshold) const {
    // One more, as the difference is rounded.
    const size_t first = at(box.left - widest_), end = at(box.right) + 1;
    const double least = threshold - std::abs(threshold) * kRounding;
    for (size_t i = first - std::min<size_t>(first, 1); i < end; ++i) {
      int near = 0;
      for (const Box& other : stripes_[i]) near |= static_cast<int>(may_overlap(box, other, least));
      if (near == 0) continue;
      for (const Box& other : stripes_[i])
        if (overlaps(box, other, threshold)) return true;
    }
    return false;
  }

 private:
  static constexpr double kRounding = 1e-9;

  size_t at(double left) const {
    const double place = (left - first_) * each_;
    if (!(place > 0)) return 0;
    return std::min(stripes_.size() - 1, static_cast<size_t>(std::min(place, 1e9)));
  }

  std::vector<std::vector<Box>> stripes_{1};
  double first_ = 0, each_ = 0, widest_ = 0;
};

/// Indices of the boxes kept for one class, best score first.
std::vector<int64_t> keep(const std::vector<Box>& boxes, const double* scores, int64_t most,
                          double iou, const double* least_score) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < static_cast<int64_t>(boxes.size()); ++i)
    if (scores[i] == scores[i] && (least_score == nullptr || scores[i] > *least_score))
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> kept;
  Stripes stripes(boxes);
  for (const int64_t candidate : order) {
    if (static_cast<int64_t>(kept.size()) >= most) break;
    if (stripes.has_overlap(boxes[candidate], iou)) continue;
    kept.push_back(candidate);
    stripes.add(boxes[candidate]);
  }
  return kept;
}

Status check(const Shape& boxes, const Shape& scores, const Fail& fail) {
  TENON_TRY(expect_rank(boxes, 3, "boxes", fail));
  TENON_TRY(expect_rank(scores, 3, "scores", fail));
  TENON_TRY(expect_equal(boxes[2], 4, "numbers of a box", fail));
  TENON_TRY(expect_equal(boxes[0], scores[0], "batches of boxes and scores", fail));
  return expect_equal(boxes[1], scores[2], "numbers of boxes and scores", fail);
}

Result<double> threshold(const EvalContext& context, int index, double absent) {
  if (!context.has_input(index)) return absent;
  if (context.input(index).count() != 1)
    return context.fail(fmt::format("input {} must have one element", index));
  return context.input(index).as_double(0);
}

}  // namespace

Status infer(const Nms&, InferContext& context) {
  const Shape &boxes = context.shape(0), &scores = context.shape(1);
  TENON_TRY(check(boxes, scores, context));
  const auto most = context.elements(2);
  Dim each = boxes[1];
  if (most && most->size() == 1) each = lesser((*most)[0], each, context);
  const Dim count = context.data_dependent(scores[0] * scores[1] * each);
  return context.finish(DataType::kInt64, {count, 3});
}

Status evaluate(const Nms& op, EvalContext& context) {
  const Tensor &boxes = context.input(0), &scores = context.input(1);
  TENON_TRY(check(shape_of(boxes), shape_of(scores), context));
  // Without a number of boxes none is wanted.
  TENON_ASSIGN(const int64_t most, integer_of(context, 2, 0));
  TENON_ASSIGN(const double iou, threshold(context, 3, 0));
  TENON_ASSIGN(const double least, threshold(context, 4, 0));
  const int64_t batch = scores.extents()[0], classes = scores.extents()[1];
  const int64_t count = scores.extents()[2];
  const Values<double> numbers(boxes), points(scores);
  std::vector<int64_t> rows;
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<Box> image;
    for (int64_t i = 0; i < count; ++i)
      image.push_back(box_of(op, numbers.data() + (b * count + i) * 4));
    for (int64_t c = 0; c < classes; ++c)
      for (const int64_t kept : keep(image, points.data() + (b * classes + c) * count, most, iou,
                                     context.has_input(4) ? &least : nullptr))
        rows.insert(rows.end(), {b, c, kept});
  }
  const Extents extents{static_cast<int64_t>(rows.size() / 3), 3};
  return context.finish(Tensor::of<int64_t>(DataType::kInt64, extents, rows));
}

}  // namespace tenon
