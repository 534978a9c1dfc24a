#include "base/large_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/arithmetic.h"
#include "base/guard.h"
#include "base/host_memory.h"
#include "base/mapped_file.h"
#include "base/page_stock.h"

namespace tenon {
namespace {

constexpr size_t kLine = 64, kHugePage = size_t{2} << 20;
constexpr size_t kLarge = size_t{4} << 20;

size_t rounded(size_t bytes) {
  return round_up(std::max<size_t>(bytes, 1), kLine);
}

std::align_val_t alignment_of(size_t size) {
  return std::align_val_t{size < kLarge ? kLine : kHugePage};
}

/// Where the system declines, pages stay small.
void ask_for_large_pages(void* memory, size_t size) {
  if (size >= kLarge) static_cast<void>(madvise(memory, size, MADV_HUGEPAGE));
}

}  // namespace

std::byte* allocate_large(size_t bytes) {
  const auto asked = static_cast<int64_t>(bytes);
  PageStock& stock = PageStock::shared();
  const auto kept = bytes < kLarge ? 0 : static_cast<int64_t>(stock.kept());
  if (!fits_host_memory(asked < kept ? 0 : asked - kept)) throw OutOfMemory(asked);
  if (bytes >= kLarge)
    if (std::byte* const memory = stock.take(bytes)) return memory;
  const size_t size = rounded(bytes);
  auto* memory = static_cast<std::byte*>(::operator new(size, alignment_of(size), std::nothrow));
  if (memory == nullptr) throw OutOfMemory(asked);
  ask_for_large_pages(memory, size);
  return memory;
}

void* allocate_large_or_null(size_t bytes, size_t alignment) {
  if (!fits_host_memory(static_cast<int64_t>(std::min<size_t>(bytes, INT64_MAX)))) return nullptr;
  const size_t unit = std::max(bytes < kLarge ? kLine : kHugePage, alignment);
  if (bytes > SIZE_MAX - unit) return nullptr;
  const size_t size = round_up(std::max<size_t>(bytes, 1), unit);
  if (size >= kLarge) PageStock::shared().give_way(size);
  void* memory = std::aligned_alloc(unit, size);
  if (memory != nullptr) ask_for_large_pages(memory, size);
  return memory;
}

void free_large(std::byte* memory, size_t bytes) noexcept {
  if (bytes >= kLarge && PageStock::shared().give(memory)) return;
  // The heap would keep the pages of a block inside it, while other blocks get new ones.
  if (bytes >= kLarge) release_pages({memory, bytes});
  ::operator delete(memory, alignment_of(rounded(bytes)));
}

}  // namespace tenon
