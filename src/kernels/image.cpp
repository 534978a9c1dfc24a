#include "kernels/image.h"

#include "kernels/strides.h"

namespace tenon {

std::optional<int64_t> pixel_stride(const Operand& operand) {
  if (!operand.present || operand.rank() < 3 || operand.rank() > 5) return std::nullopt;
  if (operand.dense())
    return operand.layout == Layout::kChannelsLast ? std::optional(operand.extents[1])
                                                   : std::nullopt;
  const std::vector<int64_t>& strides = operand.strides;
  const int last = operand.rank() - 1;
  if (operand.extents[1] != 1 && strides[1] != 1) return std::nullopt;
  const int64_t pixel = strides[last];
  if (pixel < operand.extents[1]) return std::nullopt;
  // Each slower axis steps over all of the next faster one; axes of extent 1 never step.
  int64_t expected = pixel;
  for (int axis = last; axis >= 2; --axis) {
    if (operand.extents[axis] != 1 && strides[axis] != expected) return std::nullopt;
    expected *= operand.extents[axis];
  }
  if (operand.extents[0] != 1 && strides[0] != expected) return std::nullopt;
  return pixel;
}

bool is_part_of_image(const Operand& operand) {
  if (!has_whole_pixels(operand) || operand.rank() > 5) return false;
  if (operand.dense()) return pixel_stride(operand).has_value();
  int64_t least = operand.extents[1];
  const auto steps_over = [&](int axis) {
    if (operand.extents[axis] == 1) return true;
    const bool forward = operand.strides[axis] >= least;
    least = operand.strides[axis] * operand.extents[axis];
    return forward;
  };
  for (int axis = operand.rank() - 1; axis >= 2; --axis)
    if (!steps_over(axis)) return false;
  return steps_over(0);
}

bool has_whole_pixels(const Operand& operand) {
  if (!operand.present || operand.rank() < 3) return false;
  const std::vector<int64_t> strides = strides_of(operand);
  return operand.extents[1] == 1 || strides[1] == 1;
}

}  // namespace tenon
