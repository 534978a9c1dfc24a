#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

namespace tenon {

/// One scalar function of ops/pointwise.def, in the order of its rows.
enum class PointwiseFunction : uint8_t {
#define TENON_POINTWISE(name, arity, category, ...) k_##name,
#include "ops/pointwise.def"
};

/// Types that a function takes and gives; pointwise.def explains each class.
enum class PointwiseClass : uint8_t { arithmetic, real, compare, logical, bitwise, choose };

/// A row of the table.
struct PointwiseInfo {
  std::string_view name;
  int arity;
  PointwiseClass category;
  std::string_view formula;  ///< C++ over x, y, z, alpha, beta of type T.
};

const PointwiseInfo& pointwise_info(PointwiseFunction function);
/// The function of that name, or nothing.
std::optional<PointwiseFunction> pointwise_by_name(std::string_view name);
/// Number of rows.
int pointwise_count();

/// Names of the rows, for attributes that are a function.
std::span<const std::string_view> enum_names(PointwiseFunction);

}  // namespace tenon
