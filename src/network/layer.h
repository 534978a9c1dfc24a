#pragma once

#include <string>

#include "NvInfer.h"
#include "ir/graph.h"

namespace tenon::network {

class Network;

/// ILayer over one node of the graph: what every layer has, whatever its type.
class LayerHandle final : public nvinfer1::ILayer {
 public:
  LayerHandle(Network& network, Node* node) : network_(network), node_(node) {}

  nvinfer1::LayerType getType() const noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return node_->name.c_str(); }
  int32_t getNbInputs() const noexcept override {
    return static_cast<int32_t>(node_->inputs().size());
  }
  nvinfer1::ITensor* getInput(int32_t index) const noexcept override;
  int32_t getNbOutputs() const noexcept override {
    return static_cast<int32_t>(node_->outputs().size());
  }
  nvinfer1::ITensor* getOutput(int32_t index) const noexcept override;
  void setInput(int32_t index, nvinfer1::ITensor& tensor) noexcept override;
  void setPrecision(nvinfer1::DataType type) noexcept override;
  nvinfer1::DataType getPrecision() const noexcept override { return precision_; }
  bool precisionIsSet() const noexcept override { return precision_set_; }
  void resetPrecision() noexcept override { precision_set_ = false; }
  void setOutputType(int32_t index, nvinfer1::DataType type) noexcept override;
  nvinfer1::DataType getOutputType(int32_t index) const noexcept override;
  bool outputTypeIsSet(int32_t index) const noexcept override {
    return index == 0 && output_type_set_;
  }
  void resetOutputType(int32_t index) noexcept override;
  void setMetadata(const char* metadata) noexcept override;
  const char* getMetadata() const noexcept override { return metadata_.c_str(); }
  bool setNbRanks(int32_t ranks) noexcept override { return ranks == 1; }
  int32_t getNbRanks() const noexcept override { return 1; }

 private:
  Network& network_;
  Node* node_;
  nvinfer1::DataType precision_ = nvinfer1::DataType::kFLOAT;
  bool precision_set_ = false;
  nvinfer1::DataType output_type_ = nvinfer1::DataType::kFLOAT;
  bool output_type_set_ = false;
  std::string metadata_;
};

}  // namespace tenon::network
