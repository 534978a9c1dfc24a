#include "tenon/numerics.h"

#include "api/exact_numerics.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

Numerics numerics_of(bool exact) {
  return exact ? Numerics::kExact : Numerics::kDefault;
}

}  // namespace

TENON_EXPORT bool setNumerics(nvinfer1::IBuilderConfig& config, Numerics numerics) noexcept {
  const bool known = numerics == Numerics::kDefault || numerics == Numerics::kExact;
  return known && api::set_exact_numerics(config, numerics == Numerics::kExact);
}

TENON_EXPORT Numerics getNumerics(const nvinfer1::IBuilderConfig& config) noexcept {
  return numerics_of(api::has_exact_numerics(config));
}

TENON_EXPORT Numerics getNumerics(const nvinfer1::ICudaEngine& engine) noexcept {
  return numerics_of(api::has_exact_numerics(engine));
}

}  // namespace tenon
