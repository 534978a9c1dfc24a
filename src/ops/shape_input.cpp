#include "ops/shape_input.h"

namespace tenon {

bool can_decide_shapes(const TensorType& type) {
  if (type.type != DataType::kInt32 && type.type != DataType::kInt64) return false;
  if (!is_constant(type.shape) || type.shape.size() > 1) return false;
  const int64_t count = element_count(constants(type.shape));
  return count > 0 && count <= kMaxKnownElements;
}

}  // namespace tenon
