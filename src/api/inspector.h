#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/engine.h"
#include "api/layer_metadata.h"
#include "plan/concrete_graph.h"

namespace tenon::api {

/// The nodes of a plan that are layers: all but constants and integers of shapes.
std::vector<const Node*> layers_of(const Graph& graph);

/// IEngineInspector: layers as JSON (the 10.x schema: Layers and Bindings) or one line each. With
/// an execution context they have its extents and kernels and are those of its profile; without one
/// extents that are not fixed are -1, and each profile has its layers, named "... [profile N]" from
/// the second one on.
class Inspector final : public network::Reported<IEngineInspector> {
 public:
  explicit Inspector(const EngineHandle& engine)
      : Reported(std::make_shared<network::Reporter>(engine.reporter().logger())), engine_(engine) {
    reporter_->set_recorder(engine.reporter().recorder());
  }

  bool setExecutionContext(const IExecutionContext* context) noexcept override;
  const IExecutionContext* getExecutionContext() const noexcept override { return context_; }
  const char* getLayerInformation(int32_t index,
                                  LayerInformationFormat format) const noexcept override;
  const char* getEngineInformation(LayerInformationFormat format) const noexcept override;

 private:
  using Json = nlohmann::ordered_json;
  std::string engine_text(LayerInformationFormat format) const;
  /// The profiles that are spoken of: the context's, or all.
  std::vector<int32_t> profiles() const;
  /// The context's, where its shapes are set.
  std::optional<ConcreteGraph> shapes() const;
  Json described(const Node& node, int32_t profile, const ConcreteGraph* shapes) const;

  const EngineHandle& engine_;
  const IExecutionContext* context_ = nullptr;
  const LayerMetadata metadata_ = metadata_of(engine_.engine().plan());
  mutable std::string text_;
};

}  // namespace tenon::api
