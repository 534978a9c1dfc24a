#include "api/inspector.h"

#include <algorithm>

#include "api/context.h"
#include "api/layer_description.h"
#include "api/layer_words.h"
#include "ops/ops.h"
#include "plan/branches.h"

namespace tenon::api {
namespace {

std::string suffix_of(int32_t profile) {
  return profile == 0 ? std::string() : fmt::format(" [profile {}]", profile);
}

/// The stream that a plan gives a node of its graph.
int stream_of(const Plan& plan, const Node& node) {
  const auto setting = plan.settings.find(kBranchesSetting);
  if (setting == plan.settings.end()) return 0;
  const auto nodes = plan.graph->nodes();
  const auto place = std::ranges::find(nodes, &node, &std::unique_ptr<Node>::get) - nodes.begin();
  const Branches branches = parse_branches(setting->second);
  const auto branch = branches.find(static_cast<int>(place));
  return branch == branches.end() ? 0 : branch->second.stream;
}

}  // namespace

std::vector<const Node*> layers_of(const Graph& graph) {
  std::vector<const Node*> layers;
  for (const auto& node : graph.nodes())
    if (!node->is<Constant>() && !node->is<tenon::Dims>()) layers.push_back(node.get());
  return layers;
}

bool Inspector::setExecutionContext(const IExecutionContext* context) noexcept {
  if (context != nullptr && &context->getEngine() != &engine_) {
    reporter_->report(user_error("setExecutionContext: the context is one of another engine"));
    return false;
  }
  context_ = context;
  return true;
}

std::vector<int32_t> Inspector::profiles() const {
  if (context_ != nullptr) return {std::max(context_->getOptimizationProfile(), 0)};
  std::vector<int32_t> all;
  for (int32_t i = 0; i < engine_.getNbOptimizationProfiles(); ++i) all.push_back(i);
  return all.empty() ? std::vector<int32_t>{0} : all;
}

std::optional<ConcreteGraph> Inspector::shapes() const {
  const auto* context = dynamic_cast<const ContextHandle*>(context_);
  if (context == nullptr) return std::nullopt;
  std::map<std::string, Extents> inputs;
  for (const Value* input : engine_.engine().graph().inputs()) {
    const nvinfer1::Dims dims = context->getTensorShape(input->name.c_str());
    if (std::any_of(dims.d, dims.d + std::max(dims.nbDims, 0), [](int64_t d) { return d < 0; }))
      return std::nullopt;
    inputs[input->name] = Extents(dims.d, dims.d + std::max(dims.nbDims, 0));
  }
  auto symbols = bind_inputs(engine_.engine().graph(), inputs);
  if (!symbols.ok()) return std::nullopt;
  const Graph& form = *engine_.engine().serving(*symbols).graph;
  auto concrete = ConcreteGraph::create(form, std::move(symbols).value());
  if (!concrete.ok()) return std::nullopt;
  return std::move(concrete).value();
}

Inspector::Json Inspector::described(const Node& node, int32_t profile,
                                     const ConcreteGraph* shapes) const {
  const std::string suffix = suffix_of(profile);
  if (engine_.getProfilingVerbosity() != ProfilingVerbosity::kDETAILED) return node.name + suffix;
  const TacticTable* const tactics =
      shapes == nullptr ? nullptr : engine_.engine().serving(shapes->symbols()).tactics;
  const Plan& plan = engine_.engine().plan();
  return describe_layer(node, {shapes, suffix, stream_of(plan, node), tactics, &metadata_});
}

const char* Inspector::getLayerInformation(int32_t index,
                                           LayerInformationFormat format) const noexcept {
  return reporter_->guarded("getLayerInformation", "", [&] {
    const auto layers = layers_of(engine_.engine().graph());
    const bool silent = engine_.getProfilingVerbosity() == ProfilingVerbosity::kNONE;
    if (index < 0 || index >= static_cast<int32_t>(layers.size())) {
      reporter_->report(user_error("getLayerInformation: there is no layer {}, the engine has {}",
                                   index, layers.size()));
      return "";
    }
    if (silent) return "";
    const std::optional<ConcreteGraph> extents = shapes();
    const bool is_known = extents && &extents->graph() == &engine_.engine().graph();
    Json json = described(*layers[index], profiles()[0], is_known ? &*extents : nullptr);
    const bool as_json = format == LayerInformationFormat::kJSON;
    if (as_json && json.is_object()) json["Kind"] = kind_of(*layers[index]);
    text_ = as_json ? json_text(json, 2) : one_line(json);
    return text_.c_str();
  });
}

const char* Inspector::getEngineInformation(LayerInformationFormat format) const noexcept {
  return reporter_->guarded("getEngineInformation", "", [&] {
    text_ = engine_text(format);
    return text_.c_str();
  });
}

std::string Inspector::engine_text(LayerInformationFormat format) const {
  const bool as_json = format == LayerInformationFormat::kJSON;
  const std::optional<ConcreteGraph> extents = shapes();
  Json layers = Json::array(), bindings = Json::array();
  for (const int32_t profile : profiles()) {
    for (const Node* node : layers_of(extents ? extents->graph() : engine_.engine().graph())) {
      if (engine_.getProfilingVerbosity() == ProfilingVerbosity::kNONE) continue;
      layers.push_back(described(*node, profile, extents ? &*extents : nullptr));
      if (as_json && layers.back().is_object()) layers.back()["Kind"] = kind_of(*node);
    }
    for (int32_t i = 0; i < engine_.getNbIOTensors(); ++i)
      bindings.push_back(engine_.getIOTensorName(i) + suffix_of(profile));
  }
  if (as_json) return json_text({{"Layers", layers}, {"Bindings", bindings}}, 2);
  std::string text = "Layers:\n";
  for (const Json& layer : layers) text += one_line(layer) + "\n";
  text += "\nBindings:\n";
  for (const Json& binding : bindings) text += one_line(binding) + "\n";
  return text;
}

}  // namespace tenon::api
