#pragma once

#include <optional>
#include <string>
#include <vector>

#include "select/shortlist.h"

namespace tenon {

/// The timing cache as a choice of kernels sees it: which candidates have a time, and how much
/// workspace they take.
class KnownTimes {
 public:
  explicit KnownTimes(const SelectScope& scope) : scope_(scope) {}

  /// Milliseconds, effort::kFailed or effort::kWrong; empty where it is not known or not to be
  /// used.
  std::optional<double> find(const Problem& problem, const Option& option) const;
  /// Bytes; 0 where none were noted.
  double workspace(const Problem& problem, const Option& option) const;
  void insert(const Problem& problem, const Option& option, double milliseconds,
              double workspace = 0) const;
  /// The tactic's configurations that have a time.
  std::vector<std::string> configs(const Problem& problem, const Tactic& tactic) const;

 private:
  const SelectScope& scope_;
};

}  // namespace tenon
