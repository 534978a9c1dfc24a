#include "kernels/reference/strided.h"

#include <cstring>

#include "kernels/strides.h"

namespace tenon::reference {
namespace {

/// Copies between a buffer with the operand's strides and a dense row-major tensor.
void copy_strided(std::byte* to, const std::vector<int64_t>& to_strides, const std::byte* from,
                  const std::vector<int64_t>& from_strides, const Extents& extents, int bytes) {
  if (element_count(extents) == 0) return;
  Extents position(extents.size(), 0);
  const int last = static_cast<int>(extents.size()) - 1;
  while (true) {
    int64_t to_offset = 0, from_offset = 0;
    for (int i = 0; i <= last; ++i) {
      to_offset += position[i] * to_strides[i];
      from_offset += position[i] * from_strides[i];
    }
    std::memcpy(to + to_offset * bytes, from + from_offset * bytes, bytes);
    int axis = last;
    while (axis >= 0 && ++position[axis] == extents[axis]) position[axis--] = 0;
    if (axis < 0) return;
  }
}

}  // namespace

size_t spanned_bytes(const Operand& operand) {
  if (operand.count() == 0) return 0;
  return static_cast<size_t>(extent_in_memory(operand)) * byte_size(operand.type);
}

Tensor gather(const Operand& operand, const void* bytes) {
  const auto* from = static_cast<const std::byte*>(bytes);
  if (is_plain(operand)) return Tensor(operand.type, operand.extents, from, nullptr);
  Tensor tensor(operand.type, operand.extents);
  copy_strided(tensor.mutable_bytes(), dense_strides(operand.extents, Layout::kRowMajor), from,
               strides_of(operand), operand.extents, byte_size(operand.type));
  return tensor;
}

void scatter(const Tensor& tensor, const Operand& operand, void* bytes) {
  auto* to = static_cast<std::byte*>(bytes);
  if (is_plain(operand)) {
    if (tensor.byte_count() > 0) std::memcpy(to, tensor.bytes(), tensor.byte_count());
    return;
  }
  copy_strided(to, strides_of(operand), tensor.bytes(),
               dense_strides(operand.extents, Layout::kRowMajor), operand.extents,
               byte_size(operand.type));
}

}  // namespace tenon::reference
