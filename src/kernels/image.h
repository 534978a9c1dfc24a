#pragma once

#include <optional>

#include "kernels/tactic.h"

namespace tenon {

/// Elements from one pixel to the next when the operand is a channels-last image, dense or inside a
/// wider one (a part of the channels of each pixel); nothing for other operands. Of rank 3 to 5;
/// rows and images follow each other without gaps.
std::optional<int64_t> pixel_stride(const Operand& operand);

/// Whether the operand is a channels-last image, whole or a part of one: with gaps between pixels,
/// rows or images, but in their order. Of rank 3 to 5.
bool is_part_of_image(const Operand& operand);

/// Whether the channels of each pixel of an image lie side by side, wherever the pixels are.
bool has_whole_pixels(const Operand& operand);

}  // namespace tenon
