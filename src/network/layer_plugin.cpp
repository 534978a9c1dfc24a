// Plugins of the application.
#include "network/convert.h"
#include "network/network.h"
#include "ops/structure.h"
#include "plugin/instance.h"

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
    auto op = describe(values);
    if (!op.ok()) {
      e.fail(op.error());
      return std::vector<Value*>(this->results().size(), nullptr);
    }
    std::vector<Value*> outputs = e.add_node(std::make_unique<Plugin>(std::move(op).value()),
                                             std::move(values), instance_->output_count());
    outputs.resize(this->results().size(), nullptr);
    return outputs;
  }

 private:
  Result<Plugin> describe(const std::vector<Value*>& values) {
    const plugin::Identity identity = instance_->identity();
    Plugin op;
    op.type = identity.type;
    op.version = identity.version;
    op.space = identity.space;
    op.inputs = inputs_;
    TENON_ASSIGN(op.fields, instance_->serialized());
    std::vector<PublicType> types;
    std::vector<nvinfer1::Dims> dims;
    std::vector<plugin::OperandType> operands;
    std::vector<int32_t> shape_counts;
    for (size_t i = 0; i < values.size(); ++i) {
      const TensorType& type = values[i]->type;
      const nvinfer1::Dims extents = to_dims(type.shape);
      if (i >= static_cast<size_t>(inputs_)) {
        shape_counts.push_back(static_cast<int32_t>(extents.nbDims == 0 ? 1 : extents.d[0]));
        continue;
      }
      types.push_back(to_public(type.type).value_or(PublicType::kFLOAT));
      dims.push_back(extents);
      operands.push_back({extents, types.back()});
    }
    TENON_ASSIGN(const std::vector<PublicType> outputs, instance_->output_types(types));
    TENON_ASSIGN(op.output_shapes, instance_->output_shapes(dims, shape_counts));
    for (const PublicType type : outputs) {
      op.output_types.push_back(static_cast<int64_t>(from_public(type)));
      operands.push_back({nvinfer1::Dims{-1, {}}, type});
    }
    TENON_TRY(instance_->check_formats(operands, inputs_));
    return op;
  }

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
  auto instance = Instance::clone_of(plugin);
  if (!instance.ok()) {
    reporter_->report(std::move(instance).error().with_context("addPluginV2"));
    return nullptr;
  }
  const int outputs = (*instance)->output_count();
  return insert<PluginV2Layer>("addPluginV2", std::vector<ITensor*>(inputs, inputs + nbInputs),
                               outputs, plugin, std::move(instance).value(), nbInputs);
}

IPluginV3Layer* Network::addPluginV3(ITensor* const* inputs, int32_t nbInputs,
                                     ITensor* const* shapeInputs, int32_t nbShapeInputs,
                                     IPluginV3& plugin) noexcept {
  if (!require(nbInputs >= 0 && (inputs != nullptr || nbInputs == 0), "addPluginV3", "inputs") ||
      !require(nbShapeInputs >= 0 && (shapeInputs != nullptr || nbShapeInputs == 0), "addPluginV3",
               "shape inputs"))
    return nullptr;
  auto instance = Instance::clone_of(plugin);
  if (!instance.ok()) {
    reporter_->report(std::move(instance).error().with_context("addPluginV3"));
    return nullptr;
  }
  std::vector<ITensor*> operands(inputs, inputs + nbInputs);
  operands.insert(operands.end(), shapeInputs, shapeInputs + nbShapeInputs);
  const int outputs = (*instance)->output_count();
  return insert<PluginV3Layer>("addPluginV3", operands, outputs, plugin,
                               std::move(instance).value(), nbInputs);
}

}  // namespace tenon::network
