#include "api/family_build.h"

#include "device/device_family.h"

namespace tenon::api {

Status FamilyBuild::prepare(const nvinfer1::IBuilderConfig& config, Backend& backend,
                            Logger& logger) {
  using nvinfer1::HardwareCompatibilityLevel;
  const HardwareCompatibilityLevel level = config.getHardwareCompatibilityLevel();
  if (level != HardwareCompatibilityLevel::kNONE && backend.device->capabilities().host_cores) {
    logger.warning("The hardware compatibility level {} has no effect: the plan is for the CPU",
                   level == HardwareCompatibilityLevel::kAMPERE_PLUS ? "kAMPERE_PLUS"
                                                                     : "kSAME_COMPUTE_CAPABILITY");
    return {};
  }
  if (level != HardwareCompatibilityLevel::kAMPERE_PLUS) return {};
  const int units = backend.device->properties().compute_units;
  TENON_TRY(stand_for(*backend.device, {DeviceFamily::kFirst, units}));
  active_ = true;
  std::erase_if(backend.notes, [](const BackendNote& note) { return is_library(note.origin); });
  return {};
}

std::function<void(std::string_view)> FamilyBuild::listener() {
  if (!active_) return nullptr;
  return [this](std::string_view layer) {
    const std::lock_guard lock(mutex_);
    left_out_.emplace(layer);
  };
}

void FamilyBuild::report(const Backend& backend, Logger& logger) {
  if (!active_) return;
  const DeviceProperties& own = *own_properties(*backend.device);
  const size_t count = left_out_.size();
  logger.info(
      "Hardware compatibility: the plan runs on GPUs of compute capability {} and later. Kernels "
      "that {} has and others have not are left out: of {} {}; kernels of cuDNN and cuBLASLt are "
      "left out of all",
      capability_text(DeviceFamily::kFirst), capability_text(own.compute_capability), count,
      count == 1 ? "layer" : "layers");
}

}  // namespace tenon::api
