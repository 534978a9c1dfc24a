#pragma once

#include <string>
#include <vector>

#include "api/engine.h"

namespace tenon::api {

/// The nodes of a plan that are layers: all but constants and integers of shapes.
std::vector<const Node*> layers_of(const Graph& graph);

/// "Row major linear FP32" and so on.
const char* format_description(const TensorType& type);

/// IEngineInspector: layers as JSON (the 10.x schema: Layers and Bindings) or one line each.
class Inspector final : public surface::Implementation<IEngineInspector> {
 public:
  explicit Inspector(const EngineHandle& engine) : engine_(engine) {}

  bool setExecutionContext(const IExecutionContext* context) noexcept override;
  const IExecutionContext* getExecutionContext() const noexcept override { return context_; }
  const char* getLayerInformation(int32_t index,
                                  LayerInformationFormat format) const noexcept override;
  const char* getEngineInformation(LayerInformationFormat format) const noexcept override;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept override { recorder_ = recorder; }
  IErrorRecorder* getErrorRecorder() const noexcept override { return recorder_; }

 private:
  const EngineHandle& engine_;
  const IExecutionContext* context_ = nullptr;
  IErrorRecorder* recorder_ = nullptr;
  mutable std::string text_;
};

}  // namespace tenon::api
