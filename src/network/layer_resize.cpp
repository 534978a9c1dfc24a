// Resizing and sampling of images, non-maximum suppression.
#include <algorithm>

#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"

namespace tenon::network {
namespace {

/// In the order of ResizeRoundMode.
constexpr NearestMode kRoundings[] = {NearestMode::kRoundPreferCeil, NearestMode::kRoundPreferFloor,
                                      NearestMode::kFloor, NearestMode::kCeil};

class ResizeLayer final : public OperatorLayer<nvinfer1::IResizeLayer, LayerType::kRESIZE, Resize> {
 public:
  explicit ResizeLayer(Network& network, Resize op = {}) : OperatorLayer(network, std::move(op)) {
    set_most_operands(2);
    size_.nbDims = -1;
  }
  void setOutputDimensions(const Dims& value) noexcept override {
    if (is_same(size_, value)) return;
    if (permit(value.nbDims >= 0 && value.nbDims <= Dims::MAX_DIMS, "setOutputDimensions",
               "at most 8 extents"))
      assign(size_, value);
  }
  Dims getOutputDimensions() const noexcept override { return size_; }
  void setScales(const float* scales, int32_t nbScales) noexcept override {
    const bool fits = scales != nullptr && nbScales >= 1 && nbScales <= Dims::MAX_DIMS &&
                      std::all_of(scales, scales + nbScales, [](float s) { return s > 0; });
    if (permit(fits, "setScales", "1 to 8 positive numbers"))
      network().reporter().guarded_call(
          "setScales", [&] { assign(scales_, std::vector<float>(scales, scales + nbScales)); });
  }
  int32_t getScales(int32_t size, float* scales) const noexcept override {
    if (scales != nullptr && size >= static_cast<int32_t>(scales_.size()))
      std::copy(scales_.begin(), scales_.end(), scales);
    return scales_.empty() ? -1 : static_cast<int32_t>(scales_.size());
  }
  TENON_LAYER_CHECKED(InterpolationMode, ResizeMode, op_.mode, is_valid(value), "a mode")
  TENON_LAYER_CHECKED(ResizeCoordinateTransformation, CoordinateTransformation, coordinates_,
                      is_valid(value), "a transformation")
  TENON_LAYER_CHECKED(ResizeSelector, SelectorForSinglePixel, selector_, is_valid(value),
                      "a selector")
  TENON_LAYER_CHECKED(ResizeRoundMode, NearestRounding, rounding_, is_valid(value),
                      "a way of rounding")
  TENON_LAYER_ATTRIBUTE(float, CubicCoeff, op_.cubic_coefficient)
  TENON_LAYER_ATTRIBUTE(bool, ExcludeOutside, op_.exclude_outside)
  void read(const Node& node);

  std::vector<Value*> lower(Emitter& e) override {
    const int rank = e.rank(in(0));
    Resize op = op_;
    op.coordinates = coordinates();
    op.nearest = kRoundings[static_cast<size_t>(rounding_)];
    if (has_operand(1))
      return {e.add(op, {in(0), nullptr, nullptr, e.cast(in(1), DataType::kInt64)})};
    if (size_.nbDims == rank)
      return {e.add(op, {in(0), nullptr, nullptr, e.integers(to_integers(size_))})};
    if (size_.nbDims <= 0 && scales_.empty())  // As large as its input, until it is told more.
      return {e.add(op, {in(0), nullptr, nullptr, e.shape_of(in(0))})};
    if (static_cast<int>(scales_.size()) != rank)
      e.fail(user_error("output dimensions or scales for each of the {} axes are needed", rank));
    if (!e.ok()) return {nullptr};
    const auto count = static_cast<int64_t>(scales_.size());
    Value* scales = e.constant(Tensor::of<float>(tenon::DataType::kFloat32, {count}, scales_));
    return {e.add(op, {in(0), nullptr, scales})};
  }

 private:
  CoordinateMode coordinates() const {
    if (coordinates_ == ResizeCoordinateTransformation::kALIGN_CORNERS)
      return CoordinateMode::kAlignCorners;
    if (coordinates_ == ResizeCoordinateTransformation::kASYMMETRIC)
      return CoordinateMode::kAsymmetric;
    return selector_ == ResizeSelector::kUPPER ? CoordinateMode::kPytorchHalfPixel
                                               : CoordinateMode::kHalfPixel;
  }

