#include "api/config_check.h"

namespace tenon::api {
namespace {

enum class Support { kWorks, kNoEffect, kRefused };

struct FlagRow {
  BuilderFlag flag;
  const char* name;
  Support support;
  const char* text;
};
constexpr FlagRow kFlags[] = {
#define TENON_BUILDER_FLAG(name, support, text) {BuilderFlag::name, #name, Support::support, text},
#include "api/builder_flags.def"
};

struct SettingRow {
  const char* name;
  int64_t usual;
  Support support;
  const char* text;
  int64_t (*value)(BuilderConfig& config);
};
constexpr SettingRow kSettings[] = {
#define TENON_BUILDER_SETTING(Name, least, largest, usual, support, text) \
  {#Name, usual, Support::support, text,                                  \
   [](BuilderConfig& config) { return static_cast<int64_t>(config.get##Name()); }},
#include "api/builder_settings.def"
};

/// Flags that a strongly typed network decides by itself.
constexpr BuilderFlag kPrecisionFlags[] = {
    BuilderFlag::kFP16,
    BuilderFlag::kBF16,
    BuilderFlag::kINT8,
    BuilderFlag::kFP8,
    BuilderFlag::kINT4,
    BuilderFlag::kFP4,
    BuilderFlag::kOBEY_PRECISION_CONSTRAINTS,
    BuilderFlag::kPREFER_PRECISION_CONSTRAINTS,
};

/// Memory pools whose limits have no effect, and why.
struct PoolNote {
  MemoryPoolType pool;
  const char* name;
  const char* text;
};
constexpr PoolNote kPoolNotes[] = {
    {MemoryPoolType::kDLA_MANAGED_SRAM, "kDLA_MANAGED_SRAM", "there is no DLA"},
    {MemoryPoolType::kDLA_LOCAL_DRAM, "kDLA_LOCAL_DRAM", "there is no DLA"},
    {MemoryPoolType::kDLA_GLOBAL_DRAM, "kDLA_GLOBAL_DRAM", "there is no DLA"},
    {MemoryPoolType::kTACTIC_DRAM, "kTACTIC_DRAM",
     "builds take the memory of one candidate at a time; kWORKSPACE limits the memory of plans"},
};

Status check_flags(const BuilderConfig& config, Logger& logger) {
  for (const FlagRow& row : kFlags) {
    if (!config.getFlag(row.flag) || row.support == Support::kWorks) continue;
    if (row.support == Support::kRefused)
      return unsupported("BuilderFlag::{} cannot be used: {}", row.name, row.text);
    logger.warning("BuilderFlag::{} has no effect: {}", row.name, row.text);
  }
  const bool refit =
      config.getFlag(BuilderFlag::kREFIT) || config.getFlag(BuilderFlag::kREFIT_INDIVIDUAL);
  if (refit && config.getFlag(BuilderFlag::kREFIT_IDENTICAL))
    return user_error("kREFIT and kREFIT_IDENTICAL exclude each other");
  if (config.getFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS) && config.timing_cache() == nullptr)
    logger.warning(
        "BuilderFlag::kERROR_ON_TIMING_CACHE_MISS has no effect: the configuration has no timing "
        "cache (setTimingCache, --timingCacheFile)");
  return {};
}

Status check_settings(BuilderConfig& config, Logger& logger) {
  for (const SettingRow& row : kSettings) {
    if (row.support == Support::kWorks || row.value(config) == row.usual) continue;
    if (row.support == Support::kRefused)
      return unsupported("set{}({}) cannot be used: {}", row.name, row.value(config), row.text);
    logger.warning("set{} has no effect: {}", row.name, row.text);
  }
  return {};
}

/// Objects and names that nothing asks for.
void remark_unused(const BuilderConfig& config, Logger& logger) {
  const auto remark = [&](bool given, const char* what, const char* reason) {
    if (given) logger.warning("{} has no effect: {}", what, reason);
  };
  remark(config.getProfileStream() != nullptr, "setProfileStream",
         "builds measure on streams of their own");
  remark(config.has_layer_devices(), "setDeviceType", "a plan runs on one device");
  const bool calibrates = config.getInt8Calibrator() != nullptr;
  remark(config.calibration_profile() != nullptr && !calibrates, "setCalibrationProfile",
         "there is no calibrator (setInt8Calibrator)");
  remark(calibrates && !config.getFlag(BuilderFlag::kINT8), "setInt8Calibrator",
         "BuilderFlag::kINT8 is not set");
  remark(*config.getRemoteAutoTuningConfig() != '\0', "setRemoteAutoTuningConfig",
         "kernels are timed on this machine");
  for (const auto& [feature, enabled] : config.previews())
    if (enabled)
      logger.warning("setPreviewFeature({}) has no effect: no preview feature changes plans",
                     static_cast<int32_t>(feature));
  for (const PoolNote& note : kPoolNotes)
    if (config.getMemoryPoolLimit(note.pool) != SIZE_MAX)
      logger.warning("The limit of the memory pool {} has no effect: {}", note.name, note.text);
}

/// Attention that no kernel computes as a whole.
void remark_decomposed(const nvinfer1::INetworkDefinition& network, Logger& logger) {
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    if (network.getLayer(i)->getType() != LayerType::kATTENTION_OUTPUT) continue;
    const auto* output = static_cast<const IAttentionOutputLayer*>(network.getLayer(i));
    const IAttention& attention = *output->getAttention();
    const bool normalizes =
        attention.getNormalizationOperation() == AttentionNormalizationOp::kSOFTMAX;
    const bool quantizes = attention.getNormalizationQuantizeScale() != nullptr;
    if (attention.getDecomposable() || (normalizes && !quantizes)) continue;
    logger.warning(
        "attention '{}' takes several kernels although it is not decomposable: no single kernel "
        "computes one {}; setDecomposable(true) allows it",
        attention.getName(), quantizes ? "with quantized probabilities" : "without a softmax");
  }
}

Status check_strong_typing(const BuilderConfig& config,
                           const nvinfer1::INetworkDefinition& network) {
  for (const BuilderFlag flag : kPrecisionFlags)
    if (config.getFlag(flag))
      return user_error(
          "BuilderFlag::{} cannot be used with a strongly typed network, which has its own types",
          kFlags[static_cast<size_t>(flag)].name);
  for (int32_t i = 0; i < network.getNbLayers(); ++i)
    if (network.getLayer(i)->precisionIsSet())
      return user_error(
          "layer '{}': setPrecision cannot be used in a strongly typed network, which has its own "
          "types",
          network.getLayer(i)->getName());
  return {};
}

}  // namespace

Status check_config(BuilderConfig& config, const nvinfer1::INetworkDefinition& network,
                    Logger& logger) {
  TENON_TRY(check_settings(config, logger));
  TENON_TRY(check_flags(config, logger));
  if (network.getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED))
    TENON_TRY(check_strong_typing(config, network));
  else if (config.getFlag(BuilderFlag::kWEIGHT_STREAMING))
    return user_error(
        "BuilderFlag::kWEIGHT_STREAMING requires a strongly typed network (kSTRONGLY_TYPED)");
  remark_unused(config, logger);
  remark_decomposed(network, logger);
  return {};
}

}  // namespace tenon::api
