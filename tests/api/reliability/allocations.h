#pragma once

#include <cstdint>

namespace reliability {

/// Whether the process's allocations are counted here; not with sanitizers, which have their own.
bool are_counted();
/// Allocations that were not freed yet, of all threads and libraries.
int64_t live_allocations();
/// Lets the n-th allocation from now fail, once; 0 lets none fail.
void fail_allocation(int64_t n);
/// Whether it has failed; none fails from now on.
bool end_of_failures();

}  // namespace reliability
