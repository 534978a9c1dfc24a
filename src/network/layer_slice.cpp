// Slices with the surface's bounds modes, and padding.
#include <algorithm>
#include <numeric>
#include <optional>

#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"
#include "network/window.h"

namespace tenon::network {
namespace {

/// Operands: x, then start, size, stride, fill value, axes as tensors where they are not
/// attributes.
class SliceLayer final : public LayerOf<nvinfer1::ISliceLayer, LayerType::kSLICE> {
 public:
  SliceLayer(Network& network, const Dims& start, const Dims& size, const Dims& stride)
      : LayerOf(network), start_(start), size_(size), stride_(stride) {
    set_most_operands(6);
    axes_.nbDims = -1;
  }
  TENON_LAYER_CHECKED(SampleMode, Mode, mode_, is_valid(value), "a mode")
  void setStart(const Dims& value) noexcept override { assign(start_, value); }
  Dims getStart() const noexcept override { return start_; }
  void setSize(const Dims& value) noexcept override { assign(size_, value); }
  Dims getSize() const noexcept override { return size_; }
  void setStride(const Dims& value) noexcept override { assign(stride_, value); }
  Dims getStride() const noexcept override { return stride_; }
  void setAxes(const Dims& value) noexcept override { assign(axes_, value); }
  Dims getAxes() const noexcept override { return axes_; }

  std::vector<Value*> lower(Emitter& e) override;

 private:
  Value* attribute(Emitter& e, int index, const Dims& dims) const {
    return has_operand(index) ? e.cast(in(index), DataType::kInt64) : e.integers(to_integers(dims));
  }
  std::vector<int64_t> sliced_axes(Emitter& e) const;
  Value* strict(Emitter& e, Value* start, Value* size, Value* stride,
                const std::vector<int64_t>& axes) const;
  static Value* sized(Emitter& e, Value* sliced, const Value* size,
                      const std::vector<int64_t>& axes);
  Value* repeated(Emitter& e, Value* start, Value* size, std::vector<int64_t> steps,
                  const std::vector<int64_t>& axes) const;
  void check_bounds(Emitter& e, const std::vector<int64_t>& axes) const;
  Value* sampled(Emitter& e, Value* x, Value* index, int64_t axis) const;
  Value* mapped(Emitter& e, Value* index, Value* extent) const;
  Value* filled(Emitter& e, Value* picked, Value* index, Value* extent, int64_t axis) const;

