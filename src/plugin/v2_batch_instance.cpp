// IPluginV2Ext and IPluginV2IOExt: plugins that are told of extents without the batch, which is the
// first axis of every operand.
#include <algorithm>

#include "plugin/v2_object.h"

namespace tenon::plugin {
namespace {

using namespace nvinfer1;

Dims without_batch(const Dims& dims) {
  Dims rest{std::max(dims.nbDims - 1, 0), {}};
  std::copy_n(dims.d + 1, rest.nbDims, rest.d);
  return rest;
}

PluginTensorDesc without_batch(PluginTensorDesc tensor) {
  tensor.dims = without_batch(tensor.dims);
  return tensor;
}

/// The operands that either interface is configured with.
struct Configuration {
  std::vector<PluginTensorDesc> inputs, outputs;  ///< Without the batch.
  int32_t batch = 1;
};

class BatchInstance final : public V2Object<IPluginV2Ext> {
 public:
  /// `with_types`: it is an IPluginV2IOExt.
  BatchInstance(OwnedV2 owned, bool with_types)
      : V2Object(std::move(owned)),
        with_types_(with_types ? static_cast<IPluginV2IOExt*>(plugin_) : nullptr) {}

  Result<Words> output_shapes(std::span<const Dims> inputs, std::span<const int32_t>) override {
    TENON_ASSIGN(const std::vector<Dims> outputs, output_dims(inputs));
    ExpressionBuilder builder(output_count());
    Words words;
    for (const Dims& dims : outputs) {
      DimsExprs extents{dims.nbDims + 1, {}};
      extents.d[0] = builder.extents(0, inputs[0]).d[0];
      for (int32_t i = 0; i < dims.nbDims; ++i) extents.d[i + 1] = builder.constant(dims.d[i]);
      if (!append_shape(words, extents)) return failed("getOutputDimensions left an extent open");
    }
    return words;
  }

  bool takes(int32_t position, std::span<const OperandType> operands, int32_t inputs) override {
    const OperandType& asked = operands[static_cast<size_t>(position)];
    if (with_types_ == nullptr)  // One format for all.
      return asked.format == operands[0].format &&
             plugin_->supportsFormat(asked.type, asked.format);
    std::vector<PluginTensorDesc> all;
    for (const DynamicPluginTensorDesc& wide : dynamic_descriptions(operands))
      all.push_back(without_batch(wide.desc));
    return with_types_->supportsFormatCombination(position, all.data(), inputs,
                                                  static_cast<int32_t>(all.size()) - inputs);
  }

  Status configure(std::span<const OperandType> operands, int32_t inputs) override {
    std::vector<Dims> extents;
    Configuration configuration;
    for (const DynamicPluginTensorDesc& wide : dynamic_descriptions(operands)) {
      const bool is_input = extents.size() < static_cast<size_t>(inputs);
      (is_input ? configuration.inputs : configuration.outputs).push_back(without_batch(wide.desc));
      if (is_input) extents.push_back(wide.desc.dims);
    }
    TENON_ASSIGN(const std::vector<Dims> outputs, output_dims(extents));
    for (size_t i = 0; i < outputs.size(); ++i) configuration.outputs[i].dims = outputs[i];
    if (!extents.empty() && extents[0].nbDims > 0) {
      const Dims& most = operands[0].bounds ? operands[0].bounds->max : extents[0];
      configuration.batch = static_cast<int32_t>(std::max<int64_t>(most.d[0], 1));
    }
    tell(configuration);
    return {};
  }

  Status prepare(std::span<const PluginTensorDesc> inputs,
                 std::span<const PluginTensorDesc> outputs, int32_t,
                 IPluginResourceContext*) override {
    Configuration configuration;
    for (const PluginTensorDesc& tensor : inputs)
      configuration.inputs.push_back(without_batch(tensor));
    for (const PluginTensorDesc& tensor : outputs)
      configuration.outputs.push_back(without_batch(tensor));
    configuration.batch = batch_of(inputs);
    tell(configuration);
    TENON_TRY(initialize());
    workspace_ = plugin_->getWorkspaceSize(configuration.batch);
    return {};
  }

  Status enqueue(std::span<const PluginTensorDesc> inputs, std::span<const PluginTensorDesc>,
                 const void* const* input_data, void* const* output_data, void* workspace,
                 void* stream) override {
    if (plugin_->enqueue(batch_of(inputs), input_data, output_data, workspace,
                         static_cast<cudaStream_t>(stream)) != 0)
      return failed("enqueue failed");
    return {};
  }

 private:
  static int32_t batch_of(std::span<const PluginTensorDesc> inputs) {
    return inputs.empty() || inputs[0].dims.nbDims == 0 ? 1
                                                        : static_cast<int32_t>(inputs[0].dims.d[0]);
  }

  /// Without the batch. An error where an input has another axis that is not constant.
  Result<std::vector<Dims>> output_dims(std::span<const Dims> inputs) {
    std::vector<Dims> rest;
    for (const Dims& dims : inputs) {
      if (dims.nbDims < 1) return failed("has a scalar input, which has no batch");
      rest.push_back(without_batch(dims));
      if (std::any_of(rest.back().d, rest.back().d + rest.back().nbDims,
                      [](int64_t e) { return e < 0; }))
        return failed(
            "is an IPluginV2Ext, whose inputs are constant but for the batch; an "
            "IPluginV2DynamicExt or IPluginV3 "
            "takes dynamic extents");
    }
    if (rest.empty()) return failed("has no inputs, so that its batch is not known");
    std::vector<Dims> outputs;
    for (int32_t i = 0; i < output_count(); ++i)
      outputs.push_back(
          plugin_->getOutputDimensions(i, rest.data(), static_cast<int32_t>(rest.size())));
    return outputs;
  }

  void tell(const Configuration& c) {
    const auto in = static_cast<int32_t>(c.inputs.size()),
               out = static_cast<int32_t>(c.outputs.size());
    if (with_types_ != nullptr)
      return with_types_->configurePlugin(c.inputs.data(), in, c.outputs.data(), out);
    std::vector<Dims> input_dims, output_dims;
    std::vector<DataType> input_types, output_types;
    for (const PluginTensorDesc& tensor : c.inputs) {
      input_dims.push_back(tensor.dims);
      input_types.push_back(tensor.type);
    }
    for (const PluginTensorDesc& tensor : c.outputs) {
      output_dims.push_back(tensor.dims);
      output_types.push_back(tensor.type);
    }
    const auto none =
        std::make_unique<bool[]>(static_cast<size_t>(std::max(in, out)));  // Nothing is broadcast.
    plugin_->configurePlugin(input_dims.data(), in, output_dims.data(), out, input_types.data(),
                             output_types.data(), none.get(), none.get(),
                             c.inputs.empty() ? PluginFormat::kLINEAR : c.inputs[0].format,
                             c.batch);
  }

  IPluginV2IOExt* with_types_;  ///< The same object, or null.
};

}  // namespace

std::unique_ptr<Instance> make_batch_instance(OwnedV2 owned, bool with_types) {
  return std::make_unique<BatchInstance>(std::move(owned), with_types);
}

}  // namespace tenon::plugin
