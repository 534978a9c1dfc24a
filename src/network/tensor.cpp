#include "network/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "network/convert.h"
#include "network/layer.h"
#include "network/network.h"
#include "network/shape_inputs.h"
#include "ops/shape_input.h"

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
  network_.reporter().guarded_call("setName", [&] {
    if (network_.require(name != nullptr, "setName", "a name")) value_->name = name;
  });
}

void TensorHandle::setBroadcastAcrossBatch(bool broadcast) noexcept {
  (void)network_.require(!broadcast, "setBroadcastAcrossBatch",
                         "false: there are no implicit batches");
}

/// As the engine will say.
nvinfer1::TensorLocation TensorHandle::getLocation() const noexcept {
  return isNetworkInput() && isShapeTensor() ? nvinfer1::TensorLocation::kHOST
                                             : nvinfer1::TensorLocation::kDEVICE;
}

void TensorHandle::setLocation(nvinfer1::TensorLocation location) noexcept {
  const bool on_host = getLocation() == nvinfer1::TensorLocation::kHOST;
  (void)network_.require(location == getLocation(), "setLocation",
                         on_host ? "kHOST: the tensor decides shapes, which are read there"
                                 : "kDEVICE: inputs that decide shapes alone lie on the host");
}

void TensorHandle::setDimensions(const Dims& dimensions) noexcept {
  const bool few = dimensions.nbDims >= 0 && dimensions.nbDims <= Dims::MAX_DIMS;
  network_.reporter().guarded_call("setDimensions", [&] {
    if (!isNetworkInput() || !few ||
        std::any_of(dimensions.d, dimensions.d + dimensions.nbDims,
                    [](int64_t d) { return d < -1; }))
      return network_.reporter().report(
          user_error("'{}': setDimensions is for network inputs of at most 8 axes, each -1 or more",
                     getName()));
    value_->type.shape = network_.input_shape(value_->name, dimensions);
    network_.mark_users_stale(*value_);
  });
}

Dims TensorHandle::getDimensions() const noexcept {
  Dims unknown{};
  unknown.nbDims = -1;
  return network_.reporter().guarded(
      "getDimensions", unknown, [&] { return refresh() ? to_dims(value_->type.shape) : unknown; });
}

void TensorHandle::set_input_type(DataType type) {
  value_->type.type = type;
  network_.mark_users_stale(*value_);
}

/// In a strongly typed network types follow from the inputs' types. In a weakly typed one they say
/// how the application's buffers are, at inputs and outputs; layers keep their types.
void TensorHandle::setType(nvinfer1::DataType type) noexcept {
  network_.reporter().guarded_call("setType", [&] { set_type(type); });
}

void TensorHandle::set_type(nvinfer1::DataType type) {
  if (!network_.require(is_valid(type), "setType", "a data type") || !refresh()) return;
  const DataType own = value_->type.type, wanted = from_public(type);
  const bool strong = network_.getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  // Types that the surface has no word for are given as another, which changes nothing.
  if (type == getType()) return;
  bound_.reset();
  if (wanted == own) return;
  if (!strong && can_bind(own, wanted)) {
    bound_ = wanted;
  } else if (layer_ == nullptr) {
    set_input_type(wanted);
  } else {
    network_.reporter().report(
        user_error("'{}' is {} and cannot be made {}: {}", getName(), name_of(own), name_of(wanted),
                   strong ? "in a strongly typed network types follow from the inputs'; add a cast"
                          : "add a cast"));
  }
}

nvinfer1::DataType TensorHandle::getType() const noexcept {
  const auto own = [&] {
    refresh();
    const std::optional<Binding> seen = binding();
    return to_public(seen.has_value() ? seen->type : value_->type.type)
        .value_or(nvinfer1::DataType::kFLOAT);
  };
  return network_.reporter().guarded("getType", nvinfer1::DataType::kFLOAT, own);
}

std::optional<Binding> TensorHandle::binding() const {
  if ((!bound_.has_value() && !range_set_) || (layer_ != nullptr && !isNetworkOutput()))
    return std::nullopt;
  const float range = range_set_ ? std::max(std::abs(range_min_), std::abs(range_max_)) : 0;
  return Binding{bound_.value_or(value_->type.type), range};
}

bool TensorHandle::isShapeTensor() const noexcept {
  return network_.reporter().guarded("isShapeTensor", false, [&] {
    if (isNetworkInput()) return decides_shapes(network_, *this);
    if (!refresh()) return false;
    // Constants' numbers are read where a shape asks for them.
    return value_->elements.has_value() ||
           (value_->constant() != nullptr && can_decide_shapes(value_->type));
  });
}

bool TensorHandle::setDynamicRange(float min, float max) noexcept {
  if (!network_.require(std::isfinite(min) && std::isfinite(max) && min <= max, "setDynamicRange",
                        "finite numbers of which the first is the lower"))
    return false;
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

void TensorHandle::setAllowedFormats(nvinfer1::TensorFormats formats) noexcept {
  if (are_flags(network_.reporter(), "setAllowedFormats", formats,
                nvinfer1::EnumMax<nvinfer1::TensorFormat>()))
    formats_ = formats;
}

void TensorHandle::setDimensionName(int32_t index, const char* name) noexcept {
  Shape& shape = value_->type.shape;
  const bool is_axis = index >= 0 && index < static_cast<int32_t>(shape.size());
  if (!network_.require(name != nullptr && is_axis && isNetworkInput(), "setDimensionName",
                        "a name, and an axis of an input of the network"))
    return;
  network_.reporter().guarded_call("setDimensionName", [&] {
    if (shape[index].is_constant())
      return network_.reporter().warning(
          "setDimensionName has no effect: axis {} of '{}' has {} elements in any case", index,
          getName(), shape[index].constant());
    shape[index] = Dim::symbol(name);
    network_.mark_users_stale(*value_);
  });
}

const char* TensorHandle::getDimensionName(int32_t index) const noexcept {
  refresh();
  const Shape& shape = value_->type.shape;
  if (index < 0 || index >= static_cast<int32_t>(shape.size()) || shape[index].is_constant())
    return nullptr;
  return network_.reporter().guarded("getDimensionName", nullptr, [&]() -> const char* {
    const auto name = shape[index].as_symbol();  // As it was given, without quotes.
    dimension_name_ = name ? *name : shape[index].to_string();
    return dimension_name_.c_str();
  });
}

}  // namespace tenon::network
