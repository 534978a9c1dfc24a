// IPluginV2DynamicExt.
#include "plugin/v2_object.h"

namespace tenon::plugin {
namespace {

using namespace nvinfer1;

class V2Instance final : public V2Object<IPluginV2DynamicExt> {
 public:
  using V2Object::V2Object;

  Result<Words> output_shapes(std::span<const Dims> inputs, std::span<const int32_t>) override {
    ExpressionBuilder builder(output_count());
    std::vector<DimsExprs> extents;
    for (const Dims& dims : inputs)
      extents.push_back(builder.extents(static_cast<int64_t>(extents.size()), dims));
    Words words;
    for (int32_t i = 0; i < output_count(); ++i) {
      const DimsExprs shape = plugin_->getOutputDimensions(
          i, extents.data(), static_cast<int32_t>(extents.size()), builder);
      if (!append_shape(words, shape)) return failed("getOutputDimensions left an extent open");
    }
    return words;
  }

  bool takes(int32_t position, std::span<const OperandType> operands, int32_t inputs) override {
    std::vector<PluginTensorDesc> all;
    for (const DynamicPluginTensorDesc& wide : dynamic_descriptions(operands))
      all.push_back(wide.desc);
    return plugin_->supportsFormatCombination(position, all.data(), inputs,
                                              static_cast<int32_t>(all.size()) - inputs);
  }

  Status configure(std::span<const OperandType> operands, int32_t inputs) override {
    const auto all = dynamic_descriptions(operands);
    plugin_->configurePlugin(all.data(), inputs, all.data() + inputs,
                             static_cast<int32_t>(all.size()) - inputs);
    return {};
  }

  Status prepare(std::span<const PluginTensorDesc> inputs,
                 std::span<const PluginTensorDesc> outputs, int32_t,
                 IPluginResourceContext*) override {
    const auto in = static_cast<int32_t>(inputs.size()), out = static_cast<int32_t>(outputs.size());
    const auto wide_in = dynamic_descriptions(inputs), wide_out = dynamic_descriptions(outputs);
    // As where a plan is loaded: once for the object, then for each set of shapes.
    TENON_TRY(initialize());
    plugin_->configurePlugin(wide_in.data(), in, wide_out.data(), out);
    workspace_ = plugin_->getWorkspaceSize(inputs.data(), in, outputs.data(), out);
    return {};
  }

  Status enqueue(std::span<const PluginTensorDesc> inputs,
                 std::span<const PluginTensorDesc> outputs, const void* const* input_data,
                 void* const* output_data, void* workspace, void* stream) override {
    if (plugin_->enqueue(inputs.data(), outputs.data(), input_data, output_data, workspace,
                         static_cast<cudaStream_t>(stream)) != 0)
      return failed("enqueue failed");
    return {};
  }
};

}  // namespace

std::unique_ptr<Instance> make_dynamic_instance(OwnedV2 owned) {
  return std::make_unique<V2Instance>(std::move(owned));
}

}  // namespace tenon::plugin
