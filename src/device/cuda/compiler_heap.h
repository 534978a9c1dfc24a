#pragma once

namespace tenon::cuda {

/// NVRTC allocates and frees megabytes for each kernel, which the C library gives back to the
/// system each time: 3,000 page faults a kernel. From here on, memory that the calling thread frees
/// stays with it until it ends, on large pages where the system gives them on request.
void keep_heap();

}  // namespace tenon::cuda
