#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace tenon::cpu {

/// Alignment of everything that vector code touches: one cache line, one AVX-512 register.
inline constexpr size_t kAlignment = 64;

constexpr size_t align_up(size_t bytes, size_t alignment = kAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Uninitialized memory aligned to `kAlignment`, its size rounded up to it; empty when allocation
/// failed.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes)
      : data_(bytes == 0 ? nullptr : std::aligned_alloc(kAlignment, align_up(bytes))),
        size_(data_ ? bytes : 0) {}

  void* data() const { return data_.get(); }
  size_t size() const { return size_; }
  template <class T> T* as() const { return static_cast<T*>(data_.get()); }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
  size_t size_ = 0;
};

}  // namespace tenon::cpu
