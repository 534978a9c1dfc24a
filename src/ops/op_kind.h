#pragma once

#include <vector>

#include "ir/op.h"

namespace tenon {

/// One row of ops/ops.def each.
enum class OpKind : uint16_t {
#define TENON_OP(Struct, ...) k##Struct,
#include "ops/ops.def"
};

/// An element of an attribute that may be left out, or have fewer elements.
inline int64_t attribute_at(const std::vector<int64_t>& values, size_t index,
                            int64_t otherwise = 0) {
  return index < values.size() ? values[index] : otherwise;
}

}  // namespace tenon

/// Opens an operator's struct: the row's name and number.
#define TENON_OP_HEADER(Struct, text)                \
  static constexpr OpKind kKind = OpKind::k##Struct; \
  static constexpr std::string_view kName = text

/// Declares the words of an enumeration attribute, in the order of its enumerators.
#define TENON_ENUM_NAMES(Enum, ...)                             \
  inline std::span<const std::string_view> enum_names(Enum) {   \
    static constexpr std::string_view kNames[] = {__VA_ARGS__}; \
    return kNames;                                              \
  }
