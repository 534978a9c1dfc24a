#pragma once

#include <cstddef>
#include <span>

#include "base/guard.h"
#include "base/large_memory.h"
#include "base/status.h"

namespace tenon::cpu {

/// Weights in the form that a kernel reads: made by it, or found ready in a plan.
class PackedWeights {
 public:
  PackedWeights() = default;

  /// `ready`, when it has just `bytes` bytes, is used in place and must outlive this; otherwise
  /// memory is taken, which the caller fills from `source`. Fails when there is neither.
  static Result<PackedWeights> make(size_t bytes, std::span<const std::byte> ready,
                                    const void* source) {
    PackedWeights weights;
    if (ready.size() == bytes) {
      weights.bytes_ = ready;
      weights.filled_ = true;
      return weights;
    }
    if (source == nullptr)
      return user_error(
          "the plan holds its weights in a form that this kernel does not read; build it again");
    try {
      weights.own_ = LargeBytes(bytes);
    } catch (const std::bad_alloc&) {
      return resource_error("no memory for {} bytes of packed weights", bytes);
    }
    weights.bytes_ = weights.own_;
    return weights;
  }

  /// Nothing is left to fill in.
  bool filled() const { return filled_; }
  /// Where to fill them in; only while not filled().
  void* target() { return own_.data(); }

  std::span<const std::byte> bytes() const { return bytes_; }
  const char* at(size_t offset) const {
    return reinterpret_cast<const char*>(bytes_.data()) + offset;
  }

 private:
  LargeBytes own_;
  std::span<const std::byte> bytes_;
  bool filled_ = false;
};

}  // namespace tenon::cpu
