#include "tenon/numerics.h"

#include "api/builder_config.h"
#include "api/engine.h"
#include "kernels/algorithm.h"
#include "runtime/engine.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {

TENON_EXPORT bool setNumerics(nvinfer1::IBuilderConfig& config, Numerics numerics) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  const bool known = numerics == Numerics::kDefault || numerics == Numerics::kExact;
  if (settings == nullptr || !known) return false;
  settings->set_exact_numerics(numerics == Numerics::kExact);
  return true;
}

TENON_EXPORT Numerics getNumerics(const nvinfer1::IBuilderConfig& config) noexcept {
  const auto* settings = dynamic_cast<const api::BuilderConfig*>(&config);
  return settings != nullptr && settings->exact_numerics() ? Numerics::kExact : Numerics::kDefault;
}

TENON_EXPORT Numerics getNumerics(const nvinfer1::ICudaEngine& engine) noexcept {
  const auto* handle = dynamic_cast<const api::EngineHandle*>(&engine);
  const bool exact =
      handle != nullptr && handle->engine().plan().settings.contains(kNumericsSetting);
  return exact ? Numerics::kExact : Numerics::kDefault;
}

}  // namespace tenon
