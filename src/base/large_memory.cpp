#include "base/large_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>

#include "base/guard.h"
#include "base/host_memory.h"

namespace tenon {
namespace {

constexpr size_t kLine = 64, kHugePage = size_t{2} << 20;
constexpr size_t kLarge = size_t{4} << 20;

size_t rounded(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + kLine - 1) / kLine * kLine;
}

std::align_val_t alignment_of(size_t size) {
  return std::align_val_t{size < kLarge ? kLine : kHugePage};
}

}  // namespace

std::byte* allocate_large(size_t bytes) {
  const auto asked = static_cast<int64_t>(bytes);
  if (!fits_host_memory(asked)) throw OutOfMemory(asked);
  const size_t size = rounded(bytes);
  auto* memory = static_cast<std::byte*>(::operator new(size, alignment_of(size), std::nothrow));
  if (memory == nullptr) throw OutOfMemory(asked);
  // Where the system declines, pages stay small.
  if (size >= kLarge) static_cast<void>(madvise(memory, size, MADV_HUGEPAGE));
  return memory;
}

void free_large(std::byte* memory, size_t bytes) noexcept {
  ::operator delete(memory, alignment_of(rounded(bytes)));
}

}  // namespace tenon
