#include "api/config_check.h"

namespace tenon::api {
namespace {

struct Note {
  BuilderFlag flag;
  const char* text;
};

/// Flags without effect, and why.
constexpr Note kNotes[] = {
    {BuilderFlag::kSPARSE_WEIGHTS, "there are no kernels for sparse weights"},
    {BuilderFlag::kVERSION_COMPATIBLE, "plans are data and need no runtime of their own"},
    {BuilderFlag::kEXCLUDE_LEAN_RUNTIME, "plans are data and need no runtime of their own"},
    {BuilderFlag::kGPU_FALLBACK, "there is no DLA that layers could fall back from"},
    {BuilderFlag::kWEIGHT_STREAMING, "weights are mapped from the plan and stay where they are"},
    {BuilderFlag::kREJECT_EMPTY_ALGORITHMS, "algorithm selectors are not asked"},
    {BuilderFlag::kDISABLE_COMPILATION_CACHE,
     "timing caches hold no kernels; an empty TENON_CACHE_DIR keeps none on disk either"},
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
     "builds take the memory of one candidate at a time; kWORKSPACE limits what plans take"},
};

}  // namespace

Status check_config(const BuilderConfig& config, Logger& logger) {
  if (config.getEngineCapability() != EngineCapability::kSTANDARD)
    return unsupported("engine capability: safety and DLA engines are not built, only kSTANDARD");
  if (config.getDefaultDeviceType() == DeviceType::kDLA)
    return unsupported("setDefaultDeviceType(kDLA): there is no DLA");
  if (config.getRuntimePlatform() != RuntimePlatform::kSAME_AS_BUILD)
    return unsupported("setRuntimePlatform: plans are built for the platform of the build only");
  if (config.getFlag(BuilderFlag::kSAFETY_SCOPE))
    return unsupported("kSAFETY_SCOPE: there is no safety runtime");
  const bool refit =
      config.getFlag(BuilderFlag::kREFIT) || config.getFlag(BuilderFlag::kREFIT_INDIVIDUAL);
  if (refit && config.getFlag(BuilderFlag::kREFIT_IDENTICAL))
    return user_error("kREFIT and kREFIT_IDENTICAL exclude each other");
  for (const Note& note : kNotes)
    if (config.getFlag(note.flag))
      logger.warning("Builder flag {} has no effect: {}", static_cast<int>(note.flag), note.text);
  for (const PoolNote& note : kPoolNotes)
    if (config.getMemoryPoolLimit(note.pool) != SIZE_MAX)
      logger.warning("The limit of the memory pool {} has no effect: {}", note.name, note.text);
  if (config.getHardwareCompatibilityLevel() == HardwareCompatibilityLevel::kAMPERE_PLUS)
    logger.warning(
        "The hardware compatibility level kAMPERE_PLUS has no effect: a plan runs on GPUs of the "
        "compute capability that it was built for");
  return {};
}

}  // namespace tenon::api
