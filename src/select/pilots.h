#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "select/shortlist.h"

namespace tenon {

/// Some kernels win seldom, and builds would wait for them: kernels that a library plans for each
/// problem anew, one at a time, and kernels of tactics whose row names another one that is better
/// as a rule. Of the problems of one operation and one number of samples, which differ in their
/// other extents, one is the pilot: the one that takes the longest. Where other kernels serve them
/// too, the others try such a tactic only if it is the fastest for their pilot, and wait until that
/// is known.
class Pilots {
 public:
  using Open = std::span<const std::pair<const Problem*, Shortlist*>>;
  /// Tells the lists of all but the pilots to wait.
  explicit Pilots(Open open);
  /// Whether others wait for it.
  bool is_pilot(size_t problem) const {
    const auto found = waiting_.find(problem);
    return found != waiting_.end() && !found->second.empty();
  }
  /// The problems that waited for this one, which is decided: they are told to go on, and to try
  /// the tactic that won; null: all.
  std::vector<size_t> decided(size_t problem, const Tactic* winner);

 private:
  Open open_;
  std::map<size_t, std::vector<size_t>> waiting_;  ///< By the number of their pilot.
};

}  // namespace tenon
