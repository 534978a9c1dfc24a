// IPluginV3.
#include <utility>

#include "plugin/instance.h"

namespace tenon::plugin {
namespace {

using namespace nvinfer1;

/// The capability; null where there is none, or one of another interface ("quick" plugins have
/// those).
template <class Capability>
Capability* capability_of(IPluginV3& plugin, PluginCapabilityType type, std::string_view kind) {
  IPluginCapability* found = plugin.getCapabilityInterface(type);
  if (found == nullptr) return nullptr;
  const char* own = found->getInterfaceInfo().kind;
  return own != nullptr && own == kind ? static_cast<Capability*>(found) : nullptr;
}
IPluginV3OneCore* core_of(IPluginV3& plugin) {
  return capability_of<IPluginV3OneCore>(plugin, PluginCapabilityType::kCORE, "PLUGIN_V3ONE_CORE");
}
IPluginV3OneBuild* build_of(IPluginV3& plugin) {
  return capability_of<IPluginV3OneBuild>(plugin, PluginCapabilityType::kBUILD,
                                          "PLUGIN_V3ONE_BUILD");
}
IPluginV3OneRuntime* runtime_of(IPluginV3& plugin) {
  return capability_of<IPluginV3OneRuntime>(plugin, PluginCapabilityType::kRUNTIME,
                                            "PLUGIN_V3ONE_RUNTIME");
}

class V3Instance final : public Instance {
 public:
  explicit V3Instance(std::unique_ptr<IPluginV3> owned)
      : plugin_(std::move(owned)),
        core_(core_of(*plugin_)),
        build_(build_of(*plugin_)),
        runtime_(runtime_of(*plugin_)) {}
  /// Objects made to run may lack the build interface: `other` is asked, made of the same fields.
  void ask_for_building(IPluginV3* other) {
    builder_.reset(other);
    if (other != nullptr) build_ = build_of(*other);
  }
  bool builds() const override { return build_ != nullptr; }
  IPluginV3* third_generation() override { return builder_ ? builder_.get() : plugin_.get(); }
  Status check() const {
    if (core_ == nullptr || runtime_ == nullptr)
      return user_error(
          "the plugin has no capability kCORE or kRUNTIME: they are IPluginV3OneCore and "
          "IPluginV3OneRuntime, with the interface information that these have");
    return {};
  }

  tenon::plugin::Identity identity() const override {
    return {core_->getPluginName(), core_->getPluginVersion(), core_->getPluginNamespace()};
  }
  int32_t output_count() const override { return build_ == nullptr ? 0 : build_->getNbOutputs(); }

  Result<std::vector<DataType>> output_types(std::span<const DataType> inputs) override {
    if (build_ == nullptr) return failed("has no capability kBUILD");
    knows_types_ = true;
    std::vector<DataType> types(static_cast<size_t>(output_count()));
    if (build_->getOutputDataTypes(types.data(), output_count(), inputs.data(),
                                   static_cast<int32_t>(inputs.size())) != 0)
      return failed("getOutputDataTypes refused its inputs");
    return types;
  }

  Result<Words> output_shapes(std::span<const Dims> inputs,
                              std::span<const int32_t> shape_inputs) override {
    ExpressionBuilder builder(output_count());
    std::vector<DimsExprs> extents, contents, results(static_cast<size_t>(output_count()));
    for (const Dims& dims : inputs)
      extents.push_back(builder.extents(static_cast<int64_t>(extents.size()), dims));
    for (const int32_t count : shape_inputs)
      contents.push_back(
          builder.elements(static_cast<int64_t>(extents.size() + contents.size()), count));
    const int32_t status = build_->getOutputShapes(
        extents.data(), static_cast<int32_t>(extents.size()), contents.data(),
        static_cast<int32_t>(contents.size()), results.data(), output_count(), builder);
    if (status != 0) return failed("getOutputShapes refused its inputs");
    Words words;
    for (const DimsExprs& shape : results)
      if (!append_shape(words, shape)) return failed("getOutputShapes left an extent open");
    return words;
  }

  bool takes(int32_t position, std::span<const OperandType> operands, int32_t inputs) override {
    if (build_ == nullptr) return false;
    tell_types(operands.first(static_cast<size_t>(inputs)));
    const std::vector<DynamicPluginTensorDesc> all = dynamic_descriptions(operands);
    return build_->supportsFormatCombination(position, all.data(), inputs,
                                             static_cast<int32_t>(all.size()) - inputs);
  }

  int32_t combination_limit() override {
    return build_ == nullptr ? 0 : build_->getFormatCombinationLimit();
  }

