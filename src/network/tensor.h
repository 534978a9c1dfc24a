#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"
#include "network/bindings.h"
#include "surface/implementation.h"

namespace tenon::network {

class LayerCore;
class Network;

/// ITensor over a value of the network's graph. The handle stays when its layer gets other nodes.
class TensorHandle final : public surface::Implementation<nvinfer1::ITensor> {
 public:
  TensorHandle(Network& network, Value* value, LayerCore* layer)
      : network_(network), value_(value), layer_(layer) {}

  Value* value() const { return value_; }
  /// The layer that it is an output of; null for network inputs.
  LayerCore* producer() const { return layer_; }
  Network& network() const { return network_; }
  void rebind(Value* value);
  /// The form in which applications see an input or output, where that is not the value's own type.
  std::optional<Binding> binding() const;

  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return value_->name.c_str(); }
  void setDimensions(const nvinfer1::Dims& dimensions) noexcept override;
  nvinfer1::Dims getDimensions() const noexcept override;
  void setType(nvinfer1::DataType type) noexcept override;
  nvinfer1::DataType getType() const noexcept override;
  bool setDynamicRange(float min, float max) noexcept override;
  bool isNetworkInput() const noexcept override { return layer_ == nullptr; }
  bool isNetworkOutput() const noexcept override;
  void setBroadcastAcrossBatch(bool broadcast) noexcept override;
  bool getBroadcastAcrossBatch() const noexcept override { return false; }
  nvinfer1::TensorLocation getLocation() const noexcept override;
  void setLocation(nvinfer1::TensorLocation location) noexcept override;
  bool dynamicRangeIsSet() const noexcept override { return range_set_; }
  void resetDynamicRange() noexcept override { range_set_ = false; }
  float getDynamicRangeMin() const noexcept override;
  float getDynamicRangeMax() const noexcept override;
  void setAllowedFormats(nvinfer1::TensorFormats formats) noexcept override;
  nvinfer1::TensorFormats getAllowedFormats() const noexcept override { return formats_; }
  bool isShapeTensor() const noexcept override;
  bool isExecutionTensor() const noexcept override { return !isShapeTensor(); }
  void setDimensionName(int32_t index, const char* name) noexcept override;
  const char* getDimensionName(int32_t index) const noexcept override;

 private:
  void set_type(nvinfer1::DataType type);
  void set_input_type(DataType type);
  /// Types as they follow from the layers now; false, with an error logged, where they do not.
  bool refresh() const;

  Network& network_;
  Value* value_;
  LayerCore* layer_;
  bool range_set_ = false;
  float range_min_ = 0, range_max_ = 0;
  std::optional<DataType> bound_;  ///< Type as input or output of a weakly typed network.
  nvinfer1::TensorFormats formats_ = 1U << static_cast<uint32_t>(nvinfer1::TensorFormat::kLINEAR);
  mutable std::string dimension_name_;
};

}  // namespace tenon::network
