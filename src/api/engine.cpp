#include "api/engine.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "NvInfer.h"
#include "api/context.h"
#include "api/exact_numerics.h"
#include "api/host_memory.h"
#include "api/inspector.h"
#include "api/layer_words.h"
#include "api/plan_settings.h"
#include "api/recipe.h"
#include "base/guard.h"
#include "device/device_family.h"
#include "kernels/algorithm.h"
#include "network/convert.h"
#include "ops/dims.h"
#include "ops/movement.h"
#include "ops/structure.h"
#include "plan/plan_file.h"
#include "plugin/instance.h"

namespace tenon::api {
namespace {

/// Whether it is one; reports it otherwise.
bool is_strategy(ExecutionContextAllocationStrategy strategy, network::Reporter& reporter) {
  const auto value = static_cast<int32_t>(strategy);
  if (value >= 0 && value < EnumMax<ExecutionContextAllocationStrategy>()) return true;
  reporter.guarded_call("ExecutionContextAllocationStrategy", [&] {
    reporter.report(user_error("there is no ExecutionContextAllocationStrategy {}", value));
  });
  return false;
}

/// ISerializationConfig: flags.
class SerializationConfig final : public surface::Implementation<ISerializationConfig> {
 public:
  explicit SerializationConfig(std::shared_ptr<network::Reporter> reporter)
      : reporter_(std::move(reporter)) {}

  bool setFlags(SerializationFlags flags) noexcept override {
    if (!network::are_flags(*reporter_, "setFlags", flags, kCount)) return false;
    flags_ = flags;
    return true;
  }
  SerializationFlags getFlags() const noexcept override { return flags_; }
  bool clearFlag(SerializationFlag flag) noexcept override {
    if (!is_flag("clearFlag", flag)) return false;
    flags_ &= ~(1U << static_cast<uint32_t>(flag));
    return true;
  }
  bool setFlag(SerializationFlag flag) noexcept override {
    if (!is_flag("setFlag", flag)) return false;
    flags_ |= 1U << static_cast<uint32_t>(flag);
    return true;
  }
  bool getFlag(SerializationFlag flag) const noexcept override {
    return is_flag("getFlag", flag) && (flags_ >> static_cast<uint32_t>(flag) & 1U) != 0;
  }

 private:
  static constexpr int32_t kCount = EnumMax<SerializationFlag>();
  bool is_flag(const char* method, SerializationFlag flag) const {
    return network::is_flag(*reporter_, method, static_cast<int32_t>(flag), kCount);
  }

