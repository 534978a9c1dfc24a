#pragma once

namespace tenon::cpu {

/// Fetches a line of the cache to be written. The compiler's own prefetch for writing is one for
/// reading wherever it may not assume the instruction: another core that has the line then has to
/// be asked twice. Processors without the instruction skip it.
[[gnu::always_inline]] inline void prefetch_for_writing(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace tenon::cpu
