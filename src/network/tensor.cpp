#include "network/tensor.h"

#include <limits>

#include "network/convert.h"
#include "network/layer.h"
#include "network/network.h"

namespace tenon::network {

using nvinfer1::Dims;

void TensorHandle::rebind(Value* value) {
  value->name = value_->name;
  value_ = value;
}

bool TensorHandle::refresh() const {
  return layer_ == nullptr || network_.update(*layer_);
}

void TensorHandle::setName(const char* name) noexcept {
  if (name != nullptr) value_->name = name;
}

void TensorHandle::setDimensions(const Dims& dimensions) noexcept {
  if (!isNetworkInput() || dimensions.nbDims < 0 || dimensions.nbDims > Dims::MAX_DIMS) {
    network_.reporter().report(
        user_error("'{}': setDimensions is for network inputs of at most 8 axes", getName()));
    return;
  }
  value_->type.shape = network_.input_shape(value_->name, dimensions);
  network_.mark_users_stale(*value_);
}

Dims TensorHandle::getDimensions() const noexcept {
  Dims unknown{};
  unknown.nbDims = -1;
  return refresh() ? to_dims(value_->type.shape) : unknown;
}

void TensorHandle::setType(nvinfer1::DataType type) noexcept {
  if (layer_ != nullptr) {
    for (int32_t i = 0; i < layer_->result_count(); ++i)
      if (layer_->result(i) == this) layer_->set_result_type(i, type);
    return;
  }
  value_->type.type = from_public(type);
  network_.mark_users_stale(*value_);
}

nvinfer1::DataType TensorHandle::getType() const noexcept {
  refresh();
  return to_public(value_->type.type).value_or(nvinfer1::DataType::kFLOAT);
}

bool TensorHandle::isShapeTensor() const noexcept {
  return refresh() && value_->elements.has_value();
}

bool TensorHandle::setDynamicRange(float min, float max) noexcept {
  if (!(min <= max)) return false;
  range_set_ = true;
  range_min_ = min;
  range_max_ = max;
  return true;
}

bool TensorHandle::isNetworkOutput() const noexcept {
  return network_.graph().is_output(value_);
}

float TensorHandle::getDynamicRangeMin() const noexcept {
  return range_set_ ? range_min_ : std::numeric_limits<float>::quiet_NaN();
}
float TensorHandle::getDynamicRangeMax() const noexcept {
  return range_set_ ? range_max_ : std::numeric_limits<float>::quiet_NaN();
}

void TensorHandle::setDimensionName(int32_t index, const char* name) noexcept {
  Shape& shape = value_->type.shape;
  if (name == nullptr || index < 0 || index >= static_cast<int32_t>(shape.size()) ||
      !isNetworkInput())
    return;
  if (!shape[index].is_constant()) shape[index] = Dim::symbol(name);
  network_.mark_users_stale(*value_);
}

const char* TensorHandle::getDimensionName(int32_t index) const noexcept {
  refresh();
  const Shape& shape = value_->type.shape;
  if (index < 0 || index >= static_cast<int32_t>(shape.size()) || shape[index].is_constant())
    return nullptr;
  dimension_name_ = shape[index].to_string();
  return dimension_name_.c_str();
}

}  // namespace tenon::network