  Dims start_, size_, stride_, axes_{};
  SampleMode mode_ = SampleMode::kSTRICT_BOUNDS;
};

std::vector<int64_t> SliceLayer::sliced_axes(Emitter& e) const {
  const int rank = e.rank(in(0));
  if (has_operand(5)) {
    const auto axes = e.known_integers(in(5));
    if (!axes) e.fail(unsupported("the axes must be known at build time"));
    return e.normalized(axes.value_or(std::vector<int64_t>()), rank);
  }
  if (axes_.nbDims >= 0) return e.normalized(to_integers(axes_), rank);
  std::vector<int64_t> axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

/// Constant bounds can be checked here; a slice by others that leaves its input is too short.
void SliceLayer::check_bounds(Emitter& e, const std::vector<int64_t>& axes) const {
  for (size_t i = 0; i < axes.size() && e.ok(); ++i) {
    const Dim& extent = e.shape(in(0))[static_cast<size_t>(axes[i])];
    if (!extent.is_constant() || has_operand(1) || has_operand(2) || has_operand(3)) continue;
    const int64_t last = start_.d[i] + (size_.d[i] - 1) * stride_.d[i];
    const bool inside = start_.d[i] >= 0 && last >= 0 && start_.d[i] < extent.constant() &&
                        last < extent.constant();
    if (size_.d[i] < 0 || (size_.d[i] > 0 && !inside))
      e.fail(user_error("start {}, size {} and stride {} leave axis {} of {}", start_.d[i],
                        size_.d[i], stride_.d[i], axes[i], to_string(e.shape(in(0)))));
  }
}

Value* SliceLayer::strict(Emitter& e, Value* start, Value* size, Value* stride,
                          const std::vector<int64_t>& axes) const {
  // One beyond the last element; below the first one a negative end would count from the back.
  Value* last = e.add(start, e.mul(e.sub(size, e.integer(1)), stride));
  Value* end = e.add(last, e.pointwise(PointwiseFunction::k_sign, {stride}));
  const auto steps = e.known_integers(stride);
  const bool forward =
      steps && std::all_of(steps->begin(), steps->end(), [](int64_t s) { return s > 0; });
  if (!forward)
    end = e.where(e.pointwise(PointwiseFunction::k_less, {end, e.integer(0)}),
                  e.integer(INT64_MIN / 2), end);
  return e.add(Slice{}, {in(0), start, end, e.integers(axes), stride});
}

/// A slice is as large as it is asked to be whatever the input's extents; runs in which it is not
/// fail. So layers behind it know its extents.
Value* SliceLayer::sized(Emitter& e, Value* sliced, const Value* size,
                         const std::vector<int64_t>& axes) {
  const auto numbers = e.known_integers(size);
  if (!e.ok() || !(numbers || size->elements)) return sliced;
  std::vector<int64_t> extents(static_cast<size_t>(e.rank(sliced)), 0);  // 0 keeps an extent.
  bool is_open = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim asked = numbers ? Dim((*numbers)[i]) : (*size->elements)[i];
    if (!asked.is_constant() || asked.constant() <= 0) continue;
    extents[static_cast<size_t>(axes[i])] = asked.constant();
    is_open |= !e.shape(sliced)[static_cast<size_t>(axes[i])].is_constant();
  }
  return is_open ? e.reshape(sliced, extents) : sliced;
}

/// A stride of 0 repeats one element, which the graph's own slices do not.
Value* SliceLayer::repeated(Emitter& e, Value* start, Value* size, std::vector<int64_t> steps,
                            const std::vector<int64_t>& axes) const {
  std::vector<Value*> target(static_cast<size_t>(e.rank(in(0))), e.integers({1}));
  Value* zero = e.pointwise(PointwiseFunction::k_equal, {e.integers(steps), e.integer(0)});
  Value* taken = e.where(zero, e.integer(1), size);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] != 0) continue;
    steps[i] = 1;
    const auto at = static_cast<int64_t>(i);
    target[static_cast<size_t>(axes[i])] = e.slice(size, 0, at, at + 1);
  }
  Value* element = strict(e, start, taken, e.integers(steps), axes);
  return e.add(Expand{}, {element, e.concat(target, 0)});
}

/// Where outside indices read from.
Value* SliceLayer::mapped(Emitter& e, Value* index, Value* extent) const {
  Value* last = e.sub(extent, e.integer(1));
  if (mode_ == SampleMode::kWRAP) return e.pointwise(PointwiseFunction::k_mod, {index, extent});
  if (mode_ != SampleMode::kREFLECT) return e.max(e.min(index, last), e.integer(0));
  Value* period = e.max(e.mul(last, e.integer(2)), e.integer(1));
  Value* place = e.pointwise(PointwiseFunction::k_mod, {index, period});
  return e.min(place, e.sub(period, place));
}

Value* SliceLayer::filled(Emitter& e, Value* picked, Value* index, Value* extent,
                          int64_t axis) const {
  Value* low = e.pointwise(PointwiseFunction::k_greater_equal, {index, e.integer(0)});
  Value* high = e.pointwise(PointwiseFunction::k_less, {index, extent});
  Value* inside = e.pointwise(PointwiseFunction::k_and, {low, high});
  std::vector<int64_t> trailing(static_cast<size_t>(e.rank(picked) - axis), 1);
  trailing[0] = -1;
  Value* number = has_operand(4) ? e.cast(in(4), e.type(picked)) : e.number(0, e.type(picked));
  if (has_operand(4) && e.rank(number) != 0) number = e.reshape(number, {});
  return e.where(e.reshape(inside, trailing), picked, number);
}

Value* SliceLayer::sampled(Emitter& e, Value* x, Value* index, int64_t axis) const {
  Value* extent = e.squeeze(e.slice(e.shape_of(x), 0, axis, axis + 1), {0});
  Gather op;
  op.axis = axis;
  Value* picked = e.add(op, {x, mapped(e, index, extent)});
  return mode_ == SampleMode::kFILL ? filled(e, picked, index, extent, axis) : picked;
}

