#pragma once

#include <cstddef>
#include <vector>

namespace tenon {

/// Uninitialized memory for data that are written once as a whole, such as weights, aligned to a
/// cache line. Much of it lies in large pages where the system has them: with small ones most of
/// that time would be page faults. Never null; throws OutOfMemory.
std::byte* allocate_large(size_t bytes);
/// `bytes` as they were asked for.
void free_large(std::byte* memory, size_t bytes) noexcept;

/// The same of memory for free(), aligned to `alignment` at least; null where there is none.
void* allocate_large_or_null(size_t bytes, size_t alignment);

/// Elements of a vector in such memory are not cleared.
template <typename T> class LargeAllocator {
 public:
  using value_type = T;
  LargeAllocator() = default;
  template <typename U> explicit LargeAllocator(const LargeAllocator<U>&) {}
  T* allocate(size_t count) { return reinterpret_cast<T*>(allocate_large(count * sizeof(T))); }
  void deallocate(T* memory, size_t count) noexcept {
    free_large(reinterpret_cast<std::byte*>(memory), count * sizeof(T));
  }
  template <typename U> void construct(U* place) { ::new (static_cast<void*>(place)) U; }
  template <typename U, typename... A> void construct(U* place, A&&... arguments) {
    ::new (static_cast<void*>(place)) U(static_cast<A&&>(arguments)...);
  }
  bool operator==(const LargeAllocator&) const = default;
};

/// The contents are undefined until they are written.
using LargeBytes = std::vector<std::byte, LargeAllocator<std::byte>>;

}  // namespace tenon
