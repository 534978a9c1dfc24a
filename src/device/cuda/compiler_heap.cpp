#include "device/cuda/compiler_heap.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "base/arithmetic.h"

namespace tenon::cuda {
namespace {

/// More than a kernel takes, and less than blocks that glibc always maps apart (32 MiB). Once a
/// mapped block of this size was freed, glibc takes such blocks from heaps, and heaps keep twice as
/// much (mallopt(3), M_MMAP_THRESHOLD).
constexpr size_t kBytes = size_t{24} << 20;

/// Advice about the pages that a block of the thread's heap would have.
void advise_heap(int advice) {
  void* const block = std::malloc(kBytes);
  if (block == nullptr) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(block);
  const uintptr_t begin = round_up(first, page), end = (first + kBytes) / page * page;
  madvise(reinterpret_cast<void*>(begin), end - begin, advice);
  std::free(block);
}

struct KeptHeap {
  KeptHeap() {
    static const bool kKeeps = (advise_heap(MADV_NORMAL), true);
    if (kKeeps) advise_heap(MADV_HUGEPAGE);
  }
  ~KeptHeap() { advise_heap(MADV_DONTNEED); }
};

}  // namespace

void keep_heap() {
  static thread_local const KeptHeap kHeap;
}

}  // namespace tenon::cuda
