// Quantization, dequantization and quantization with scales from the data.
#include "network/adopt.h"
#include "network/composites.h"
#include "network/convert.h"
#include "network/network.h"

namespace tenon::network {
namespace {

bool is_quantized(PublicType type) {
  return type == PublicType::kINT8 || type == PublicType::kFP8 || type == PublicType::kINT4 ||
         type == PublicType::kFP4 || type == PublicType::kUINT8;
}

bool is_float(PublicType type) {
  return type == PublicType::kFLOAT || type == PublicType::kHALF || type == PublicType::kBF16;
}

/// Quantize and Dequantize: operands x, scale and a zero point that may be absent.
template <class Interface, LayerType kType, class Op>
class ScalingLayer final : public LayerOf<Interface, kType> {
  using Base = LayerOf<Interface, kType>;
  using Base::assign, Base::in, Base::permit, Base::has_operand;
  static constexpr bool kQuantizes = kType == LayerType::kQUANTIZE;

 public:
  ScalingLayer(Network& network, PublicType type) : Base(network), type_(type) {
    this->set_most_operands(3);
  }
  TENON_LAYER_ATTRIBUTE(int32_t, Axis, axis_)
  TENON_LAYER_CHECKED(PublicType, ToType, type_, kQuantizes ? is_quantized(value) : is_float(value),
                      "a type that the layer gives")
  bool setBlockShape(const Dims& value) noexcept override {
    if (is_same(block_, value)) return true;
    if (!permit(value.nbDims >= 0 && value.nbDims <= Dims::MAX_DIMS, "setBlockShape",
                "at most 8 extents") ||
        !this->editable())
      return false;
    assign(block_, value);
    return true;
  }
  Dims getBlockShape() const noexcept override { return block_; }
  void set_axis(int64_t axis) { axis_ = static_cast<int32_t>(axis); }

  std::vector<Value*> lower(Emitter& e) override {
    Op op;
    op.to = from_public(type_);
    const int rank = e.rank(in(0)), scale_rank = e.rank(in(1));
    Value* scale = in(1);
    if (scale_rank == rank && rank > 1) {
      scale = whole_scale(e, in(0), scale);
      const Blocks blocks = blocks_of(e, in(0), scale);
      op.axis = std::max<int64_t>(blocks.axis, 0);
      op.block_size = std::max<int64_t>(blocks.size, 1);
    } else if (scale_rank == 1 && rank > 0) {
      if (axis_ < 0 && e.shape(scale)[0] == Dim(1)) scale = e.reshape(scale, {});
      op.axis = axis_ < 0 ? 0 : e.normalized(axis_, rank);
      if (axis_ < 0 && e.rank(scale) == 1)
        e.fail(user_error("a scale for each of {} slices needs setAxis",
                          e.shape(scale)[0].to_string()));
    }
    return {e.add(op, {in(0), e.cast(scale, scale_type(e, scale)), zero_point(e)})};
  }

 private:
  /// Programs give zero points, which are all 0, as reals too.
  Value* zero_point(Emitter& e) const {
    if (!has_operand(2)) return in(2);
    const bool real = is_float(to_public(e.type(in(2))).value_or(PublicType::kINT8));
    const auto bytes = kQuantizes ? from_public(type_) : e.type(in(0));
    return real ? e.cast(in(2), bytes) : in(2);
  }
  /// Scales of 8 bits are numbers like others to the operators.
  static tenon::DataType scale_type(Emitter& e, const Value* scale) {
    const tenon::DataType type = e.type(scale);
    const bool narrow =
        type == tenon::DataType::kFloat8E4M3 || type == tenon::DataType::kFloat8E8M0;
    return narrow ? tenon::DataType::kFloat32 : type;
  }

