#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "select/shortlist.h"

namespace tenon {

/// Kernels that a library plans for each problem anew are made one at a time, and builds would wait
/// for them. Of the problems of one operation, which differ in their extents, one is the pilot: the
/// one that takes the longest. Where other kernels serve them too, the others try the library's
/// kernels only if one is the fastest for their pilot, and wait until that is known.
class Pilots {
 public:
  using Open = std::span<const std::pair<const Problem*, Shortlist*>>;
  /// Tells the lists of all but the pilots to wait.
  explicit Pilots(Open open);
  /// The problems that waited for this one, which is decided: they are told to go on, and with a
  /// library's kernels where one of these won here.
  std::vector<size_t> decided(size_t problem, bool library_won);

 private:
  Open open_;
  std::map<size_t, std::vector<size_t>> waiting_;  ///< By the number of their pilot.
};

}  // namespace tenon
