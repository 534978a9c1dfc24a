#include "kernels/strides.h"

namespace tenon {

std::vector<int64_t> strides_of(const Operand& operand) {
  return operand.dense() ? dense_strides(operand.extents, operand.layout) : operand.strides;
}

bool is_plain(const Operand& operand) {
  return operand.dense() && (operand.layout == Layout::kRowMajor || operand.rank() < 3);
}

int64_t extent_in_memory(const Operand& operand) {
  if (operand.dense()) return operand.count();
  int64_t last = 0;
  for (size_t i = 0; i < operand.extents.size(); ++i)
    last += (operand.extents[i] - 1) * operand.strides[i];
  return last + 1;
}

}  // namespace tenon
