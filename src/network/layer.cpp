#include "network/layer.h"

#include "network/convert.h"
#include "network/network.h"
#include "ops/ops.h"

namespace tenon::network {

using nvinfer1::LayerType;

LayerType LayerHandle::getType() const noexcept {
  switch (node_->kind()) {
#define TENON_LAYER_TYPE(Struct, type) \
  case OpKind::k##Struct:              \
    return LayerType::type;
#include "network/layer_types.def"
    default:
      return LayerType::kPLUGIN_V3;
  }
}

void LayerHandle::setName(const char* name) noexcept {
  if (name != nullptr) node_->name = name;
}

nvinfer1::ITensor* LayerHandle::getInput(int32_t index) const noexcept {
  return index < 0 || !node_->has_input(index) ? nullptr : network_.handle(node_->input(index));
}

nvinfer1::ITensor* LayerHandle::getOutput(int32_t index) const noexcept {
  return index < 0 || index >= getNbOutputs() ? nullptr : network_.handle(node_->output(index));
}

void LayerHandle::setInput(int32_t index, nvinfer1::ITensor& tensor) noexcept {
  auto* handle = dynamic_cast<TensorHandle*>(&tensor);
  if (handle == nullptr || index < 0 || index >= getNbInputs()) {
    network_.reporter().report(user_error("layer '{}' has no input {}", node_->name, index));
    return;
  }
  node_->set_input(index, handle->value());
  network_.mark_changed();
}

void LayerHandle::setPrecision(nvinfer1::DataType type) noexcept {
  precision_ = type;
  precision_set_ = true;
}

void LayerHandle::setOutputType(int32_t index, nvinfer1::DataType type) noexcept {
  if (index != 0) return;
  output_type_ = type;
  output_type_set_ = true;
}

nvinfer1::DataType LayerHandle::getOutputType(int32_t index) const noexcept {
  if (outputTypeIsSet(index)) return output_type_;
  const nvinfer1::ITensor* output = getOutput(index);
  return output == nullptr ? nvinfer1::DataType::kFLOAT : output->getType();
}

void LayerHandle::resetOutputType(int32_t index) noexcept {
  if (index == 0) output_type_set_ = false;
}

void LayerHandle::setMetadata(const char* metadata) noexcept {
  if (metadata != nullptr) metadata_ = metadata;
}

}  // namespace tenon::network