  Status configure(std::span<const OperandType> operands, int32_t inputs) override {
    if (build_ == nullptr) return {};
    const std::vector<DynamicPluginTensorDesc> all = dynamic_descriptions(operands);
    if (build_->configurePlugin(all.data(), inputs, all.data() + inputs,
                                static_cast<int32_t>(all.size()) - inputs) != 0)
      return failed("configurePlugin refused its operands");
    return {};
  }

  std::vector<int32_t> aliased_inputs() override {
    std::vector<int32_t> inputs(static_cast<size_t>(output_count()), -1);
    if (build_ == nullptr || build_->getInterfaceInfo().major < 2) return inputs;
    auto* second = static_cast<IPluginV3OneBuildV2*>(build_);
    for (int32_t i = 0; i < output_count(); ++i)
      inputs[static_cast<size_t>(i)] = second->getAliasedInput(i);
    return inputs;
  }

  std::vector<int32_t> tactics() override {
    if (build_ == nullptr) return {};
    std::vector<int32_t> numbers(static_cast<size_t>(std::max(build_->getNbTactics(), 0)));
    if (!numbers.empty() && build_->getValidTactics(numbers.data(), build_->getNbTactics()) != 0)
      return {};
    return numbers;
  }

  std::string timing_id() override {
    const char* id = build_ == nullptr ? nullptr : build_->getTimingCacheID();
    return id == nullptr ? std::string() : std::string(id);
  }

  Result<std::string> serialized() override {
    const PluginFieldCollection* fields = runtime_->getFieldsToSerialize();
    return fields == nullptr ? std::string() : fields_to_text(*fields);
  }

  Status prepare(std::span<const PluginTensorDesc> inputs,
                 std::span<const PluginTensorDesc> outputs, int32_t tactic,
                 IPluginResourceContext* resources) override {
    const auto in = static_cast<int32_t>(inputs.size()), out = static_cast<int32_t>(outputs.size());
    if (build_ != nullptr) {
      tell_types(inputs);
      const auto wide_in = dynamic_descriptions(inputs), wide_out = dynamic_descriptions(outputs);
      if (build_->configurePlugin(wide_in.data(), in, wide_out.data(), out) != 0)
        return failed("configurePlugin refused its operands");
      workspace_ = build_->getWorkspaceSize(wide_in.data(), in, wide_out.data(), out);
    }
    if (attached_ == nullptr) attached_.reset(runtime_->attachToContext(resources));
    if (attached_ != nullptr) active_ = runtime_of(*attached_);
    if (active_ == nullptr) return failed("attachToContext gave nothing");
    if (tactic != kNoTactic && active_->setTactic(tactic) != 0)
      return failed(fmt::format("setTactic refused {}", tactic));
    if (active_->onShapeChange(inputs.data(), in, outputs.data(), out) != 0)
      return failed("onShapeChange refused its operands");
    return {};
  }
  size_t workspace_bytes() const override { return workspace_; }

  Status enqueue(std::span<const PluginTensorDesc> inputs,
                 std::span<const PluginTensorDesc> outputs, const void* const* input_data,
                 void* const* output_data, void* workspace, void* stream) override {
    if (active_->enqueue(inputs.data(), outputs.data(), input_data, output_data, workspace,
                         static_cast<cudaStream_t>(stream)) != 0)
      return failed("enqueue failed");
    return {};
  }

 private:
  /// Plugins may keep the types that they were told when their layer was added, and their fields
  /// need not hold these: an object that a creator made of fields is told them before all else.
  template <typename Operand> void tell_types(std::span<const Operand> inputs) {
    if (std::exchange(knows_types_, true)) return;
    std::vector<DataType> types;
    for (const Operand& input : inputs) types.push_back(input.type);
    (void)output_types(types);
  }

  std::unique_ptr<IPluginV3> plugin_, builder_, attached_;
  IPluginV3OneCore* core_;
  IPluginV3OneBuild* build_;
  IPluginV3OneRuntime* runtime_;
  IPluginV3OneRuntime* active_ = nullptr;
  size_t workspace_ = 0;
  bool knows_types_ = false;
};

}  // namespace

Result<std::unique_ptr<Instance>> make_v3_instance(std::unique_ptr<IPluginV3> owned,
                                                   FunctionRef<IPluginV3*()> make_builder) {
  auto instance = std::make_unique<V3Instance>(std::move(owned));
  TENON_TRY(instance->check());
  if (!instance->builds()) instance->ask_for_building(make_builder());
  return std::unique_ptr<Instance>(std::move(instance));
}

}  // namespace tenon::plugin