std::vector<Value*> SliceLayer::lower(Emitter& e) {
  const std::vector<int64_t> axes = sliced_axes(e);
  const auto count = static_cast<int32_t>(axes.size());
  const bool fits = (has_operand(1) || start_.nbDims == count) &&
                    (has_operand(2) || size_.nbDims == count) &&
                    (has_operand(3) || stride_.nbDims == count);
  if (!fits)
    e.fail(user_error("start, size and stride must hold a number for each of {} axes", count));
  if (!e.ok()) return {nullptr};
  Value* start = attribute(e, 1, start_);
  Value* size = attribute(e, 2, size_);
  Value* stride = attribute(e, 3, stride_);
  if (mode_ == SampleMode::kSTRICT_BOUNDS) check_bounds(e, axes);
  const auto steps = e.known_integers(stride);
  if (mode_ == SampleMode::kSTRICT_BOUNDS && steps && std::ranges::count(*steps, 0) > 0)
    return {repeated(e, start, size, *steps, axes)};
  if (mode_ == SampleMode::kSTRICT_BOUNDS && steps)
    return {sized(e, strict(e, start, size, stride, axes), size, axes)};
  // Data-dependent strides may be 0 too.
  Value* x = in(0);
  for (int64_t i = 0; i < count && e.ok(); ++i) {
    Value* number = e.squeeze(e.slice(size, 0, i, i + 1), {0});
    Value* range = e.add(RangeOf{}, {e.integer(0), number, e.integer(1)});
    Value* step = e.slice(stride, 0, i, i + 1);
    Value* index = e.add(e.slice(start, 0, i, i + 1), e.mul(range, step));
    x = sampled(e, x, index, axes[static_cast<size_t>(i)]);
  }
  return {x};
}

class PaddingLayer final : public LayerOf<nvinfer1::IPaddingLayer, LayerType::kPADDING> {
 public:
  PaddingLayer(Network& network, const Dims& pre, const Dims& post)
      : LayerOf(network), pre_(pre), post_(post) {}
  void setPrePaddingNd(const Dims& value) noexcept override {
    if (is_same(pre_, value)) return;
    if (permit(value.nbDims == 2, "setPrePaddingNd", "2 numbers")) assign(pre_, value);
  }
  Dims getPrePaddingNd() const noexcept override { return pre_; }
  void setPostPaddingNd(const Dims& value) noexcept override {
    if (is_same(post_, value)) return;
    if (permit(value.nbDims == 2, "setPostPaddingNd", "2 numbers")) assign(post_, value);
  }
  Dims getPostPaddingNd() const noexcept override { return post_; }

  std::vector<Value*> lower(Emitter& e) override {
    const int rank = e.rank(in(0));
    if (rank < 2) e.fail(user_error("padding needs an input of at least 2 axes"));
    if (!e.ok()) return {nullptr};
    std::vector<int64_t> pads(static_cast<size_t>(rank) * 2, 0);
    for (int i = 0; i < 2; ++i) {
      pads[static_cast<size_t>(rank - 2 + i)] = pre_.d[i];
      pads[static_cast<size_t>(rank * 2 - 2 + i)] = post_.d[i];
    }
    return {e.add(Pad{}, {in(0), e.integers(pads)})};
  }

 private:
  Dims pre_, post_;
};

constexpr Dims kUnknown{-1, {}};

/// The attributes of a slice that stands for a node of a model; unknown until run time: nbDims -1.
struct Described {
  Dims start = kUnknown, size = kUnknown, stride = kUnknown;
  SampleMode mode = SampleMode::kSTRICT_BOUNDS;
};

std::unique_ptr<LayerCore> fixed_slice(Network& network, const Described& known) {
  auto layer = std::make_unique<SliceLayer>(network, known.start, known.size, known.stride);
  layer->setMode(known.mode);
  layer->forbid_changes();
  return layer;
}

Dims uniform(int64_t value, const Shape& shape) {
  if (shape.size() > static_cast<size_t>(Dims::MAX_DIMS)) return kUnknown;
  return repeated(value, shape.size());
}

/// The operand's integers; nothing where they are not constant.
std::optional<std::vector<int64_t>> integers_of(const Node& node, int index) {
  const Tensor* tensor = node.has_input(index) ? node.input(index)->constant() : nullptr;
  if (tensor == nullptr || !tensor->defined()) return std::nullopt;
  return tensor->to_int64s();
}

/// The axes that operand `index` names, or the first `count` where it is absent.
std::optional<std::vector<int64_t>> axes_at(const Node& node, int index, size_t count) {
  const auto rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has_input(index)) {
    const auto given = integers_of(node, index);
    if (!given.has_value()) return std::nullopt;
    axes = *given;
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  const bool fits = axes.size() == count && std::ranges::all_of(axes, [&](int64_t axis) {
                      return axis >= 0 && axis < rank;
                    });
  return fits ? std::optional(axes) : std::nullopt;
}

