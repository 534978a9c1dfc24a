#include "ops/pointwise_function.h"

namespace tenon {
namespace {

constexpr PointwiseInfo kTable[] = {
#define TENON_POINTWISE(name, arity, category, ...) \
  {#name, arity, PointwiseClass::category, #__VA_ARGS__},
#include "ops/pointwise.def"
};

}  // namespace

const PointwiseInfo& pointwise_info(PointwiseFunction function) {
  return kTable[static_cast<int>(function)];
}

std::optional<PointwiseFunction> pointwise_by_name(std::string_view name) {
  for (int i = 0; i < pointwise_count(); ++i)
    if (kTable[i].name == name) return static_cast<PointwiseFunction>(i);
  return std::nullopt;
}

std::span<const std::string_view> enum_names(PointwiseFunction) {
  static constexpr std::string_view kNames[] = {
#define TENON_POINTWISE(name, ...) #name,
#include "ops/pointwise.def"
  };
  return kNames;
}

int pointwise_count() {
  return static_cast<int>(std::size(kTable));
}

}  // namespace tenon
