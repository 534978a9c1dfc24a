#include "kernels/known_number.h"

namespace tenon {

Result<int64_t> known_number(const Problem& problem, int index, int64_t absent) {
  if (index < 0 || !problem.has_input(index)) return absent;
  const Tensor* constant = problem.input(index).constant;
  if (constant == nullptr || !constant->defined() || constant->count() != 1)
    return unsupported("operand {} is computed", index);
  return constant->as_int64(0);
}

}  // namespace tenon
