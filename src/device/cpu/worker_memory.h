#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cpu/aligned_buffer.h"

namespace tenon::cpu {

/// From the scratch memory of one of several workers, of so many bytes, to that of the next. A core
/// fetches memory ahead of its reads, up to the next page, and would take lines away from the
/// worker that writes them.
constexpr size_t worker_stride(size_t bytes, int64_t workers) {
  constexpr size_t kApart = size_t{8} << 10;
  return bytes == 0 ? 0 : align_up(bytes) + (workers > 1 ? kApart : 0);
}

}  // namespace tenon::cpu
