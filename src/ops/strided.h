#pragma once

#include <cstddef>
#include <vector>

#include "ir/tensor.h"

namespace tenon {

/// In elements, one number an axis; 0 repeats, negative walks backwards.
using Strides = std::vector<int64_t>;

/// Strides of a dense row-major tensor.
Strides row_major_strides(const Extents& extents);

/// Copies extents elements of `bytes` bytes each between two strided places. Runs that are
/// contiguous on both sides are copied at once.
void strided_copy(std::byte* to, const Strides& to_strides, const std::byte* from,
                  const Strides& from_strides, const Extents& extents, int bytes);

/// Steps `position` to the next place in row-major order; false after the last.
bool advance(Extents& position, const Extents& extents);

/// Fills `count` elements with one element's bytes.
void fill_elements(std::byte* to, const std::byte* element, int64_t count, int bytes);

}  // namespace tenon
