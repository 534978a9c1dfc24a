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
  /// Sets the type that the model should be imported in. Nothing reads it. Default: kFLOAT.
  virtual void setModelDtype(const nvinfer1::DataType) noexcept = 0;
  /// Returns the type that the model should be imported in. Nothing reads it. Default: kFLOAT.
  virtual nvinfer1::DataType getModelDtype() const noexcept = 0;
  /// Returns the model's file name; it is copied. Nothing reads it. Default: "".
  virtual const char* getModelFileName() const noexcept = 0;
  /// Sets the model's file name; it is copied. Nothing reads it. Default: "".
  virtual void setModelFileName(const char* onnxFilename) noexcept = 0;
  /// Returns the verbosity. Nothing reads it. Default: that of warnings.
  virtual IOnnxConfig::Verbosity getVerbosityLevel() const noexcept = 0;
  /// Raises the verbosity by one.
  virtual void addVerbosity() noexcept = 0;
  /// Lowers the verbosity by one.
  virtual void reduceVerbosity() noexcept = 0;
  /// Sets the verbosity. Nothing reads it. Default: that of warnings.
  virtual void setVerbosityLevel(IOnnxConfig::Verbosity) noexcept = 0;
  /// Returns the name of a file for text; it is copied. Nothing reads it. Default: "".
  virtual const char* getTextFileName() const noexcept = 0;
  /// Sets the name of a file for text; it is copied. Nothing reads it. Default: "".
  virtual void setTextFileName(const char* textFileName) noexcept = 0;
  /// Returns the name of a file for text with weights; it is copied. Nothing reads it. Default: "".
  virtual const char* getFullTextFileName() const noexcept = 0;
  /// Sets the name of a file for text with weights; it is copied. Nothing reads it. Default: "".
  virtual void setFullTextFileName(const char* fullTextFileName) noexcept = 0;
  /// Returns whether layers should be printed. Nothing reads it. Default: false.
  virtual bool getPrintLayerInfo() const noexcept = 0;
  /// Sets whether layers should be printed. Nothing reads it. Default: false.
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
/// Makes a set of settings with their defaults, to be freed with delete. Nothing in the library
/// reads them.
TENSORRTAPI IOnnxConfig* createONNXConfig();
}  // namespace nvonnxparser
