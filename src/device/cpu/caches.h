#pragma once

#include <cstddef>

namespace tenon::cpu {

/// Of one core; programs on other cores leave its contents alone.
size_t private_cache_bytes();
/// The largest cache, which all cores share, as the system lists it; 0 where it does not.
size_t listed_shared_cache_bytes();
/// The smaller one of that and of the C library's size; a usual one where neither is known.
size_t shared_cache_bytes();
/// Takes memory out of all caches. Nothing happens where the instruction set has no way to.
void flush(const void* memory, size_t bytes);

}  // namespace tenon::cpu