  PublicType type_;
  int32_t axis_ = -1;
  Dims block_{-1, {}};
};

using QuantizeLayer = ScalingLayer<nvinfer1::IQuantizeLayer, LayerType::kQUANTIZE, Quantize>;
using DequantizeLayer =
    ScalingLayer<nvinfer1::IDequantizeLayer, LayerType::kDEQUANTIZE, Dequantize>;

/// Blocks along one axis. A second operand scales the scales themselves.
class DynamicQuantizeLayer final
    : public LayerOf<nvinfer1::IDynamicQuantizeLayer, LayerType::kDYNAMIC_QUANTIZE> {
 public:
  DynamicQuantizeLayer(Network& network, int32_t axis, int32_t block, PublicType type,
                       PublicType scale_type)
      : LayerOf(network), type_(type), scale_type_(scale_type), axis_(axis), block_(block) {
    set_most_operands(2);
    shape_.nbDims = -1;
  }
  TENON_LAYER_CHECKED(PublicType, ToType, type_, is_quantized(value), "a quantized type")
  TENON_LAYER_CHECKED(PublicType, ScaleType, scale_type_, is_valid(value), "a data type")
  TENON_LAYER_ATTRIBUTE(int32_t, Axis, axis_)
  TENON_LAYER_CHECKED(int32_t, BlockSize, block_, value >= 1, "at least 1")
  void setBlockShape(const Dims& value) noexcept override { assign(shape_, value); }
  Dims getBlockShape() const noexcept override { return shape_; }

  std::vector<Value*> lower(Emitter& e) override {
    Value* second = has_operand(1) ? in(1) : nullptr;
    const auto type = from_public(type_), scale_type = from_public(scale_type_);
    if (shape_.nbDims < 0) {
      const Blocks blocks{e.normalized(axis_, e.rank(in(0))), block_};
      const DynamicScales made = dynamic_quantize(e, in(0), second, blocks, type, scale_type);
      return {made.quantized, made.scale};
    }
    const std::span<const int64_t> shape(shape_.d, static_cast<size_t>(shape_.nbDims));
    const DynamicScales made = dynamic_quantize(e, in(0), second, shape, type, scale_type);
    return {made.quantized, made.scale};
  }

 private:
  PublicType type_, scale_type_;
  int32_t axis_, block_;
  Dims shape_{};
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Quantize& op) {
  auto layer = std::make_unique<QuantizeLayer>(
      network, to_public(node.output()->type.type).value_or(PublicType::kINT8));
  layer->set_axis(op.axis);
  if (!op.saturate || !to_public(node.output()->type.type)) layer->forbid_changes();
  return layer;
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Dequantize& op) {
  auto layer =
      std::make_unique<DequantizeLayer>(network, to_public(op.to).value_or(PublicType::kFLOAT));
  layer->set_axis(op.axis);
  if (!to_public(op.to)) layer->forbid_changes();
  return layer;
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const DynamicQuantize&) {
  auto layer =
      std::make_unique<DynamicQuantizeLayer>(network, 0, 1, PublicType::kUINT8, PublicType::kFLOAT);
  layer->forbid_changes();
  return layer;
}

IQuantizeLayer* Network::addQuantize(ITensor& input, ITensor& scale) noexcept {
  return addQuantizeV2(input, scale, PublicType::kINT8);
}
IQuantizeLayer* Network::addQuantizeV2(ITensor& input, ITensor& scale,
                                       nvinfer1::DataType outputType) noexcept {
  if (!require(is_quantized(outputType), "addQuantize", "INT8, FP8, INT4, FP4 or UINT8"))
    return nullptr;
  return insert<QuantizeLayer>("addQuantize", {&input, &scale}, 1, outputType);
}
IDequantizeLayer* Network::addDequantize(ITensor& input, ITensor& scale) noexcept {
  return addDequantizeV2(input, scale, PublicType::kFLOAT);
}
IDequantizeLayer* Network::addDequantizeV2(ITensor& input, ITensor& scale,
                                           nvinfer1::DataType outputType) noexcept {
  if (!require(is_float(outputType), "addDequantize", "FLOAT, HALF or BF16")) return nullptr;
  return insert<DequantizeLayer>("addDequantize", {&input, &scale}, 1, outputType);
}

IDynamicQuantizeLayer* Network::addDynamicQuantize(ITensor& input, int32_t axis, int32_t blockSize,
                                                   nvinfer1::DataType outputType,
                                                   nvinfer1::DataType scaleType) noexcept {
  if (!require(blockSize >= 1, "addDynamicQuantize", "a block of at least 1") ||
      !require(is_quantized(outputType), "addDynamicQuantize", "a quantized type") ||
      !require(is_valid(scaleType), "addDynamicQuantize", "a type for the scales"))
    return nullptr;
  return insert<DynamicQuantizeLayer>("addDynamicQuantize", {&input}, 2, axis, blockSize,
                                      outputType, scaleType);
}

IDynamicQuantizeLayer* Network::addDynamicQuantizeV2(ITensor& input, const Dims& blockShape,
                                                     nvinfer1::DataType outputType,
                                                     nvinfer1::DataType scaleType) noexcept {
  if (!require(blockShape.nbDims >= 1 && blockShape.nbDims <= Dims::MAX_DIMS,
               "addDynamicQuantizeV2", "1 to 8 block extents"))
    return nullptr;
  IDynamicQuantizeLayer* layer = addDynamicQuantize(input, 0, 1, outputType, scaleType);
  if (layer != nullptr) layer->setBlockShape(blockShape);
  return layer;
}

}  // namespace tenon::network
