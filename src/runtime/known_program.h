#pragma once

#include <memory>
#include <string_view>

#include "base/pointer_map.h"
#include "kernels/shared_launches.h"
#include "runtime/known_list.h"
#include "runtime/program.h"

namespace tenon {

/// A program that was made before, and the parts of it that other shapes do not change: which steps
/// are equal but for the contents of constants, and the constants that kernels keep. They hold for
/// nodes that run by the same tactics again.
class KnownProgram {
 public:
  explicit KnownProgram(std::shared_ptr<const Program> program);

  const KnownList& list() const { return list_; }

  /// A node whose step is equal to this one's, the first of them; itself where it stands alone.
  const Node& leader_of(const Node& node) const;
  /// The tactic of the step; empty: it has none.
  std::string_view tactic_of(const Node& node) const;
  /// The node's kernel, whose constants another one's launches can be put over; null: there is
  /// none.
  const SharedLaunches* kernel_of(const Node& node) const;

 private:
  struct Entry {
    const Node* leader = nullptr;
    const SharedLaunches* kernel = nullptr;
    std::string_view tactic = {};
  };
  std::shared_ptr<const Program> program_;
  KnownList list_;
  PointerMap<Node, Entry> entries_;
};

}  // namespace tenon
