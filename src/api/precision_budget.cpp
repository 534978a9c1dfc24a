#include <cmath>

#include "api/builder_config.h"
#include "ops/numerics.h"
#include "tenon/precision.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {

TENON_EXPORT bool setPrecisionBudget(nvinfer1::IBuilderConfig& config, double error) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr || std::isnan(error)) return false;
  settings->set_precision_budget(error);
  return true;
}

TENON_EXPORT bool setQuantizationBudget(nvinfer1::IBuilderConfig& config, double error) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr || std::isnan(error)) return false;
  settings->set_quantization_budget(error);
  return true;
}

TENON_EXPORT double usualPrecisionBudget(nvinfer1::BuilderFlag flag) noexcept {
  // About as much as a few layers lose one behind the other.
  if (flag == nvinfer1::BuilderFlag::kINT8) return 0.05;
  if (flag == nvinfer1::BuilderFlag::kFP8) return 0.1;
  const DataType type =
      flag == nvinfer1::BuilderFlag::kBF16 ? DataType::kBFloat16 : DataType::kFloat16;
  return tolerance(Computation::kNetwork, type).norm;
}

}  // namespace tenon