  std::shared_ptr<network::Reporter> reporter_;
  SerializationFlags flags_ = 0;
};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The plan's setting of that name, or null. Allocates nothing: callers may not fail.
const std::string* setting_of(const Plan& plan, std::string_view key) {
  for (const auto& [name, value] : plan.settings)
    if (name == key) return &value;
  return nullptr;
}

/// The number that it holds; 0 where it is absent or holds none.
uint32_t number_of(const Plan& plan, std::string_view key) {
  uint32_t number = 0;
  if (const std::string* text = setting_of(plan, key))
    std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

bool is_selector(OptProfileSelector select) {
  return select == OptProfileSelector::kMIN || select == OptProfileSelector::kOPT ||
         select == OptProfileSelector::kMAX;
}

Dims no_dims() {
  Dims dims{};
  dims.nbDims = -1;
  return dims;
}

/// The operand that shares its memory with an output; -1 where none does.
int32_t aliased_operand(const Node& node, size_t output) {
  if (node.is<TensorScatter>()) return 0;  // Caches are updated where they lie.
  const auto* op = node.as<Plugin>();
  if (op == nullptr) return -1;
  const auto plugin = plugin::Instance::create({op->type, op->version, op->space}, op->fields);
  if (!plugin.ok()) return -1;
  const std::vector<int32_t> aliases = (*plugin)->aliased_inputs();
  return output < aliases.size() ? aliases[output] : -1;
}

}  // namespace

EngineHandle::EngineHandle(std::shared_ptr<Engine> engine,
                           std::shared_ptr<network::Reporter> reporter)
    : Reported(std::move(reporter)), engine_(std::move(engine)) {
  for (const Value* input : engine_->graph().inputs()) tensors_.push_back(input);
  const auto& settings = engine_->plan().settings;
  if (const auto names = settings.find(kDebugSetting); names != settings.end())
    debug_ = lines_of(names->second);
  if (const auto names = settings.find(kDebugHiddenSetting); names != settings.end())
    hidden_ = lines_of(names->second);
  for (const Value* output : engine_->graph().outputs())
    if (!contains(hidden_, output->name)) tensors_.push_back(output);
  for (const Value* tensor : tensors_)
    if (const auto text = settings.find(kFormatSetting + tensor->name); text != settings.end())
      if (const auto format = network::io_format_of(text->second);
          format.has_value() && format->fits(tensor->type.shape))
        formats_.emplace(tensor->name, *format);
  for (const Value* tensor : tensors_) {
    const network::IoFormat* format = format_of(tensor->name);
    format_words_.emplace(
        tensor->name,
        network::description(format == nullptr ? TensorFormat::kLINEAR : format->format,
                             tensor->type.type));
  }
}

const Value* EngineHandle::find(const char* name) const {
  if (name != nullptr)
    for (const Value* value : tensors_)
      if (value->name == name) return value;
  reporter_->report(user_error("the engine has no tensor '{}'", name == nullptr ? "(null)" : name));
  return nullptr;
}

Dims EngineHandle::getTensorShape(const char* name) const noexcept {
  const Value* value = find(name);
  if (value == nullptr) return no_dims();
  const network::IoFormat* format = format_of(name);
  if (format == nullptr) return network::to_dims(value->type.shape);
  return reporter_->guarded("getTensorShape", no_dims(), [&] {
    return network::to_dims(format->from_buffer(value->type.shape));
  });
}

nvinfer1::DataType EngineHandle::getTensorDataType(const char* name) const noexcept {
  const Value* value = find(name);
  if (value == nullptr) return nvinfer1::DataType::kFLOAT;
  return network::to_public(value->type.type).value_or(nvinfer1::DataType::kFLOAT);
}

int32_t EngineHandle::getNbLayers() const noexcept {
  return static_cast<int32_t>(layers_of(engine_->graph()).size());
}
IHostMemory* EngineHandle::serialize() const noexcept {
  return serialized(false);
}

IHostMemory* EngineHandle::serialized(bool strip) const {
  return reporter_->guarded("serialize", nullptr, [&]() -> IHostMemory* {
    auto bytes = write_plan(engine_->plan(), strip);
    if (bytes.ok()) return new HostMemory(std::move(bytes).value());
    reporter_->report(bytes.error());
    return nullptr;
  });
}

IExecutionContext* EngineHandle::make_context(
    ExecutionContextAllocationStrategy strategy) noexcept {
  if (!is_strategy(strategy, *reporter_)) return nullptr;
  const auto made = guarded("createExecutionContext", [&]() -> Result<IExecutionContext*> {
    TENON_ASSIGN(auto context, Context::create(engine_));
    if (strategy == ExecutionContextAllocationStrategy::kUSER_MANAGED) context->expect_arena();
    TENON_TRY(context->get_ready());
    return new ContextHandle(*this, std::move(context), strategy);
  });
  if (made.ok()) return *made;
  reporter_->report(made.error());
  return nullptr;
}

void RuntimeConfig::setExecutionContextAllocationStrategy(
    ExecutionContextAllocationStrategy strategy) noexcept {
  if (is_strategy(strategy, *reporter_)) strategy_ = strategy;
}

IExecutionContext* EngineHandle::createExecutionContext(
    ExecutionContextAllocationStrategy strategy) noexcept {
  return make_context(strategy);
}
IExecutionContext* EngineHandle::createExecutionContextWithRuntimeConfig(
    IRuntimeConfig* config) noexcept {
  return make_context(config != nullptr ? config->getExecutionContextAllocationStrategy()
                                        : ExecutionContextAllocationStrategy::kSTATIC);
}
IExecutionContext* EngineHandle::createExecutionContextWithoutDeviceMemory() noexcept {
  return make_context(ExecutionContextAllocationStrategy::kUSER_MANAGED);
}
IRuntimeConfig* EngineHandle::createRuntimeConfig() noexcept {
  return reporter_->guarded("createRuntimeConfig", nullptr, [&]() -> IRuntimeConfig* {
    return new RuntimeConfig(ExecutionContextAllocationStrategy::kSTATIC, reporter_);
  });
}

TensorLocation EngineHandle::getTensorLocation(const char* name) const noexcept {
  return isShapeInferenceIO(name) ? TensorLocation::kHOST : TensorLocation::kDEVICE;
}
bool EngineHandle::isShapeInferenceIO(const char* name) const noexcept {
  return find(name) != nullptr && engine_->is_on_host(name);
}
TensorIOMode EngineHandle::getTensorIOMode(const char* name) const noexcept {
  if (name == nullptr) return TensorIOMode::kNONE;
  if (contains(hidden_, name)) return TensorIOMode::kNONE;
  if (engine_->input_index(name).has_value()) return TensorIOMode::kINPUT;
  return engine_->output_index(name).has_value() ? TensorIOMode::kOUTPUT : TensorIOMode::kNONE;
}
const char* EngineHandle::getAliasedInputTensor(const char* name) const noexcept {
  const Value* value = find(name);
  const Node* node = value == nullptr ? nullptr : value->producer();
  if (node == nullptr) return nullptr;
  return reporter_->guarded("getAliasedInputTensor", nullptr, [&]() -> const char* {
    const int32_t index = aliased_operand(*node, static_cast<size_t>(value->index()));
    const Value* input = index < 0 ? nullptr : node->input(index);
    return input == nullptr || input->producer() != nullptr ? nullptr : input->name.c_str();
  });
}

size_t EngineHandle::getDeviceMemorySizeForProfile(int32_t index) const noexcept {
  return reporter_->guarded("getDeviceMemorySizeForProfile", 0, [&]() -> size_t {
    const auto bound = engine_->arena_bound(index);
    if (bound.ok()) return *bound;
    // Weights of a stripped plan may not be there yet.
    if (!engine_->plan().stripped) reporter_->report(bound.error());
    return 0;
  });
}
size_t EngineHandle::getDeviceMemorySize() const noexcept {
  size_t most = 0;
  for (int32_t i = 0; i < getNbOptimizationProfiles(); ++i)
    most = std::max(most, getDeviceMemorySizeForProfile(i));
  return most;
}
int64_t EngineHandle::getDeviceMemorySizeV2() const noexcept {
  return static_cast<int64_t>(getDeviceMemorySize());
}
int64_t EngineHandle::getDeviceMemorySizeForProfileV2(int32_t index) const noexcept {
  return static_cast<int64_t>(getDeviceMemorySizeForProfile(index));
}
bool EngineHandle::isRefittable() const noexcept {
  return engine_->plan().network != nullptr;
}

const network::IoFormat* EngineHandle::format_of(std::string_view name) const {
  const auto found = formats_.find(name);
  return found == formats_.end() ? nullptr : &found->second;
}
const network::IoFormat* EngineHandle::vectors_of(const char* name) const {
  const network::IoFormat* format = find(name) == nullptr ? nullptr : format_of(name);
  return format == nullptr || format->vector == 1 ? nullptr : format;
}
Dims EngineHandle::to_dims(std::string_view name, const Extents& extents) const {
  const network::IoFormat* format = format_of(name);
  return format == nullptr ? network::to_dims(extents)
                           : network::to_dims(format->from_buffer(extents));
}
bool EngineHandle::is_profile(int32_t index) const {
  const bool exists = index >= 0 && index < getNbOptimizationProfiles();
  if (!exists)
    reporter_->report(user_error("there is no profile {}: the engine has {}", index,
                                 getNbOptimizationProfiles()));
  return exists;
}

/// Of vectorized formats only.
int32_t EngineHandle::getTensorBytesPerComponent(const char* name) const noexcept {
  return vectors_of(name) == nullptr ? -1 : byte_size(find(name)->type.type);
}
int32_t EngineHandle::getTensorBytesPerComponentV2(const char* name, int32_t index) const noexcept {
  return is_profile(index) ? getTensorBytesPerComponent(name) : -1;
}
int32_t EngineHandle::getTensorComponentsPerElement(const char* name) const noexcept {
  const network::IoFormat* format = vectors_of(name);
  return format == nullptr ? -1 : static_cast<int32_t>(format->vector);
}
int32_t EngineHandle::getTensorComponentsPerElementV2(const char* name,
                                                      int32_t index) const noexcept {
  return is_profile(index) ? getTensorComponentsPerElement(name) : -1;
}
TensorFormat EngineHandle::getTensorFormat(const char* name) const noexcept {
  const network::IoFormat* format = find(name) == nullptr ? nullptr : format_of(name);
  return format == nullptr ? TensorFormat::kLINEAR : format->format;
}
TensorFormat EngineHandle::getTensorFormatV2(const char* name, int32_t index) const noexcept {
  return is_profile(index) ? getTensorFormat(name) : TensorFormat::kLINEAR;
}
const char* EngineHandle::getTensorFormatDesc(const char* name) const noexcept {
  return find(name) == nullptr ? "" : format_words_.find(name)->second.c_str();
}
const char* EngineHandle::getTensorFormatDescV2(const char* name, int32_t index) const noexcept {
  return is_profile(index) ? getTensorFormatDesc(name) : "";
}
int32_t EngineHandle::getTensorVectorizedDim(const char* name) const noexcept {
  const network::IoFormat* format = vectors_of(name);
  return format == nullptr ? -1 : format->axis;
}
int32_t EngineHandle::getTensorVectorizedDimV2(const char* name, int32_t index) const noexcept {
  return is_profile(index) ? getTensorVectorizedDim(name) : -1;
}
const char* EngineHandle::getName() const noexcept {
  const std::string* name = setting_of(engine_->plan(), kNameSetting);
  return name == nullptr ? "" : name->c_str();
}
int32_t EngineHandle::getNbOptimizationProfiles() const noexcept {
  return static_cast<int32_t>(engine_->plan().profiles.size());
}

Dims EngineHandle::getProfileShape(const char* name, int32_t index,
                                   OptProfileSelector select) const noexcept {
  if (find(name) == nullptr || !is_profile(index)) return no_dims();
  if (!is_selector(select)) {
    reporter_->report(user_error("profiles have no shape {}", static_cast<int>(select)));
    return no_dims();
  }
  const Profile& profile = engine_->plan().profiles[index];
  const auto found = profile.find(name);
  if (found == profile.end()) return no_dims();
  const ShapeRange& range = found->second;
  const Extents& extents = select == OptProfileSelector::kMIN   ? range.min
                           : select == OptProfileSelector::kOPT ? range.opt
                                                                : range.max;
  return reporter_->guarded("getProfileShape", no_dims(), [&] { return to_dims(name, extents); });
}
const std::vector<int64_t>* EngineHandle::profile_values(const char* name, int32_t index,
                                                         OptProfileSelector select) const {
  if (find(name) == nullptr) return nullptr;
  if (index < 0 || index >= getNbOptimizationProfiles() || !is_selector(select)) {
    reporter_->report(user_error("profile {} or its selector {} does not exist", index,
                                 static_cast<int>(select)));
    return nullptr;
  }
  if (!engine_->is_on_host(name)) return nullptr;
  const ShapeRange& range = engine_->plan().profiles[index].at(name);
  return select == OptProfileSelector::kMIN   ? &range.min_values
         : select == OptProfileSelector::kOPT ? &range.opt_values
                                              : &range.max_values;
}
const int32_t* EngineHandle::getProfileTensorValues(const char* name, int32_t index,
                                                    OptProfileSelector select) const noexcept {
  const std::vector<int64_t>* values = profile_values(name, index, select);
  if (values == nullptr) return nullptr;
  return reporter_->guarded("getProfileTensorValues", nullptr, [&]() -> const int32_t* {
    const std::lock_guard lock(narrow_mutex_);
    std::vector<int32_t>& narrow = narrow_values_[values];
    if (narrow.empty()) narrow.assign(values->begin(), values->end());
    return narrow.data();
  });
}
const int64_t* EngineHandle::getProfileTensorValuesV2(const char* name, int32_t index,
                                                      OptProfileSelector select) const noexcept {
  const std::vector<int64_t>* values = profile_values(name, index, select);
  return values == nullptr ? nullptr : values->data();
}
EngineCapability EngineHandle::getEngineCapability() const noexcept {
  return EngineCapability::kSTANDARD;
}
bool EngineHandle::hasImplicitBatchDimension() const noexcept {
  return false;
}
TacticSources EngineHandle::getTacticSources() const noexcept {
  return number_of(engine_->plan(), kTacticSourcesSetting);
}
ProfilingVerbosity EngineHandle::getProfilingVerbosity() const noexcept {
  const uint32_t number = number_of(engine_->plan(), kProfilingVerbositySetting);
  return std::cmp_less(number, EnumMax<ProfilingVerbosity>())
             ? static_cast<ProfilingVerbosity>(number)
             : ProfilingVerbosity::kLAYER_NAMES_ONLY;
}
IEngineInspector* EngineHandle::createEngineInspector() const noexcept {
  return reporter_->guarded("createEngineInspector", nullptr,
                            [&]() -> IEngineInspector* { return new Inspector(*this); });
}
int32_t EngineHandle::getNbIOTensors() const noexcept {
  return static_cast<int32_t>(tensors_.size());
}
const char* EngineHandle::getIOTensorName(int32_t index) const noexcept {
  return index < 0 || index >= getNbIOTensors() ? nullptr : tensors_[index]->name.c_str();
}
HardwareCompatibilityLevel EngineHandle::getHardwareCompatibilityLevel() const noexcept {
  if (setting_of(engine_->plan(), kFamilyUnitsSetting) != nullptr)
    return HardwareCompatibilityLevel::kAMPERE_PLUS;
  return setting_of(engine_->plan(), kSameCapabilitySetting) != nullptr
             ? HardwareCompatibilityLevel::kSAME_COMPUTE_CAPABILITY
             : HardwareCompatibilityLevel::kNONE;
}
int32_t EngineHandle::getNbAuxStreams() const noexcept {
  return engine_->aux_stream_count();
}
ISerializationConfig* EngineHandle::createSerializationConfig() noexcept {
  return reporter_->guarded("createSerializationConfig", nullptr, [&]() -> ISerializationConfig* {
    return new SerializationConfig(reporter_);
  });
}
IHostMemory* EngineHandle::serializeWithConfig(ISerializationConfig& config) const noexcept {
  const bool strip = config.getFlag(SerializationFlag::kEXCLUDE_WEIGHTS);
  if (strip && !isRefittable()) {
    reporter_->report(
        user_error("weights can be left out of plans only that were built with kREFIT"));
    return nullptr;
  }
  return serialized(strip);
}
/// Of the first version: -1 chooses, and 0 ends the streaming.
bool EngineHandle::setWeightStreamingBudget(int64_t budget) noexcept {
  if (budget == -1) return setWeightStreamingBudgetV2(getWeightStreamingAutomaticBudget());
  if (budget == 0) return setWeightStreamingBudgetV2(getStreamableWeightsSize());
  if (budget > 0 && budget < getMinimumWeightStreamingBudget()) {
    reporter_->report(user_error("setWeightStreamingBudget({}): the least is {} bytes", budget,
                                 getMinimumWeightStreamingBudget()));
    return false;
  }
  return setWeightStreamingBudgetV2(budget);
}
int64_t EngineHandle::getWeightStreamingBudget() const noexcept {
  const int64_t budget = getWeightStreamingBudgetV2();
  return budget == getStreamableWeightsSize() ? 0 : budget;
}
/// The memory of copies for a run is needed even if all is streamed.
int64_t EngineHandle::getMinimumWeightStreamingBudget() const noexcept {
  int64_t largest = 0;
  if (is_streamable())
    for_each_constant(*engine_->plan().graph, [&](const Node& node) {
      largest = std::max(largest, node.as<Constant>()->value.byte_count());
    });
  return largest;
}
int64_t EngineHandle::getStreamableWeightsSize() const noexcept {
  if (!is_streamable()) return 0;
  return streams_weights() ? static_cast<int64_t>(engine_->streamable_bytes())
                           : getEngineStat(EngineStat::kTOTAL_WEIGHTS_SIZE);
}
bool EngineHandle::is_streamable() const {
  return setting_of(engine_->plan(), kWeightStreamingSetting) != nullptr;
}
/// Weights of the plan can lie elsewhere than where kernels read them.
bool EngineHandle::streams_weights() const {
  return engine_->backend().device->streams() != nullptr && !engine_->data_dependent();
}
bool EngineHandle::setWeightStreamingBudgetV2(int64_t budget) noexcept {
  const Status set = guarded("setWeightStreamingBudgetV2", [&] { return set_budget(budget); });
  if (!set.ok()) reporter_->report(set.error());
  return set.ok();
}
Status EngineHandle::set_budget(int64_t budget) {
  if (budget < 0)
    return user_error("setWeightStreamingBudgetV2({}): a budget is 0 bytes or more", budget);
  if (!is_streamable())
    return user_error(
        "weights can be streamed only of plans that were built with kWEIGHT_STREAMING");
  const int64_t size = getStreamableWeightsSize();
  const bool all = budget >= size;
  if (!all && !streams_weights())
    reporter_->warning("setWeightStreamingBudgetV2 has no effect: {}",
                       engine_->data_dependent()
                           ? "shapes are data-dependent, so that nothing is known ahead of a layer"
                           : "the CPU reads weights where they are, in the plan");
  if (streams_weights())
    TENON_TRY(
        engine_->stream_weights(all ? std::nullopt : std::optional(static_cast<size_t>(budget))));
  streaming_budget_ = std::min(budget, size);
  return {};
}
int64_t EngineHandle::getWeightStreamingBudgetV2() const noexcept {
  return streaming_budget_.value_or(getStreamableWeightsSize());
}
/// As much as is free beside the activations and the weights under way.
int64_t EngineHandle::getWeightStreamingAutomaticBudget() const noexcept {
  const int64_t size = getStreamableWeightsSize();
  if (size == 0 || !streams_weights()) return size;
  const auto free = guarded("getWeightStreamingAutomaticBudget",
                            [&] { return engine_->automatic_weight_budget(); });
  if (free.ok()) return std::min(size, static_cast<int64_t>(*free));
  reporter_->report(free.error());
  return 0;
}
/// A part of the memory of a context, which getDeviceMemorySizeV2 counts.
int64_t EngineHandle::getWeightStreamingScratchMemorySize() const noexcept {
  const auto bytes =
      guarded("getWeightStreamingScratchMemorySize", [&] { return engine_->load_bound(); });
  if (bytes.ok()) return static_cast<int64_t>(*bytes);
  reporter_->report(bytes.error());
  return 0;
}
bool EngineHandle::isDebugTensor(const char* name) const noexcept {
  return name != nullptr && contains(debug_, name);
}
int64_t EngineHandle::getEngineStat(EngineStat stat) const noexcept {
  const Plan& plan = engine_->plan();
  const bool stripped = stat == EngineStat::kSTRIPPED_WEIGHTS_SIZE;
  if (stripped && !plan.stripped) return 0;
  int64_t bytes = 0;
  for_each_constant(*plan.graph, [&](const Node& node) {
    const Tensor& tensor = node.as<Constant>()->value;
    if (!stripped || is_strippable(tensor)) bytes += tensor.byte_count();
  });
  return bytes;
}

IRefitter* EngineHandle::createRefitter(ILogger& logger) noexcept {
  return createInferRefitter(*this, logger);
}

bool has_exact_numerics(const nvinfer1::ICudaEngine& engine) {
  const auto* handle = dynamic_cast<const EngineHandle*>(&engine);
  return handle != nullptr && handle->engine().plan().settings.contains(kNumericsSetting);
}

}  // namespace tenon::api
