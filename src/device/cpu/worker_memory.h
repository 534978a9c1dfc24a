#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cpu/aligned_buffer.h"

namespace tenon::cpu {

/// A core fetches memory ahead of its reads, up to the next page, and would take lines away from
/// the worker that writes them.
constexpr size_t workers_apart(int64_t workers) {
  return workers > 1 ? size_t{8} << 10 : 0;
}

/// From the scratch memory of one of several workers, of so many bytes, to that of the next.
constexpr size_t worker_stride(size_t bytes, int64_t workers) {
  return bytes == 0 ? 0 : align_up(bytes) + workers_apart(workers);
}

}  // namespace tenon::cpu
