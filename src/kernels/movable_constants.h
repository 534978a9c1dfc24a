#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/tactic.h"

namespace tenon {

/// The part of a kernel that keeps constants in an order of its own (ConstantStore::share) and can
/// read them from other memory at each launch: engines that stream weights keep them on the host.
class MovableConstants {
 public:
  virtual ~MovableConstants() = default;
  struct Block {
    const void* address = nullptr;
    size_t bytes = 0;
  };
  virtual std::vector<Block> blocks() const = 0;
  /// Kernel::run() with copies of the blocks' contents at these addresses, one for each; aligned to
  /// 256 bytes.
  virtual Status run_with(const LaunchArguments& arguments,
                          std::span<const void* const> blocks) const = 0;
};

}  // namespace tenon
