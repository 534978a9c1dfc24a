#include "allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

namespace reliability {
bool are_counted() {
  return false;
}
int64_t live_allocations() {
  return 0;
}
void fail_allocation(int64_t) {}
bool end_of_failures() {
  return false;
}
}  // namespace reliability

#else

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);
}

namespace {

std::atomic<int64_t> live{0};
std::atomic<int64_t> until_failure{0};  ///< Allocations up to the one that fails; 0: none does.
std::atomic<bool> has_failed{false};

bool fails() {
  if (until_failure.load(std::memory_order_relaxed) <= 0) return false;
  if (until_failure.fetch_sub(1) != 1) return false;
  has_failed = true;
  errno = ENOMEM;
  return true;
}

void* counted(void* memory) {
  if (memory != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

}  // namespace

// These stand in for the C library's in all libraries of the process.
extern "C" {
void* malloc(size_t size) {
  return fails() ? nullptr : counted(__libc_malloc(size));
}
void* calloc(size_t count, size_t size) {
  return fails() ? nullptr : counted(__libc_calloc(count, size));
}
void* realloc(void* memory, size_t size) {
  if (fails()) return nullptr;
  void* moved = __libc_realloc(memory, size);
  return memory == nullptr ? counted(moved) : moved;
}
void* aligned_alloc(size_t alignment, size_t size) {
  return fails() ? nullptr : counted(__libc_memalign(alignment, size));
}
void* memalign(size_t alignment, size_t size) {
  return fails() ? nullptr : counted(__libc_memalign(alignment, size));
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = fails() ? nullptr : counted(__libc_memalign(alignment, size));
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}
}

namespace reliability {

bool are_counted() {
  return true;
}
int64_t live_allocations() {
  return live;
}
void fail_allocation(int64_t n) {
  has_failed = false;
  until_failure = n;
}
bool end_of_failures() {
  until_failure = 0;
  return has_failed;
}

}  // namespace reliability

#endif
