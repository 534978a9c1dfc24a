#pragma once

#include <string>
#include <vector>

#include "NvInfer.h"
#include "select/kernel_chooser.h"
#include "surface/implementation.h"

namespace tenon::api {

/// An operand of a layer: inputs without constants first, then outputs.
using LayerOperands = std::vector<const Value*>;
LayerOperands operands_of(const Node& node);

/// A layer for the application's selector. Keeps nothing of the graph.
class AlgorithmContext final : public surface::Implementation<nvinfer1::IAlgorithmContext> {
 public:
  AlgorithmContext(const LayerChoices& layer, const ProfileEnds& ends);

  const char* getName() const noexcept override { return name_.c_str(); }
  /// -1 for extents that data decides; nbDims -1 beyond the last operand.
  nvinfer1::Dims getDimensions(int32_t index,
                               nvinfer1::OptProfileSelector select) const noexcept override;
  int32_t getNbInputs() const noexcept override { return inputs_; }
  int32_t getNbOutputs() const noexcept override {
    return static_cast<int32_t>(shapes_.size()) - inputs_;
  }

 private:
  struct Shapes {
    nvinfer1::Dims least, usual, most;
  };
  std::string name_;
  std::vector<Shapes> shapes_;
  int32_t inputs_ = 0;
};

/// An operand as a kernel of the layer has it. All kernels of a layer have equal operands:
/// other layouts are layers of their own.
class AlgorithmIOInfo final : public surface::Implementation<nvinfer1::IAlgorithmIOInfo> {
 public:
  explicit AlgorithmIOInfo(const Operand& operand);

  nvinfer1::DataType getDataType() const noexcept override { return type_; }
  nvinfer1::Dims getStrides() const noexcept override { return strides_; }
  int64_t getVectorizedDim() const noexcept override { return -1; }
  int64_t getComponentsPerElement() const noexcept override { return 1; }

 private:
  nvinfer1::DataType type_;
  nvinfer1::Dims strides_;
};

/// Numbers for a tactic and its configuration that are the same in each process and build.
class AlgorithmVariant final : public surface::Implementation<nvinfer1::IAlgorithmVariant> {
 public:
  explicit AlgorithmVariant(std::string_view tactic);

  int64_t getImplementation() const noexcept override { return implementation_; }
  int64_t getTactic() const noexcept override { return tactic_; }

 private:
  int64_t implementation_, tactic_;
};

/// A kernel that a layer may have. Keeps nothing of the graph.
class AlgorithmChoice final : public surface::Implementation<nvinfer1::IAlgorithm> {
 public:
  AlgorithmChoice(const LayerChoices& layer, const Candidate& candidate);

  const nvinfer1::IAlgorithmVariant& getAlgorithmVariant() const noexcept override {
    return variant_;
  }
  /// 0 where nothing was measured: there is one candidate alone, or the build measures nothing.
  float getTimingMSec() const noexcept override { return milliseconds_; }
  std::size_t getWorkspaceSize() const noexcept override { return workspace_; }
  const nvinfer1::IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(
      int32_t index) const noexcept override;

 private:
  AlgorithmVariant variant_;
  float milliseconds_;
  size_t workspace_;
  std::vector<std::unique_ptr<AlgorithmIOInfo>> operands_;
};

}  // namespace tenon::api
