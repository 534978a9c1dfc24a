#pragma once

#include <cstdint>

namespace tenon {

/// to[c * rows + r] = from[r * columns + c], for 16-bit elements of any meaning.
void transpose(const uint16_t* from, int64_t rows, int64_t columns, uint16_t* to);

}  // namespace tenon