/// Where a slice of this step begins; nothing where that hangs on an unknown extent.
std::optional<int64_t> first_index(int64_t start, int64_t step, const Dim& extent) {
  if (!extent.is_constant()) return start >= 0 && step > 0 ? std::optional(start) : std::nullopt;
  const int64_t count = extent.constant();
  return std::clamp<int64_t>(start < 0 ? start + count : start, step < 0 ? -1 : 0,
                             step < 0 ? count - 1 : count);
}

Described described_slice(const Node& node) {
  const Shape& shape = node.input(0)->type.shape;
  Described known;
  known.size = known_dims(node.output()->type.shape);
  const auto starts = integers_of(node, 1);
  if (!starts.has_value()) return known;
  const auto axes = axes_at(node, 3, starts->size());
  const auto steps = node.has_input(4) ? integers_of(node, 4)
                                       : std::optional(std::vector<int64_t>(starts->size(), 1));
  if (!axes.has_value() || !steps.has_value() || steps->size() != starts->size()) return known;
  known.start = uniform(0, shape);
  known.stride = uniform(1, shape);
  if (known.stride.nbDims < 0) return known;
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<size_t>((*axes)[i]);
    const auto first = first_index((*starts)[i], (*steps)[i], shape[axis]);
    if (!first.has_value()) known.start.nbDims = -1;
    known.start.d[axis] = first.value_or(0);
    known.stride.d[axis] = (*steps)[i];
  }
  return known;
}

Described described_expansion(const Node& node) {
  const Shape &from = node.input(0)->type.shape, &to = node.output()->type.shape;
  Described known;
  const bool all_known = known_dims(from).nbDims >= 0 && known_dims(to).nbDims >= 0;
  if (!all_known || from.size() != to.size()) return known;
  known = {uniform(0, to), known_dims(to), uniform(1, to)};
  for (size_t i = 0; i < to.size(); ++i)
    if (!(from[i] == to[i])) known.stride.d[i] = 0;
  return known;
}

Described described_padding(const Node& node, PadFill fill) {
  constexpr SampleMode kModes[] = {SampleMode::kFILL, SampleMode::kREFLECT, SampleMode::kCLAMP,
                                   SampleMode::kWRAP};
  const Shape& shape = node.input(0)->type.shape;
  Described known{kUnknown, known_dims(node.output()->type.shape), uniform(1, shape),
                  kModes[static_cast<size_t>(fill)]};
  const auto pads = integers_of(node, 1);
  if (!pads.has_value()) return known;
  const auto axes = axes_at(node, 3, pads->size() / 2);
  if (!axes.has_value() || known.stride.nbDims < 0) return known;
  known.start = uniform(0, shape);
  for (size_t i = 0; i < axes->size(); ++i)
    known.start.d[static_cast<size_t>((*axes)[i])] = -(*pads)[i];
  return known;
}

}  // namespace

// The importer's slices are ends and not sizes; expansions, tilings and splits have other operands.
std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Slice&) {
  return fixed_slice(network, described_slice(node));
}
std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Expand&) {
  return fixed_slice(network, described_expansion(node));
}
std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Tile&) {
  const Shape& shape = node.output()->type.shape;
  return fixed_slice(network,
                     {uniform(0, shape), known_dims(shape), uniform(1, shape), SampleMode::kWRAP});
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Split&) {
  return fixed_slice(network, {});
}
std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Pad& op) {
  return fixed_slice(network, described_padding(node, op.fill));
}

ISliceLayer* Network::addSlice(ITensor& input, const Dims& start, const Dims& size,
                               const Dims& stride) noexcept {
  const auto fits = [](const Dims& dims) {
    return dims.nbDims >= 0 && dims.nbDims <= Dims::MAX_DIMS;
  };
  if (!require(fits(start) && fits(size) && fits(stride), "addSlice", "at most 8 axes"))
    return nullptr;
  return insert<SliceLayer>("addSlice", {&input}, 1, start, size, stride);
}

IPaddingLayer* Network::addPaddingNd(ITensor& input, const Dims& prePadding,
                                     const Dims& postPadding) noexcept {
  if (!require(prePadding.nbDims == 2 && postPadding.nbDims == 2, "addPaddingNd",
               "2 numbers before and after"))
    return nullptr;
  return insert<PaddingLayer>("addPaddingNd", {&input}, 1, prePadding, postPadding);
}

}  // namespace tenon::network
