#pragma once

#include <NvInfer.h>

#include <new>

namespace reliability {

/// y = x + 1 as a plugin whose own memory, where there is none, is null and no exception.
class Increment final : public nvinfer1::IPluginV2DynamicExt {
 public:
  const char* getPluginType() const noexcept override { return "Increment"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
  nvinfer1::DataType getOutputDataType(int32_t, const nvinfer1::DataType* types,
                                       int32_t) const noexcept override {
    return types[0];
  }
  nvinfer1::IPluginV2DynamicExt* clone() const noexcept override {
    return new (std::nothrow) Increment;
  }
  nvinfer1::DimsExprs getOutputDimensions(int32_t, const nvinfer1::DimsExprs* inputs, int32_t,
                                          nvinfer1::IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t pos, const nvinfer1::PluginTensorDesc* inOut, int32_t,
                                 int32_t) noexcept override {
    return inOut[pos].type == nvinfer1::DataType::kFLOAT &&
           inOut[pos].format == nvinfer1::TensorFormat::kLINEAR;
  }
  void configurePlugin(const nvinfer1::DynamicPluginTensorDesc*, int32_t,
                       const nvinfer1::DynamicPluginTensorDesc*, int32_t) noexcept override {}
  size_t getWorkspaceSize(const nvinfer1::PluginTensorDesc*, int32_t,
                          const nvinfer1::PluginTensorDesc*, int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const nvinfer1::PluginTensorDesc* in, const nvinfer1::PluginTensorDesc*,
                  const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t) noexcept override {
    int64_t count = 1;
    for (int32_t i = 0; i < in[0].dims.nbDims; ++i) count *= in[0].dims.d[i];
    for (int64_t i = 0; i < count; ++i)
      static_cast<float*>(outputs[0])[i] = static_cast<const float*>(inputs[0])[i] + 1;
    return 0;
  }
};

class IncrementCreator final : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "Increment"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &none_; }
  nvinfer1::IPluginV2* createPlugin(const char*,
                                    const nvinfer1::PluginFieldCollection*) noexcept override {
    return new (std::nothrow) Increment;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return new (std::nothrow) Increment;
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }

 private:
  nvinfer1::PluginFieldCollection none_{0, nullptr};
};

}  // namespace reliability
