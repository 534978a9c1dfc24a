#pragma once

#include <map>
#include <string>
#include <vector>

#include "select/problem_key.h"
#include "select/select.h"

namespace tenon {

inline Error stopped_by_monitor() {
  return user_error("the progress monitor stopped the build");
}

/// Tells SelectOptions::progress how many layers have their kernels; layers of one problem get them
/// together.
class Steps {
 public:
  /// Each layer is one step, or two where it is tried in sequence as well.
  Steps(const SelectOptions& options, const std::vector<Problem>& problems, bool in_sequence)
      : options_(options), total_(static_cast<int>(problems.size()) * (in_sequence ? 2 : 1)) {
    for (const Problem& problem : problems) ++layers_[problem_key(problem)];
  }
  /// False where the build is to stop.
  bool finish(const std::string& key) { return advance(layers_[key]); }
  bool advance(int layers) {
    for (; layers > 0 && done_ < total_; --layers)
      if (options_.progress && !options_.progress(done_++, total_)) return false;
    return true;
  }

 private:
  const SelectOptions& options_;
  int total_, done_ = 0;
  std::map<std::string, int> layers_;
};

}  // namespace tenon
