#pragma once

#include <cstdint>

namespace tenon {

/// Bytes of memory that this process can still use: free memory of the system, or the rest of its
/// container's limit; INT64_MAX where neither is known. Systems promise more than they have and end
/// processes that use it, so large tensors are refused beforehand.
int64_t available_host_memory();

/// Whether so many bytes are available. Small numbers are not looked at.
bool fits_host_memory(int64_t bytes);

}  // namespace tenon
