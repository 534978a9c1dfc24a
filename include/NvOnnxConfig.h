#pragma once

/// TensorRT 10.16 surface: settings of the ONNX importer of old.

#include "NvInfer.h"

namespace nvonnxparser {

class IOnnxConfig;

/// Settings of a parser run.
class IOnnxConfig {
 public:
  using Verbosity = int32_t;
  virtual ~IOnnxConfig() noexcept = default;
  virtual void setModelDtype(const nvinfer1::DataType) noexcept = 0;
  virtual nvinfer1::DataType getModelDtype() const noexcept = 0;
  virtual const char* getModelFileName() const noexcept = 0;
  virtual void setModelFileName(const char* onnxFilename) noexcept = 0;
  virtual IOnnxConfig::Verbosity getVerbosityLevel() const noexcept = 0;
  virtual void addVerbosity() noexcept = 0;
  virtual void reduceVerbosity() noexcept = 0;
  virtual void setVerbosityLevel(IOnnxConfig::Verbosity) noexcept = 0;
  virtual const char* getTextFileName() const noexcept = 0;
  virtual void setTextFileName(const char* textFileName) noexcept = 0;
  virtual const char* getFullTextFileName() const noexcept = 0;
  virtual void setFullTextFileName(const char* fullTextFileName) noexcept = 0;
  virtual bool getPrintLayerInfo() const noexcept = 0;
  virtual void setPrintLayerInfo(bool) noexcept = 0;

 protected:
  IOnnxConfig() = default;
  IOnnxConfig(const IOnnxConfig&) = default;
  IOnnxConfig& operator=(const IOnnxConfig&) = default;
  IOnnxConfig(IOnnxConfig&&) = default;
  IOnnxConfig& operator=(IOnnxConfig&&) = default;
};

}  // namespace nvonnxparser

namespace nvonnxparser {
TENSORRTAPI IOnnxConfig* createONNXConfig();
}
