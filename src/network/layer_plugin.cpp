// Plugins of the application.
#include "network/network.h"
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
    std::vector<Value*> values;
    for (int i = 0; i < this->operand_count(); ++i) values.push_back(this->in(i));
    auto made = add_plugin(e, *instance_, std::move(values), inputs_);
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

}  // namespace

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
