#include "network/widening.h"

namespace tenon::network {

namespace {

/// Whether all real operands are of one type.
bool takes_one_type(OpKind kind) {
  return kind == OpKind::kPointwise || kind == OpKind::kMatMul || kind == OpKind::kConcat ||
         kind == OpKind::kEinsum || kind == OpKind::kScatterElements || kind == OpKind::kScatterNd;
}

}  // namespace

std::vector<int> narrow_beside_wide(OpKind kind, std::span<Value* const> inputs) {
  std::vector<int> narrow;
  if (!takes_one_type(kind)) return narrow;
  bool any_wide = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    const DataType type = inputs[i]->type.type;
    any_wide |= type == DataType::kFloat32;
    if (is_half(type)) narrow.push_back(static_cast<int>(i));
  }
  return any_wide ? narrow : std::vector<int>();
}

}  // namespace tenon::network
