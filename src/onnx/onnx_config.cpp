// IOnnxConfig: settings that an application keeps for itself: no function of the API takes them.
#include <string>

#include "NvOnnxConfig.h"

namespace tenon::importer {
namespace {

class OnnxConfig final : public nvonnxparser::IOnnxConfig {
 public:
  void setModelDtype(const nvinfer1::DataType type) noexcept override { type_ = type; }
  nvinfer1::DataType getModelDtype() const noexcept override { return type_; }
  const char* getModelFileName() const noexcept override { return model_.c_str(); }
  void setModelFileName(const char* name) noexcept override { model_ = text(name); }
  Verbosity getVerbosityLevel() const noexcept override { return verbosity_; }
  void addVerbosity() noexcept override { ++verbosity_; }
  void reduceVerbosity() noexcept override { --verbosity_; }
  void setVerbosityLevel(Verbosity level) noexcept override { verbosity_ = level; }
  const char* getTextFileName() const noexcept override { return text_.c_str(); }
  void setTextFileName(const char* name) noexcept override { text_ = text(name); }
  const char* getFullTextFileName() const noexcept override { return full_text_.c_str(); }
  void setFullTextFileName(const char* name) noexcept override { full_text_ = text(name); }
  bool getPrintLayerInfo() const noexcept override { return print_layers_; }
  void setPrintLayerInfo(bool print) noexcept override { print_layers_ = print; }

 private:
  static std::string text(const char* name) { return name == nullptr ? "" : name; }

  nvinfer1::DataType type_ = nvinfer1::DataType::kFLOAT;
  Verbosity verbosity_ = static_cast<Verbosity>(nvinfer1::ILogger::Severity::kWARNING);
  std::string model_, text_, full_text_;
  bool print_layers_ = false;
};

}  // namespace
}  // namespace tenon::importer

namespace nvonnxparser {
TENSORRTAPI IOnnxConfig* createONNXConfig() {
  return new tenon::importer::OnnxConfig;
}
}  // namespace nvonnxparser
