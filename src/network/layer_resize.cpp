// Resizing and sampling of images, non-maximum suppression.
#include <algorithm>

#include "network/adopt.h"
#include "network/convert.h"
#include "network/network.h"

namespace tenon::network {
namespace {

class ResizeLayer final : public LayerOf<nvinfer1::IResizeLayer, LayerType::kRESIZE> {
 public:
  explicit ResizeLayer(Network& network) : LayerOf(network) {
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
  TENON_LAYER_CHECKED(InterpolationMode, ResizeMode, mode_, is_valid(value), "a mode")
  TENON_LAYER_CHECKED(ResizeCoordinateTransformation, CoordinateTransformation, coordinates_,
                      is_valid(value), "a transformation")
  TENON_LAYER_CHECKED(ResizeSelector, SelectorForSinglePixel, selector_, is_valid(value),
                      "a selector")
  TENON_LAYER_CHECKED(ResizeRoundMode, NearestRounding, rounding_, is_valid(value),
                      "a way of rounding")
  TENON_LAYER_ATTRIBUTE(float, CubicCoeff, cubic_)
  TENON_LAYER_ATTRIBUTE(bool, ExcludeOutside, exclude_)
  void read(const Resize& op, const Node& node);

  std::vector<Value*> lower(Emitter& e) override {
    const int rank = e.rank(in(0));
    Resize op;
    op.mode = static_cast<ResizeMode>(mode_);
    op.coordinates = coordinates();
    op.nearest = nearest();
    op.cubic_coefficient = cubic_;
    op.exclude_outside = exclude_;
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
  NearestMode nearest() const {
    static constexpr NearestMode kModes[] = {NearestMode::kRoundPreferCeil,
                                             NearestMode::kRoundPreferFloor, NearestMode::kFloor,
                                             NearestMode::kCeil};
    return kModes[static_cast<size_t>(rounding_)];
  }

  Dims size_{};
  std::vector<float> scales_;
  InterpolationMode mode_ = InterpolationMode::kNEAREST;
  ResizeCoordinateTransformation coordinates_ = ResizeCoordinateTransformation::kASYMMETRIC;
  ResizeSelector selector_ = ResizeSelector::kFORMULA;
  ResizeRoundMode rounding_ = ResizeRoundMode::kFLOOR;
  float cubic_ = -0.75F;
  bool exclude_ = false;
};

void ResizeLayer::read(const Resize& op, const Node& node) {
  mode_ = static_cast<InterpolationMode>(op.mode);
  coordinates_ = op.coordinates == CoordinateMode::kAlignCorners
                     ? ResizeCoordinateTransformation::kALIGN_CORNERS
                 : op.coordinates == CoordinateMode::kAsymmetric
                     ? ResizeCoordinateTransformation::kASYMMETRIC
                     : ResizeCoordinateTransformation::kHALF_PIXEL;
  if (op.coordinates == CoordinateMode::kPytorchHalfPixel) selector_ = ResizeSelector::kUPPER;
  static constexpr ResizeRoundMode kModes[] = {ResizeRoundMode::kHALF_DOWN,
                                               ResizeRoundMode::kHALF_UP, ResizeRoundMode::kFLOOR,
                                               ResizeRoundMode::kCEIL};
  rounding_ = kModes[static_cast<size_t>(op.nearest)];
  cubic_ = static_cast<float>(op.cubic_coefficient);
  exclude_ = op.exclude_outside;
  forbid_changes();
  const auto rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  const Tensor* scales = node.has_input(2) ? node.input(2)->constant() : nullptr;
  for (int64_t i = 0; scales != nullptr && scales->count() == rank && i < rank; ++i)
    scales_.push_back(static_cast<float>(scales->as_double(i)));
  if (node.has_input(3)) size_ = known_dims(node.output()->type.shape);
}

class GridSampleLayer final : public LayerOf<nvinfer1::IGridSampleLayer, LayerType::kGRID_SAMPLE> {
 public:
  using LayerOf::LayerOf;
  TENON_LAYER_CHECKED(InterpolationMode, InterpolationMode, mode_, is_valid(value), "a mode")
  TENON_LAYER_ATTRIBUTE(bool, AlignCorners, align_)
  TENON_LAYER_ACCEPTED(SampleMode, SampleMode, sample_,
                       value == SampleMode::kFILL || value == SampleMode::kCLAMP ||
                           value == SampleMode::kREFLECT,
                       "FILL, CLAMP or REFLECT")
  void read(const GridSample& op) {
    mode_ = static_cast<InterpolationMode>(op.mode);
    align_ = op.align_corners;
    sample_ = op.padding == GridPadding::kBorder       ? SampleMode::kCLAMP
              : op.padding == GridPadding::kReflection ? SampleMode::kREFLECT
                                                       : SampleMode::kFILL;
  }
  std::vector<Value*> lower(Emitter& e) override {
    GridSample op;
    op.mode = static_cast<ResizeMode>(mode_);
    op.align_corners = align_;
    op.padding = sample_ == SampleMode::kCLAMP     ? GridPadding::kBorder
                 : sample_ == SampleMode::kREFLECT ? GridPadding::kReflection
                                                   : GridPadding::kZeros;
    return {e.add(op, {in(0), in(1)})};
  }

 private:
  InterpolationMode mode_ = InterpolationMode::kLINEAR;
  bool align_ = false;
  SampleMode sample_ = SampleMode::kFILL;
};

/// Boxes [batch, boxes, 4] or [batch, boxes, 1, 4], scores [batch, boxes, classes]; operands after
/// these: most boxes a class, IoU threshold, score threshold. Gives rows of batch, class and box,
/// and their number.
class NmsLayer final : public LayerOf<nvinfer1::INMSLayer, LayerType::kNMS> {
 public:
  NmsLayer(Network& network, PublicType type) : LayerOf(network), type_(type) {
    set_most_operands(5);
  }
  TENON_LAYER_CHECKED(BoundingBoxFormat, BoundingBoxFormat, format_, is_valid(value), "a format")
  TENON_LAYER_ATTRIBUTE(int32_t, TopKBoxLimit, limit_)
  TENON_LAYER_ACCEPTED(PublicType, IndicesType, type_,
                       value == PublicType::kINT32 || value == PublicType::kINT64, "INT32 or INT64")
  void read(const Nms& op) {
    if (op.center_point_box) format_ = BoundingBoxFormat::kCENTER_SIZES;
    forbid_changes();
  }
  std::vector<Value*> lower(Emitter& e) override {
    Value* boxes = in(0);
    if (e.rank(boxes) == 4) {
      if (e.constant_extent(boxes, 2) != 1)
        e.fail(unsupported("boxes of their own for each class: {}", to_string(e.shape(boxes))));
      boxes = e.squeeze(boxes, {2});
    }
    Nms op;
    op.center_point_box = format_ == BoundingBoxFormat::kCENTER_SIZES;
    Value* most = e.cast(in(2), DataType::kInt64);
    Value* found =
        e.add(op, {boxes, e.transpose(in(1), {0, 2, 1}), most, threshold(e, 3), threshold(e, 4)});
    Value* count = e.squeeze(e.slice(e.shape_of(found), 0, 0, 1), {0});
    return {e.cast(found, from_public(type_)), e.cast(count, DataType::kInt32)};
  }

 private:
  Value* threshold(Emitter& e, int index) const {
    return has_operand(index) ? e.cast(in(index), DataType::kFloat32) : nullptr;
  }

  PublicType type_;
  BoundingBoxFormat format_ = BoundingBoxFormat::kCORNER_PAIRS;
  int32_t limit_ = 2000;
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Resize& op) {
  auto layer = std::make_unique<ResizeLayer>(network);
  layer->read(op, node);
  return layer;
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const GridSample& op) {
  auto layer = std::make_unique<GridSampleLayer>(network);
  layer->read(op);
  return layer;
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Nms& op) {
  auto layer = std::make_unique<NmsLayer>(network, PublicType::kINT64);
  layer->read(op);
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
