#pragma once

#include <string>
#include <vector>

#include "network/layer.h"

namespace tenon::network {

template <class Interface, LayerType kType>
class ConditionalBoundary : public LayerOf<Interface, kType> {
 public:
  ConditionalBoundary(Network& network, nvinfer1::IIfConditional* conditional)
      : LayerOf<Interface, kType>(network), conditional_(conditional) {}
  nvinfer1::IIfConditional* getConditional() const noexcept override { return conditional_; }

 private:
  nvinfer1::IIfConditional* conditional_;
};

class ConditionLayer final
    : public ConditionalBoundary<nvinfer1::IConditionLayer, LayerType::kCONDITION> {
 public:
  using ConditionalBoundary::ConditionalBoundary;
  std::vector<Value*> lower(Emitter& e) override;
};

/// A value that the branches read.
class ConditionalInputLayer final : public ConditionalBoundary<nvinfer1::IIfConditionalInputLayer,
                                                               LayerType::kCONDITIONAL_INPUT> {
 public:
  using ConditionalBoundary::ConditionalBoundary;
  std::vector<Value*> lower(Emitter& e) override;
};

/// Operands: the value of the then-branch, of the else-branch.
class ConditionalOutputLayer final : public ConditionalBoundary<nvinfer1::IIfConditionalOutputLayer,
                                                                LayerType::kCONDITIONAL_OUTPUT> {
 public:
  using ConditionalBoundary::ConditionalBoundary;
  std::vector<Value*> lower(Emitter& e) override;
};

/// IIfConditional: its layers.
class ConditionalHandle final : public surface::Implementation<nvinfer1::IIfConditional> {
 public:
  explicit ConditionalHandle(Network& network) : network_(network) {}
  nvinfer1::IConditionLayer* setCondition(ITensor& tensor) noexcept override;
  nvinfer1::IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput,
                                                 ITensor& falseSubgraphOutput) noexcept override;
  nvinfer1::IIfConditionalInputLayer* addInput(ITensor& input) noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }

  const ConditionLayer* condition = nullptr;
  std::vector<const ConditionalInputLayer*> inputs;
  std::vector<const ConditionalOutputLayer*> outputs;

 private:
  Network& network_;
  std::string name_;
};

}  // namespace tenon::network
