#pragma once

#include <optional>

#include "ir/dim.h"
#include "ir/graph.h"
#include "ops/structure.h"

namespace tenon {

/// A small integer tensor whose elements are expressions over the symbols of the graph's shapes:
/// the remainder of shape arithmetic after folding. Costs nothing at run time: it is a constant
/// once shapes are known.
struct Dims final : OpBase<Dims> {
  TENON_OP_HEADER(Dims, "dims");
  std::vector<std::string> expressions;  ///< Text form of ir/dim.h.
  std::vector<int64_t> extents;          ///< Of the tensor: empty for a scalar, else [n].
  DataType to = DataType::kInt64;
  TENON_ATTRIBUTES(expressions, extents, to);
  /// The tensor under these values, or nothing when a symbol is missing.
  std::optional<Tensor> evaluate(const SymbolValues& symbols) const;
};

/// Reads nothing: a constant, or one as soon as shapes are known.
inline bool is_constant(const Node& node) {
  return node.is<Constant>() || node.is<Dims>();
}

}  // namespace tenon
