#pragma once

#include <memory>

#include "kernels/tactic.h"

namespace tenon {

/// The part of a kernel whose launches other kernels can share: those of layers that are equal but
/// for the contents of their constants. A new shape then makes one of them, and the others take its
/// launches over the constants that they have from an earlier shape.
class SharedLaunches {
 public:
  virtual ~SharedLaunches() = default;
  /// Whether the other kernel, which was made for equal extents, launches the same and keeps
  /// constants in the same order.
  virtual bool launches_like(const Kernel& other) const = 0;
  /// The launches of `other`, made for an equal layer under other extents, with the constants of
  /// this kernel. Null where it keeps others. Before other.let_next_start().
  virtual std::unique_ptr<Kernel> with_launches_of(const Kernel& other) const = 0;
};

}  // namespace tenon
