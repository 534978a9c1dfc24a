#pragma once

#include <map>
#include <set>
#include <string>

#include "NvOnnxParser.h"
#include "ir/tensor.h"
#include "network/fixed_weights.h"
#include "onnx/loaded_model.h"
#include "onnx/parser_error.h"

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace tenon::importer {

class TensorReader;

/// IParserRefitter: hands the weights of a model to a refitter, by name. Their bytes stay here
/// until the next model.
class ParserRefitter final : public nvonnxparser::IParserRefitter {
 public:
  ParserRefitter(nvinfer1::IRefitter& refitter, nvinfer1::ILogger& logger)
      : refitter_(refitter),
        logger_(logger),
        errors_(logger),
        fixed_(dynamic_cast<const network::FixedWeights*>(&refitter)) {}

  bool refitFromBytes(const void* model, size_t size, const char* path) noexcept override;
  bool refitFromFile(const char* path) noexcept override;
  int32_t getNbErrors() const noexcept override { return errors_.size(); }
  const nvonnxparser::IParserError* getError(int32_t index) const noexcept override {
    return errors_.get(index);
  }
  void clearErrors() override { errors_.clear(); }
  bool loadModelProto(const void* model, size_t size, const char* path) noexcept override;
  bool loadInitializer(const char* name, const void* data, size_t size) noexcept override;
  bool refitModelProto() noexcept override;

 private:
  Status refit(std::span<const std::byte> bytes, const ImportRequest& request);
  /// A model, and the place in it: names inside of functions carry the call in front.
  struct Source;
  struct Place;
  Status refit_graph(const ::onnx::GraphProto& graph, Source& source, const Place& place);
  Status refit_node(const ::onnx::NodeProto& node, Source& source, const Place& place);
  Status refit_constant(const ::onnx::NodeProto& node, Source& source, const std::string& name);
  Status refit_derived(const Graph& graph);
  Status set(const std::string& name, const Tensor& tensor);
  /// Notes integers that the engine was built with in another form.
  void compare_fixed(const std::string& name, const Tensor& tensor);
  bool is_fixed(const std::string& name) const {
    return fixed_ != nullptr && fixed_->fixed_weights(name) != nullptr;
  }
  bool finish(const Status& status);

  nvinfer1::IRefitter& refitter_;
  nvinfer1::ILogger& logger_;
  ParserErrors errors_;
  const network::FixedWeights* fixed_;  ///< Of the refitter; null for another library's.
  LoadedModel loaded_;
  std::vector<std::string> changed_;       ///< Fixed weights that differ.
  std::set<std::string> wanted_;           ///< The weights that can be refitted.
  std::map<std::string, Tensor> weights_;  ///< The weights given.
};

}  // namespace tenon::importer