  Dims size_{};
  std::vector<float> scales_;
  ResizeCoordinateTransformation coordinates_ = ResizeCoordinateTransformation::kASYMMETRIC;
  ResizeSelector selector_ = ResizeSelector::kFORMULA;
  ResizeRoundMode rounding_ = ResizeRoundMode::kFLOOR;
};

void ResizeLayer::read(const Node& node) {
  coordinates_ = op_.coordinates == CoordinateMode::kAlignCorners
                     ? ResizeCoordinateTransformation::kALIGN_CORNERS
                 : op_.coordinates == CoordinateMode::kAsymmetric
                     ? ResizeCoordinateTransformation::kASYMMETRIC
                     : ResizeCoordinateTransformation::kHALF_PIXEL;
  if (op_.coordinates == CoordinateMode::kPytorchHalfPixel) selector_ = ResizeSelector::kUPPER;
  rounding_ = static_cast<ResizeRoundMode>(position_in(kRoundings, op_.nearest));
  forbid_changes();
  const auto rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  const Tensor* scales = node.has_input(2) ? node.input(2)->constant() : nullptr;
  for (int64_t i = 0; scales != nullptr && scales->count() == rank && i < rank; ++i)
    scales_.push_back(static_cast<float>(scales->as_double(i)));
  if (node.has_input(3)) size_ = known_dims(node.output()->type.shape);
}

/// In the order of GridPadding.
constexpr SampleMode kPaddings[] = {SampleMode::kFILL, SampleMode::kCLAMP, SampleMode::kREFLECT};

class GridSampleLayer final
    : public OperatorLayer<nvinfer1::IGridSampleLayer, LayerType::kGRID_SAMPLE, GridSample> {
 public:
  using OperatorLayer::OperatorLayer;
  TENON_LAYER_CHECKED(InterpolationMode, InterpolationMode, op_.mode, is_valid(value), "a mode")
  TENON_LAYER_ATTRIBUTE(bool, AlignCorners, op_.align_corners)
  bool setSampleMode(SampleMode mode) noexcept override {
    const int32_t padding = position_in(kPaddings, mode);
    if (!permit(padding >= 0, "setSampleMode", "FILL, CLAMP or REFLECT") || !editable())
      return false;
    assign(op_.padding, padding);
    return true;
  }
  SampleMode getSampleMode() const noexcept override {
    return kPaddings[static_cast<size_t>(op_.padding)];
  }
};

/// Boxes [batch, boxes, 4] or [batch, boxes, 1, 4], scores [batch, boxes, classes]; operands after
/// these: most boxes a class, IoU threshold, score threshold. Gives rows of batch, class and box,
/// and their number.
class NmsLayer final : public OperatorLayer<nvinfer1::INMSLayer, LayerType::kNMS, Nms> {
 public:
  NmsLayer(Network& network, PublicType type, const Nms& op = {})
      : OperatorLayer(network, op), type_(type) {
    set_most_operands(5);
  }
  TENON_LAYER_CHECKED(BoundingBoxFormat, BoundingBoxFormat, op_.center_point_box, is_valid(value),
                      "a format")
  TENON_LAYER_ATTRIBUTE(int32_t, TopKBoxLimit, limit_)
  TENON_LAYER_ACCEPTED(PublicType, IndicesType, type_,
                       value == PublicType::kINT32 || value == PublicType::kINT64, "INT32 or INT64")
  std::vector<Value*> lower(Emitter& e) override {
    Value* boxes = in(0);
    if (e.rank(boxes) == 4) {
      if (e.constant_extent(boxes, 2) != 1)
        e.fail(unsupported("boxes of their own for each class: {}", to_string(e.shape(boxes))));
      boxes = e.squeeze(boxes, {2});
    }
    Value* most = e.cast(in(2), DataType::kInt64);
    Value* found =
        e.add(op_, {boxes, e.transpose(in(1), {0, 2, 1}), most, threshold(e, 3), threshold(e, 4)});
    Value* count = e.squeeze(e.slice(e.shape_of(found), 0, 0, 1), {0});
    return {e.cast(found, from_public(type_)), e.cast(count, DataType::kInt32)};
  }

 private:
  Value* threshold(Emitter& e, int index) const {
    return has_operand(index) ? e.cast(in(index), DataType::kFloat32) : nullptr;
  }

  PublicType type_;
  int32_t limit_ = 2000;
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Resize& op) {
  auto layer = std::make_unique<ResizeLayer>(network, op);
  layer->read(node);
  return layer;
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const GridSample& op) {
  return std::make_unique<GridSampleLayer>(network, op);
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Nms& op) {
  auto layer = std::make_unique<NmsLayer>(network, PublicType::kINT64, op);
  layer->forbid_changes();
  return layer;
}

IResizeLayer* Network::addResize(ITensor& input) noexcept {
  return insert<ResizeLayer>("addResize", {&input}, 1);
}

IGridSampleLayer* Network::addGridSample(ITensor& input, ITensor& grid) noexcept {
  return insert<GridSampleLayer>("addGridSample", {&input, &grid}, 1);
}

INMSLayer* Network::addNMS(ITensor& boxes, ITensor& scores,
                           ITensor& maxOutputBoxesPerClass) noexcept {
  return addNMSV2(boxes, scores, maxOutputBoxesPerClass, PublicType::kINT32);
}

INMSLayer* Network::addNMSV2(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                             nvinfer1::DataType indicesType) noexcept {
  if (!require(indicesType == PublicType::kINT32 || indicesType == PublicType::kINT64, "addNMS",
               "indices of INT32 or INT64"))
    return nullptr;
  return insert<NmsLayer>("addNMS", {&boxes, &scores, &maxOutputBoxesPerClass}, 2, indicesType);
}

}  // namespace tenon::network
