// Plugins of the application.
#include "network/adopt.h"
#include "network/network.h"
#include "network/node_plugin.h"
#include "network/plugin_node.h"

namespace tenon::network {
namespace {

using plugin::Instance;

/// Operands: the plugin's inputs, then its shape inputs.
template <class Interface, LayerType kType, class PluginObject>
class PluginLayer final : public LayerOf<Interface, kType> {
 public:
  PluginLayer(Network& network, PluginObject& plugin, std::unique_ptr<Instance> instance,
              int32_t inputs)
      : LayerOf<Interface, kType>(network),
        plugin_(plugin),
        instance_(std::move(instance)),
        inputs_(inputs) {}
  PluginObject& getPlugin() noexcept override { return plugin_; }

  std::vector<Value*> lower(Emitter& e) override {
    auto made = add_plugin(e, *instance_, this->all_in(), inputs_);
    if (!made.ok()) e.fail(made.error());
    std::vector<Value*> outputs;
    if (made.ok()) outputs = std::move(made).value();
    outputs.resize(this->results().size(), nullptr);
    return outputs;
  }

 private:
  PluginObject& plugin_;
  std::unique_ptr<Instance> instance_;
  int32_t inputs_;
};

using PluginV2Layer = PluginLayer<nvinfer1::IPluginV2Layer, LayerType::kPLUGIN_V2, IPluginV2>;
using PluginV3Layer = PluginLayer<nvinfer1::IPluginV3Layer, LayerType::kPLUGIN_V3, IPluginV3>;

plugin::Identity identity_of(const Plugin& op) {
  return {op.type, op.version, op.space};
}

/// Of a model, with the object that its creator makes when a program asks for it.
class ModelPluginV3 final : public LayerOf<nvinfer1::IPluginV3Layer, LayerType::kPLUGIN_V3> {
 public:
  ModelPluginV3(Network& network, const Plugin& op)
      : LayerOf(network), op_(op), stand_in_(*this, op.type) {
    forbid_changes();
  }
  nvinfer1::IPluginV3& getPlugin() noexcept override {
    if (!asked_) network().reporter().guarded_call("getPlugin", [&] { make(); });
    nvinfer1::IPluginV3* made = instance_ == nullptr ? nullptr : instance_->third_generation();
    return made == nullptr ? stand_in_ : *made;
  }
  std::vector<Value*> lower(Emitter&) override { return {}; }

 private:
  void make() {
    asked_ = true;
    auto made = Instance::create(identity_of(op_), op_.fields);
    if (!made.ok()) return network().reporter().report(made.error());
    instance_ = std::move(made).value();
  }

  Plugin op_;
  NodePlugin stand_in_;  ///< Where its creator is gone, or makes nothing of the fields.
  std::unique_ptr<Instance> instance_;
  bool asked_ = false;
};

class ModelPluginV2 final : public LayerOf<nvinfer1::IPluginV2Layer, LayerType::kPLUGIN_V2> {
 public:
  ModelPluginV2(Network& network, std::unique_ptr<Instance> instance)
      : LayerOf(network), instance_(std::move(instance)) {
    forbid_changes();
  }
  IPluginV2& getPlugin() noexcept override { return *instance_->second_generation(); }
  std::vector<Value*> lower(Emitter&) override { return {}; }

 private:
  std::unique_ptr<Instance> instance_;
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node& node, const Plugin& op) {
  if (!Instance::is_second_generation(identity_of(op)))
    return std::make_unique<ModelPluginV3>(network, op);
  auto made = Instance::create(identity_of(op), op.fields);
  if (!made.ok() || (*made)->second_generation() == nullptr) return adopt_other(network, node);
  return std::make_unique<ModelPluginV2>(network, std::move(made).value());
}

IPluginV2Layer* Network::addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                                     IPluginV2& plugin) noexcept {
  if (!require(nbInputs >= 0 && (inputs != nullptr || nbInputs == 0), "addPluginV2", "inputs"))
    return nullptr;
  return reporter_->guarded("addPluginV2", nullptr, [&]() -> IPluginV2Layer* {
    auto instance = Instance::clone_of(plugin);
    if (!instance.ok()) {
      reporter_->report(std::move(instance).error().with_context("addPluginV2"));
      return nullptr;
    }
    const int outputs = (*instance)->output_count();
    return insert<PluginV2Layer>("addPluginV2", std::span(inputs, static_cast<size_t>(nbInputs)),
                                 outputs, plugin, std::move(instance).value(), nbInputs);
  });
}

IPluginV3Layer* Network::addPluginV3(ITensor* const* inputs, int32_t nbInputs,
                                     ITensor* const* shapeInputs, int32_t nbShapeInputs,
                                     IPluginV3& plugin) noexcept {
  if (!require(nbInputs >= 0 && (inputs != nullptr || nbInputs == 0), "addPluginV3", "inputs") ||
      !require(nbShapeInputs >= 0 && (shapeInputs != nullptr || nbShapeInputs == 0), "addPluginV3",
               "shape inputs"))
    return nullptr;
  return reporter_->guarded("addPluginV3", nullptr, [&]() -> IPluginV3Layer* {
    auto instance = Instance::clone_of(plugin);
    if (!instance.ok()) {
      reporter_->report(std::move(instance).error().with_context("addPluginV3"));
      return nullptr;
    }
    std::vector<ITensor*> operands(inputs, inputs + nbInputs);
    operands.insert(operands.end(), shapeInputs, shapeInputs + nbShapeInputs);
    const int outputs = (*instance)->output_count();
    return insert<PluginV3Layer>("addPluginV3", std::span<ITensor* const>(operands), outputs,
                                 plugin, std::move(instance).value(), nbInputs);
  });
}

}  // namespace tenon::network
