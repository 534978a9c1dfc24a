#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cpu {

/// Of one core; programs on other cores leave its contents alone.
size_t private_cache_bytes();
/// The largest cache, which all cores share, as the system lists it; 0 where it does not.
size_t listed_shared_cache_bytes();
/// The smaller one of that and of the C library's size; a usual one where neither is known.
size_t shared_cache_bytes();
/// Lines of the cache that another core has: each comes in some 150 cycles, about a dozen are under
/// way at once. So on server processors of the last ten years; kernels weigh by them where a thread
/// reads, which no exact number decides.
inline constexpr int64_t kTransferCycles = 144, kTransfersAtOnce = 12;
/// Takes memory out of all caches. Nothing happens where the instruction set has no way to.
void flush(const void* memory, size_t bytes);

}  // namespace tenon::cpu
