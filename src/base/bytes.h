#pragma once

#include <cstddef>
#include <vector>

#include "base/guard.h"

namespace tenon {

/// A vector of so many zeros; throws OutOfMemory, which knows how many.
template <class Byte = std::byte> std::vector<Byte> make_bytes(size_t count) {
  try {
    return std::vector<Byte>(count);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(static_cast<int64_t>(count));
  }
}

}  // namespace tenon
